import type { IncomingMessage } from 'node:http';
import type { Context } from './context';

/** Reports whether the connection's peer is a proxy whose headers are trusted (client-address.ts). */
export type IsTrusted = (request: IncomingMessage) => boolean;

interface OriginRules {
  isTrusted: IsTrusted;
  /** returns the origins under which browsers know the service, by the current settings */
  origins: () => string[];
}

/**
 * Returns the request's own origin, such as `https://shop.example`; undefined if its Host cannot be read. A known host
 * has its origin's scheme, because a CDN or another machine may end TLS and forward plain HTTP to the web server.
 */
export function originOf(ctx: Context, { isTrusted, origins }: OriginRules): string | undefined {
  const known = origins().find((origin) => origin === readOrigin(`${new URL(origin).protocol}//${ctx.host}`));
  if (known !== undefined) return known;
  const forwarded = isTrusted(ctx.req) ? ctx.get('X-Forwarded-Proto').trim().toLowerCase() : '';
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : ctx.protocol;
  return readOrigin(`${scheme}://${ctx.host}`);
}

/**
 * Protects against CSRF: reports whether a page of our own origin sent this request. `null` is another origin. Without
 * an Origin, Sec-Fetch-Site must confirm it; no page can set either header.
 */
export function isSameOrigin(ctx: Context): boolean {
  const { origin } = ctx.headers;
  if (origin === undefined) return ctx.get('Sec-Fetch-Site') === 'same-origin';
  const given = readOrigin(origin);
  return given !== undefined && given === ctx.state.origin;
}

/** Returns an origin with its host in lower case and without a default port. */
function readOrigin(text: string): string | undefined {
  return /^https?:\/\/[^/?#\\@]+$/i.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}
