import type { Context } from '../context';

/** Nothing of other hosts, nothing that stands in the page itself, and no frame around it. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  // With no-referrer a form of our own would send "Origin: null".
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Pages show personal data, and what a key is worth.
  'Cache-Control': 'no-store',
};

export function setPageHeaders(ctx: Context): void {
  ctx.set(HEADERS);
}
