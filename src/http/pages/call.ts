import { pictureFingerprint } from '../../packages/pictures';
import type { Context } from '../context';
import { pagesBase } from '../prefix';
import { languageOf, themeOf } from './preference-cookies';
import { createFormat } from './format';
import type { PageCall, PagesDependencies } from './page';
import type { CustomerLanguage } from '../../texts/customers/languages';
import { operatorLanguageOf, pageTexts } from '../../texts/operators/languages';
import type { Query, View } from './view';

/** Builds a page's call from the request. */
export function createPageCall(ctx: Context, dependencies: PagesDependencies): PageCall {
  const { settings, now, asset, guide, isTrusted } = dependencies;
  const at = now();
  const base = pagesBase(ctx, isTrusted);
  const to = (path: string, query: Query = {}) => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
    const search = String(
      new URLSearchParams(given.map(([name, value]) => [name, String(value)] as [string, string])),
    );
    return `${base}${path}${search === '' ? '' : `?${search}`}`;
  };
  const view: View = {
    ...localeOf(languageOf(ctx, isCustomerPage(ctx)), settings.timeZone, at),
    to,
    now: at,
    theme: themeOf(ctx),
    asset: (name) => `${base}/${asset(name)}`,
    guide(page) {
      const address = guide(page);
      return address === undefined ? undefined : `${base}/${address}`;
    },
    path: pathBelow(ctx.path),
    operator: undefined,
    counts: undefined,
    get mayWrite() {
      return this.operator?.scope === 'write';
    },
    shopName: settings.shopName,
    // Give each picture its own address, because browsers cache a picture for an hour.
    logo: settings.shopLogo && to('/my/logo', { v: pictureFingerprint(settings.shopLogo) }),
    flash: undefined,
  };
  return {
    ...dependencies,
    ctx,
    at,
    view,
    path: ctx.params as Record<string, string>,
    query: new URLSearchParams(ctx.querystring),
  };
}

/** Returns the fields of a view that depend on its language. */
export function localeOf(
  language: CustomerLanguage,
  zone: string,
  at: Date,
): Pick<View, 'language' | 'operatorLanguage' | 't' | 'format'> {
  const t = pageTexts(language);
  const operatorLanguage = operatorLanguageOf(language);
  return { language, operatorLanguage, t, format: createFormat(t.language, zone, at) };
}

export function isCustomerPage(ctx: Context): boolean {
  return /^\/my(?:\/|$)/.test(pathBelow(ctx.path));
}

/** Returns the path below `pages`. */
export function pathBelow(path: string): string {
  return path.slice(path.indexOf('/pages') + '/pages'.length) || '/';
}
