import type { Context } from './context';
import { pagesBase } from './prefix';
import type { IsTrusted } from './same-origin';

/** Cookies of the pages' sessions: an operator's and a customer's, so that neither ends the other. */
const COOKIES = {
  // Also for the operator's API, which stands beside the pages.
  operator: { name: 'licensing', below: '' },
  customer: { name: 'licensing_my', below: '/my' },
} as const;

type SessionKind = keyof typeof COOKIES;

/** The name of the cookie that the operator's API takes. */
export const OPERATOR_COOKIE = COOKIES.operator.name;

export function readSessionCookie(ctx: Context, kind: SessionKind): string | undefined {
  return ctx.cookies.get(COOKIES[kind].name, { signed: false }) || undefined;
}

/** It lives as long as the browser's window; the session ends it before. */
export function setSessionCookie(ctx: Context, kind: SessionKind, value: string, isTrusted: IsTrusted): void {
  ctx.append('Set-Cookie', cookie(ctx, kind, value, isTrusted));
}

export function clearSessionCookie(ctx: Context, kind: SessionKind, isTrusted: IsTrusted): void {
  ctx.append('Set-Cookie', `${cookie(ctx, kind, '', isTrusted)}; Max-Age=0`);
}

/** Not by ctx.cookies.set(), which refuses Secure where the proxy ends TLS. */
function cookie(ctx: Context, kind: SessionKind, value: string, isTrusted: IsTrusted): string {
  const { name, below } = COOKIES[kind];
  const secure = ctx.state.origin?.startsWith('https:') ? '; Secure' : '';
  const path = `${pagesBase(ctx, isTrusted)}${below}`.replace(/\/pages$/, '');
  return `${name}=${value}; Path=${path}; HttpOnly; SameSite=Strict${secure}`;
}
