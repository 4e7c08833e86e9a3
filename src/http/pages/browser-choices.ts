import { DAY_MS } from '../../base/days';
import type { Context } from '../context';
import {
  asCustomerLanguage,
  CUSTOMER_LANGUAGES,
  type CustomerLanguage,
} from '../../texts/customers/languages';
import { OPERATOR_LANGUAGES } from '../../texts/operators/languages';
import type { Texts } from '../../texts/operators/texts';
import { THEMES, type Said, type Theme } from './view';

/** What a browser keeps for us in cookies besides the session: theme, language, the result of the last action, and the page that asked to sign in. */

const THEME = 'licensing_theme';
const LANGUAGE = 'licensing_language';
const SAID = 'licensing_said';
const NEXT = 'licensing_next';
const YEAR_MS = 365 * DAY_MS;
const LONGEST_SAID = 2_000;

export function themeOf(ctx: Context): Theme {
  const chosen = ctx.cookies.get(THEME);
  return THEMES.find((one) => one === chosen) ?? 'auto';
}

/** The chosen language, else the browser's. @param isCustomer the page is a customer's */
export function languageOf(ctx: Context, isCustomer: boolean): CustomerLanguage {
  return askedLanguageOf(ctx, isCustomer) ?? 'en';
}

/** undefined: the browser asks for none that there is */
export function askedLanguageOf(ctx: Context, isCustomer: boolean): CustomerLanguage | undefined {
  const languages: CustomerLanguage[] = isCustomer ? CUSTOMER_LANGUAGES : OPERATOR_LANGUAGES;
  const among = (code: unknown) => languages.find((one) => one === code);
  const chosen = among(ctx.cookies.get(LANGUAGE));
  // Without the header, or with "*", the first one is as good as any.
  if (chosen !== undefined || /^[*\s]*$/.test(ctx.get('Accept-Language'))) return chosen;
  return among(ctx.acceptsLanguages(languages));
}

/** Keeps what was chosen in the footer. @param base the path of all pages */
export function keepChoices(ctx: Context, sent: URLSearchParams, base: string): void {
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

/** Lets the next page say what was done. */
export function keepSaid(ctx: Context, { code, values, remarks = [] }: Said, base: string): void {
  const cut = (texts: string[]) => texts.map((value) => value.slice(0, 200));
  // A cookie that is too long would say nothing at all.
  const asText = (kept: string[][]) =>
    Buffer.from(JSON.stringify([code, ...cut(values), ...kept.map(cut)])).toString('base64url');
  const fitting = [...remarks];
  while (fitting.length > 0 && asText(fitting).length > LONGEST_SAID) fitting.pop();
  const text = asText(fitting);
  ctx.cookies.set(SAID, text, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
}

/** What the action before this page did; it is said once. */
export function takeSaid(ctx: Context, { said, kit }: Texts, base: string): Said | undefined {
  const text = ctx.cookies.get(SAID);
  // nginx passes an empty one where the browser sent none.
  if (!text) return undefined;
  ctx.cookies.set(SAID, null, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
  if (text.length > LONGEST_SAID) return undefined;
  try {
    const [code, ...rest] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const areTexts = (list: unknown[]): list is string[] => list.every((one) => typeof one === 'string');
    const remarks = rest.filter((one): one is unknown[] => Array.isArray(one));
    const values = rest.filter((one) => !Array.isArray(one));
    const isOurs = typeof code === 'string' && (Object.hasOwn(said, code) || Object.hasOwn(kit.said, code));
    return isOurs && areTexts(values) && remarks.every(areTexts)
      ? { code: code as Said['code'], values, remarks }
      : undefined;
  } catch {
    return undefined;
  }
}

/** How long a one-time link may take to arrive and be opened. */
const NEXT_MS = 15 * 60 * 1000;

/** Keeps the page that asked to sign in, until a one-time link is opened in this browser. @param next '/': nothing to keep */
export function keepNext(ctx: Context, next: string, base: string): void {
  const options = { path: base, sameSite: 'strict', httpOnly: true, overwrite: true } as const;
  if (next !== '/') ctx.cookies.set(NEXT, encodeURIComponent(next), { ...options, maxAge: NEXT_MS });
  else if (ctx.cookies.get(NEXT)) ctx.cookies.set(NEXT, null, options);
}

/** The page that asked to sign in, as the browser says it. It is forgotten. */
export function takeNext(ctx: Context, base: string): string {
  const kept = ctx.cookies.get(NEXT);
  if (!kept) return '/';
  keepNext(ctx, '/', base);
  try {
    return decodeURIComponent(kept);
  } catch {
    return '/';
  }
}
