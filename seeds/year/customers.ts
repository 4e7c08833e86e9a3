import type { Chance } from './chance';

/** Customers, whose addresses and sites all have reserved names (RFC 2606). */

export interface Customer {
  email: string;
  name: string;
  language: 'en' | 'de';
  /** the domain of the site that the licence was bought for */
  domain: string;
}

const SURNAMES = [
  ...['Adler', 'Ashworth', 'Bauer', 'Bell', 'Berger', 'Brandt', 'Carter', 'Conrad', 'Dawson', 'Ebner'],
  ...['Egger', 'Fischer', 'Fleming', 'Fuchs', 'Gibson', 'Graf', 'Haas', 'Harper', 'Hofer', 'Holt'],
  ...['Huber', 'Ivers', 'Jansen', 'Keller', 'Kern', 'Lang', 'Lindner', 'Marsh', 'Mayer', 'Moser'],
  ...['Novak', 'Ogden', 'Palmer', 'Pichler', 'Quinn', 'Richter', 'Rossi', 'Sauer', 'Steiner', 'Tanner'],
  ...['Turner', 'Ulrich', 'Vogel', 'Walsh', 'Weber', 'Winter', 'York', 'Zeller'],
];
const FIRST_NAMES = [
  ...['Anna', 'Ben', 'Clara', 'David', 'Emma', 'Felix', 'Grace', 'Hannah', 'Ian', 'Julia', 'Karl', 'Laura'],
  ...['Martin', 'Nora', 'Oliver', 'Paula', 'Robert', 'Sophie', 'Thomas', 'Vera'],
];
const TRADES = {
  de: [
    ...[
      'weingut',
      'baeckerei',
      'schreinerei',
      'gartenbau',
      'musikschule',
      'gasthof',
      'praxis',
      'buchhandlung',
    ],
    ...['tischlerei', 'verein', 'optik', 'reisen'],
  ],
  en: [
    ...['bakery', 'cycles', 'pottery', 'gallery', 'florist', 'brewery', 'yoga', 'garage', 'books', 'joinery'],
    ...['gardens', 'travel'],
  ],
};
const MAILBOXES = { de: ['info', 'office', 'kontakt'], en: ['info', 'hello', 'office'] };
const PRIVATE_HOSTS = ['example.com', 'example.org', 'example.net'];

/** Returns a function that returns another customer at each call. */
export function createCustomers(chance: Chance): () => Customer {
  const taken = new Set<string>();
  return () => {
    for (;;) {
      const language = chance.happens(0.45) ? 'de' : 'en';
      const [first, last] = [chance.pick(FIRST_NAMES), chance.pick(SURNAMES)];
      const surname = last.toLowerCase();
      const domain = `${chance.pick(TRADES[language])}-${surname}.example`;
      const email = chance.happens(0.4)
        ? `${first.toLowerCase()}.${surname}@${chance.pick(PRIVATE_HOSTS)}`
        : `${chance.pick(MAILBOXES[language])}@${domain}`;
      if (taken.has(domain) || taken.has(email)) continue;
      taken.add(domain).add(email);
      return { email, domain, language, name: `${first} ${last}` };
    }
  };
}

/** Returns unique names below `host`: the sites of an agency's clients. */
export function clientSites(chance: Chance, host: string, count: number): string[] {
  const sites = new Set<string>();
  while (sites.size < count)
    sites.add(`${chance.pick(TRADES.en)}-${chance.pick(SURNAMES).toLowerCase()}.${host}`);
  return [...sites];
}
