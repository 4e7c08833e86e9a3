import { API_PATH } from '../api';
import type { Context } from './context';
import { originOf, type IsTrusted } from './same-origin';

/** Cookies of the pages' sessions: an operator's and a customer's, so that neither ends the other. */
const COOKIES = {
  operator: { name: 'licensing', path: API_PATH },
  customer: { name: 'licensing_my', path: `${API_PATH}/pages/my` },
} as const;

export type SessionKind = keyof typeof COOKIES;

export interface CookieSettings {
  isTrusted: IsTrusted;
  /** LICENSING_PUBLIC_URL */
  publicUrl: string | undefined;
}

/** The name of the cookie that the operator's API takes. */
export const OPERATOR_COOKIE = COOKIES.operator.name;

export function readSessionCookie(ctx: Context, kind: SessionKind): string | undefined {
  return ctx.cookies.get(COOKIES[kind].name, { signed: false }) || undefined;
}

/** It lives as long as the browser's window; the session ends it before. */
export function setSessionCookie(
  ctx: Context,
  kind: SessionKind,
  value: string,
  settings: CookieSettings,
): void {
  ctx.append('Set-Cookie', cookie(ctx, kind, value, settings));
}

export function clearSessionCookie(ctx: Context, kind: SessionKind, settings: CookieSettings): void {
  ctx.append('Set-Cookie', `${cookie(ctx, kind, '', settings)}; Max-Age=0`);
}

/** Not by ctx.cookies.set(), which refuses Secure where the proxy ends TLS. */
function cookie(
  ctx: Context,
  kind: SessionKind,
  value: string,
  { isTrusted, publicUrl }: CookieSettings,
): string {
  const { name, path } = COOKIES[kind];
  const origin = originOf(ctx, isTrusted);
  const secure = origin?.startsWith('https:') ? '; Secure' : '';
  return `${name}=${value}; Path=${folderOf(origin, publicUrl)}${path}; HttpOnly; SameSite=Strict${secure}`;
}

/**
 * The site's folder, such as `/joomla`, which the web server takes off. Only LICENSING_PUBLIC_URL tells it; a host name of
 * the pages' own (LICENSING_PAGES_HOST) has none.
 */
function folderOf(origin: string | undefined, publicUrl: string | undefined): string {
  if (origin === undefined || publicUrl === undefined) return '';
  const { host, pathname } = new URL(publicUrl);
  return new URL(origin).host === host ? pathname.replace(/\/$/, '') : '';
}
