import { DAY_MS } from '../../base/days';
import type { Context } from '../context';
import {
  asCustomerLanguage,
  CUSTOMER_LANGUAGES,
  type CustomerLanguage,
} from '../../texts/customers/languages';
import { OPERATOR_LANGUAGES } from '../../texts/operators/languages';
import type { Texts } from '../../texts/operators/texts';
import { THEMES, type FlashMessage, type Theme } from './view';

/** Cookies besides the session: theme, language, flash message, and the page to open after signing in. */

const THEME = 'licensing_theme';
const LANGUAGE = 'licensing_language';
const FLASH = 'licensing_said';
const RETURN_PATH = 'licensing_next';
const YEAR_MS = 365 * DAY_MS;
const MAX_FLASH_LENGTH = 2_000;

export function themeOf(ctx: Context): Theme {
  const chosen = ctx.cookies.get(THEME);
  return THEMES.find((one) => one === chosen) ?? 'auto';
}

/** Returns the chosen language, otherwise the browser's. @param isCustomer true for a customer's page */
export function languageOf(ctx: Context, isCustomer: boolean): CustomerLanguage {
  return requestedLanguageOf(ctx, isCustomer) ?? 'en';
}

/** Returns the chosen or the browser's language; undefined if the browser requests only languages without texts. */
export function requestedLanguageOf(ctx: Context, isCustomer: boolean): CustomerLanguage | undefined {
  const languages: CustomerLanguage[] = isCustomer ? CUSTOMER_LANGUAGES : OPERATOR_LANGUAGES;
  const among = (code: unknown) => languages.find((one) => one === code);
  const chosen = among(ctx.cookies.get(LANGUAGE));
  // Ignore a missing header or "*", which is not a request for a language.
  if (chosen !== undefined || /^[*\s]*$/.test(ctx.get('Accept-Language'))) return chosen;
  return among(ctx.acceptsLanguages(languages));
}

/** Stores the theme and language that the footer sent. @param base the path of all pages */
export function savePreferences(ctx: Context, sent: URLSearchParams, base: string): void {
  const options = {
    path: base,
    maxAge: YEAR_MS,
    sameSite: 'strict',
    httpOnly: true,
    overwrite: true,
  } as const;
  const theme = sent.get('theme');
  if (THEMES.some((one) => one === theme)) ctx.cookies.set(THEME, theme, options);
  const language = sent.get('language') ?? '';
  if (asCustomerLanguage(language)) ctx.cookies.set(LANGUAGE, language, options);
}

/** Stores a flash message for the next page in a cookie. */
export function setFlash(ctx: Context, { code, values, remarks = [] }: FlashMessage, base: string): void {
  const cut = (texts: string[]) => texts.map((value) => value.slice(0, 200));
  // Drop remarks that do not fit, because the browser would refuse a cookie that is too long.
  const asText = (kept: string[][]) =>
    Buffer.from(JSON.stringify([code, ...cut(values), ...kept.map(cut)])).toString('base64url');
  const fitting = [...remarks];
  while (fitting.length > 0 && asText(fitting).length > MAX_FLASH_LENGTH) fitting.pop();
  const text = asText(fitting);
  ctx.cookies.set(FLASH, text, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
}

/** Returns the flash message of the previous action, and deletes it. */
export function takeFlash(ctx: Context, { said, kit }: Texts, base: string): FlashMessage | undefined {
  const text = ctx.cookies.get(FLASH);
  // Ignore an empty cookie, which nginx passes on if the browser sent none.
  if (!text) return undefined;
  ctx.cookies.set(FLASH, null, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
  if (text.length > MAX_FLASH_LENGTH) return undefined;
  try {
    const [code, ...rest] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const areTexts = (list: unknown[]): list is string[] => list.every((one) => typeof one === 'string');
    const remarks = rest.filter((one): one is unknown[] => Array.isArray(one));
    const values = rest.filter((one) => !Array.isArray(one));
    const isOurs = typeof code === 'string' && (Object.hasOwn(said, code) || Object.hasOwn(kit.said, code));
    return isOurs && areTexts(values) && remarks.every(areTexts)
      ? { code: code as FlashMessage['code'], values, remarks }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The time in which a one-time link can arrive and be opened. */
const RETURN_PATH_MS = 15 * 60 * 1000;

/** Keeps the page that requires a sign-in, for a one-time link that opens in this browser. @param next '/' for none */
export function saveReturnPath(ctx: Context, next: string, base: string): void {
  const options = { path: base, sameSite: 'strict', httpOnly: true, overwrite: true } as const;
  if (next !== '/')
    ctx.cookies.set(RETURN_PATH, encodeURIComponent(next), { ...options, maxAge: RETURN_PATH_MS });
  else if (ctx.cookies.get(RETURN_PATH)) ctx.cookies.set(RETURN_PATH, null, options);
}

/** Returns the stored page, and deletes the cookie. The browser can send any text, so the caller checks it. */
export function takeReturnPath(ctx: Context, base: string): string {
  const kept = ctx.cookies.get(RETURN_PATH);
  if (!kept) return '/';
  saveReturnPath(ctx, '/', base);
  try {
    return decodeURIComponent(kept);
  } catch {
    return '/';
  }
}
