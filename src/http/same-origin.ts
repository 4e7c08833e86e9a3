import type { IncomingMessage } from 'node:http';
import type { Context } from './context';

/** Whether the connection's peer is a proxy whose headers are believed (client-address.ts). */
export type IsTrusted = (request: IncomingMessage) => boolean;

interface OriginRules {
  isTrusted: IsTrusted;
  /** origins under which browsers know the service, as the settings are now */
  origins: () => string[];
}

/**
 * The request's own origin, such as `https://shop.example`; undefined when its Host cannot be read. A host of a known
 * origin has that origin's scheme, because a CDN or another machine may end TLS and pass plain HTTP on to the web server.
 */
export function originOf(ctx: Context, { isTrusted, origins }: OriginRules): string | undefined {
  const known = origins().find((origin) => origin === readOrigin(`${new URL(origin).protocol}//${ctx.host}`));
  if (known !== undefined) return known;
  const forwarded = isTrusted(ctx.req) ? ctx.get('X-Forwarded-Proto').trim().toLowerCase() : '';
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : ctx.protocol;
  return readOrigin(`${scheme}://${ctx.host}`);
}

/**
 * Whether a page of our own origin sent this request. `null` is foreign. Without an Origin, the browser must say so in
 * Sec-Fetch-Site; no page can set either of them.
 */
export function isSameOrigin(ctx: Context): boolean {
  const { origin } = ctx.headers;
  if (origin === undefined) return ctx.get('Sec-Fetch-Site') === 'same-origin';
  const given = readOrigin(origin);
  return given !== undefined && given === ctx.state.origin;
}

/** With the host in lower case and without a default port. */
function readOrigin(text: string): string | undefined {
  return /^https?:\/\/[^/?#\\@]+$/i.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}
