import type { Context } from '../context';

/** Security headers: nothing from other hosts, no inline script or style, and no frame around the page. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  // With no-referrer, our own forms would send "Origin: null", which the CSRF check refuses.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // Do not cache pages, because they show personal data, and licences with their value.
  'Cache-Control': 'no-store',
};

export function setPageHeaders(ctx: Context): void {
  ctx.set(HEADERS);
}
