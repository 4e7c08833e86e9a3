import type { Context } from './context';
import { pagesBase } from './prefix';
import type { IsTrusted } from './same-origin';

/** The session cookies, SameSite against CSRF. Operators and customers have separate ones: neither ends the other. */
const COOKIES = {
  // The operator's cookie is also for the operator's API, which is next to the pages.
  operator: { name: 'licensing', below: '' },
  customer: { name: 'licensing_my', below: '/my' },
} as const;

type SessionKind = keyof typeof COOKIES;

/** The name of the cookie that the operator's API accepts. */
export const OPERATOR_COOKIE = COOKIES.operator.name;

export function readSessionCookie(ctx: Context, kind: SessionKind): string | undefined {
  return ctx.cookies.get(COOKIES[kind].name, { signed: false }) || undefined;
}

/** Sets a cookie that lasts until the browser closes, unless the session ends first. */
export function setSessionCookie(ctx: Context, kind: SessionKind, value: string, isTrusted: IsTrusted): void {
  ctx.append('Set-Cookie', cookie(ctx, kind, value, isTrusted));
}

export function clearSessionCookie(ctx: Context, kind: SessionKind, isTrusted: IsTrusted): void {
  ctx.append('Set-Cookie', `${cookie(ctx, kind, '', isTrusted)}; Max-Age=0`);
}

/** Returns the value of Set-Cookie. ctx.cookies.set() cannot be used: it refuses Secure where a proxy ends TLS. */
function cookie(ctx: Context, kind: SessionKind, value: string, isTrusted: IsTrusted): string {
  const { name, below } = COOKIES[kind];
  const secure = ctx.state.origin?.startsWith('https:') ? '; Secure' : '';
  const path = `${pagesBase(ctx, isTrusted)}${below}`.replace(/\/pages$/, '');
  return `${name}=${value}; Path=${path}; HttpOnly; SameSite=Strict${secure}`;
}
