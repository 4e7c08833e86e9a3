import type { Mailing } from '../../src/mail/queue';
import type { Db } from '../../src/store/engine/database';
import type { License } from '../../src/store/licenses/licenses';
import type { Access } from '../../src/store/access-log';
import type { Chance } from './chance';
import type { Customer } from './customers';
import type { Diary } from './diary';
import type { YearPlanName } from './catalogue';

/** The shop while its year is lived. */
export interface Shop {
  db: Db;
  now: Date;
  chance: Chance;
  diary: Diary<Sold, Sale>;
  plans: Record<YearPlanName, number>;
  keySecret: Buffer | undefined;
  mailing: Mailing;
  /** all that was sold, the oldest first */
  sold: Sold[];
  /** requests of customers' sites, in any order */
  accesses: Access[];
}

/** How a licence is sold and renewed. */
export type Way = 'script' | 'shop' | 'subscription';

export interface Sale {
  plan: YearPlanName;
  customer: Customer;
  at: Date;
  way: Way;
  /** of the order or invoice */
  number: number;
  /** its first year ended just now, and whether it is renewed is not known yet */
  awaits?: boolean;
  /** it has a part in the story, so it is not cancelled */
  isSpecial?: boolean;
  sold: Sold;
}

/** A licence, as far as the shop's own story needs it. */
export interface Sold {
  plan: YearPlanName;
  customer: Customer;
  at: Date;
  /** undefined until it is sold */
  license?: License;
  /** paid times, the oldest first */
  terms: { from: Date; end: Date }[];
  /** days for which it works after a paid time */
  graceDays: number;
  /** when it was suspended, revoked or cancelled */
  stopped?: Date;
  sites: Site[];
}

export interface Site {
  name: string;
  ip: string;
  since: Date;
  /** the products that are installed there */
  products: number[];
  /** it has the plugin, which tells its name and version */
  tells: boolean;
  /** days between its looks for updates, on average */
  habit: number;
}

/** @throws before it is sold, which would be a mistake in the order of the story */
export function licenseOf({ license, customer }: Sold): License {
  if (license === undefined) throw new Error(`${customer.email} has not bought anything yet.`);
  return license;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

export function later(at: Date, days: number): Date {
  return new Date(at.getTime() + days * DAY_MS);
}

/** An address of the networks for documentation (RFC 5737 and 3849). */
export function anyAddress(chance: Chance): string {
  const nets = ['192.0.2', '198.51.100', '203.0.113'];
  if (chance.happens(0.7)) return `${chance.pick(nets)}.${1 + chance.below(254)}`;
  return `2001:db8:${(1 + chance.below(0xfffe)).toString(16)}::${(1 + chance.below(0xffff)).toString(16)}`;
}
