import type { IncomingMessage } from 'node:http';
import type { Context } from './context';

/** Whether the connection's peer is a proxy whose headers are believed (client-address.ts). */
export type IsTrusted = (request: IncomingMessage) => boolean;

/** The request's own origin, such as `https://shop.example`; undefined when its Host cannot be read. */
export function originOf(ctx: Context, isTrusted: IsTrusted): string | undefined {
  const forwarded = isTrusted(ctx.req) ? ctx.get('X-Forwarded-Proto').trim().toLowerCase() : '';
  const scheme = forwarded === 'https' || forwarded === 'http' ? forwarded : ctx.protocol;
  return readOrigin(`${scheme}://${ctx.host}`);
}

/**
 * Whether a page of our own origin sent this request. `null` is foreign. Without an Origin, the browser must say so in
 * Sec-Fetch-Site; no page can set either of them.
 */
export function isSameOrigin(ctx: Context, isTrusted: IsTrusted): boolean {
  const { origin } = ctx.headers;
  if (origin === undefined) return ctx.get('Sec-Fetch-Site') === 'same-origin';
  const given = readOrigin(origin);
  return given !== undefined && given === originOf(ctx, isTrusted);
}

/** With the host in lower case and without a default port. */
function readOrigin(text: string): string | undefined {
  return /^https?:\/\/[^/?#\\@]+$/i.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}
