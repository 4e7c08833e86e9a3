import type { Context } from '../context';
import { isLanguage, TEXTS, type LanguageCode, type Texts } from './texts/texts';
import { THEMES, type Said, type Theme } from './view';

/** What a browser keeps for us in cookies besides the session: theme, language, the result of the last action, and the page that asked to sign in. */

const THEME = 'licensing_theme';
const LANGUAGE = 'licensing_language';
const SAID = 'licensing_said';
const NEXT = 'licensing_next';
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const LONGEST_SAID = 2_000;

export function themeOf(ctx: Context): Theme {
  const chosen = ctx.cookies.get(THEME);
  return THEMES.find((one) => one === chosen) ?? 'auto';
}

/** The chosen language, else the browser's. */
export function languageOf(ctx: Context): LanguageCode {
  return askedLanguageOf(ctx) ?? 'en';
}

/** undefined: the browser asks for none that there is */
export function askedLanguageOf(ctx: Context): LanguageCode | undefined {
  const chosen = ctx.cookies.get(LANGUAGE) ?? '';
  if (isLanguage(chosen)) return chosen;
  // Without the header, or with "*", the first one is as good as any.
  if (/^[*\s]*$/.test(ctx.get('Accept-Language'))) return undefined;
  const accepted = ctx.acceptsLanguages(Object.keys(TEXTS));
  return typeof accepted === 'string' && isLanguage(accepted) ? accepted : undefined;
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
  if (isLanguage(language)) ctx.cookies.set(LANGUAGE, language, options);
}

/** Lets the next page say what was done. */
export function keepSaid(ctx: Context, { code, values }: Said, base: string): void {
  const text = Buffer.from(JSON.stringify([code, ...values.map((value) => value.slice(0, 200))])).toString(
    'base64url',
  );
  ctx.cookies.set(SAID, text, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
}

/** What the action before this page did; it is said once. */
export function takeSaid(ctx: Context, { said }: Texts, base: string): Said | undefined {
  const text = ctx.cookies.get(SAID);
  // nginx passes an empty one where the browser sent none.
  if (!text) return undefined;
  ctx.cookies.set(SAID, null, { path: base, sameSite: 'strict', httpOnly: true, overwrite: true });
  if (text.length > LONGEST_SAID) return undefined;
  try {
    const [code, ...values] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const isOurs =
      typeof code === 'string' && Object.hasOwn(said, code) && values.every((one) => typeof one === 'string');
    return isOurs ? { code: code as Said['code'], values: values } : undefined;
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
