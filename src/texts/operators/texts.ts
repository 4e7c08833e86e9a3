import type { Translated } from '../translated';
import { common as commonDe } from './de/common';
import { customers as customersDe } from './de/customers';
import { history as historyDe } from './de/history';
import { license as licenseDe } from './de/license';
import { licenses as licensesDe } from './de/licenses';
import { my as myDe } from '../customers/de/my';
import { orders as ordersDe } from './de/orders';
import { overview as overviewDe } from './de/overview';
import { products as productsDe } from './de/products';
import { releases as releasesDe } from './de/releases';
import { requests as requestsDe } from './de/requests';
import { said as saidDe } from './de/said';
import { search as searchDe } from './de/search';
import { signIn as signInDe } from './de/sign-in';
import { start as startDe } from './de/start';
import { system as systemDe } from './de/system';
import { webhooks as webhooksDe } from './de/webhooks';
import { common } from './en/common';
import { customers } from './en/customers';
import { history } from './en/history';
import { license } from './en/license';
import { licenses } from './en/licenses';
import { my } from '../customers/en/my';
import { orders } from './en/orders';
import { overview } from './en/overview';
import { products } from './en/products';
import { releases } from './en/releases';
import { requests } from './en/requests';
import { said } from './en/said';
import { search } from './en/search';
import { signIn } from './en/sign-in';
import { start } from './en/start';
import { system } from './en/system';
import { webhooks } from './en/webhooks';

/** All that the pages say: a folder for each language, a file for each area. */

const en = {
  common,
  customers,
  history,
  license,
  licenses,
  my,
  orders,
  overview,
  products,
  releases,
  requests,
  said,
  search,
  signIn,
  start,
  system,
  webhooks,
};
export type Texts = Translated<typeof en>;

const de: Texts = {
  common: commonDe,
  customers: customersDe,
  history: historyDe,
  license: licenseDe,
  licenses: licensesDe,
  my: myDe,
  orders: ordersDe,
  overview: overviewDe,
  products: productsDe,
  releases: releasesDe,
  requests: requestsDe,
  said: saidDe,
  search: searchDe,
  signIn: signInDe,
  start: startDe,
  system: systemDe,
  webhooks: webhooksDe,
};

export const TEXTS = { en, de };
export type LanguageCode = keyof typeof TEXTS;

export function isLanguage(code: string): code is LanguageCode {
  return Object.hasOwn(TEXTS, code);
}
