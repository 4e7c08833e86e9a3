import type { Chance } from './chance';

/** Customers with addresses and sites of reserved names only (RFC 2606). */

export interface Customer {
  email: string;
  name: string;
  language: 'en' | 'de';
  /** of the site that they bought for */
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

/** @returns a function that gives another customer at each call */
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

/** Names below `host`, each once: an agency's clients. */
export function clientSites(chance: Chance, host: string, count: number): string[] {
  const sites = new Set<string>();
  while (sites.size < count)
    sites.add(`${chance.pick(TRADES.en)}-${chance.pick(SURNAMES).toLowerCase()}.${host}`);
  return [...sites];
}
