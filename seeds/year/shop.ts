import type { Mailing } from '../../src/mail/queue';
import type { Db } from '../../src/store/engine/database';
import type { License } from '../../src/store/licenses/licenses';
import type { Access } from '../../src/store/access-log';
import type { Chance } from './chance';
import type { Customer } from './customers';
import type { Diary } from './diary';
import type { YearPlanName } from './catalogue';

/** The shop while its year is created. */
export interface Shop {
  db: Db;
  now: Date;
  chance: Chance;
  diary: Diary<Sold, Sale>;
  plans: Record<YearPlanName, number>;
  keySecret: Buffer | undefined;
  mailing: Mailing;
  /** all sales in chronological order */
  sold: Sold[];
  /** requests of customers' sites, in any order */
  accesses: Access[];
}

/** The channel through which a licence is sold and renewed. */
export type Way = 'script' | 'shop' | 'subscription';

export interface Sale {
  plan: YearPlanName;
  customer: Customer;
  at: Date;
  way: Way;
  /** the number of the order or invoice */
  number: number;
  /** true if its first year has just ended and its renewal is not known yet */
  awaits?: boolean;
  /** true for a sale of a planned scene, which is never cancelled */
  isSpecial?: boolean;
  sold: Sold;
}

/** A licence with the facts that the seed itself needs. */
export interface Sold {
  plan: YearPlanName;
  customer: Customer;
  at: Date;
  /** undefined until it is sold */
  license?: License;
  /** the paid periods in chronological order */
  terms: { from: Date; end: Date }[];
  /** the grace period in days after a paid period */
  graceDays: number;
  /** the time at which it was suspended, revoked or cancelled */
  stopped?: Date;
  sites: Site[];
}

export interface Site {
  name: string;
  ip: string;
  since: Date;
  /** the products that are installed on the site */
  products: number[];
  /** true if it has the plugin, which reports its name and version */
  tells: boolean;
  /** the average number of days between its update checks */
  habit: number;
}

/** Returns the licence of a sale. @throws before it is sold, which would be a mistake in the order of events */
export function licenseOf({ license, customer }: Sold): License {
  if (license === undefined) throw new Error(`${customer.email} has not bought anything yet.`);
  return license;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

export function later(at: Date, days: number): Date {
  return new Date(at.getTime() + days * DAY_MS);
}

/** Returns an address of the networks for documentation (RFC 5737 and 3849). */
export function anyAddress(chance: Chance): string {
  const nets = ['192.0.2', '198.51.100', '203.0.113'];
  if (chance.happens(0.7)) return `${chance.pick(nets)}.${1 + chance.below(254)}`;
  return `2001:db8:${(1 + chance.below(0xfffe)).toString(16)}::${(1 + chance.below(0xffff)).toString(16)}`;
}
