import type { ChangeKind } from '../../../licensing/changelog';
import type { LiveStatus } from '../../../licensing/core/states';
import { createLanguage } from '../../language';

/** The spelling of days and numbers in English, and its words for terms that sellers and customers see. */

export const english = createLanguage({
  name: 'English',
  locale: 'en-US',
  shortDay: { day: 'numeric', month: 'short' },
  day: ({ day, month, year }) => `${day} ${month} ${year}`,
  longDay: ({ day, month, year }) => `${day} ${month} ${year}`,
  dayOfYear: ({ day, month }) => `${day} ${month}`,
  weekday: (name) => name,
  today: 'today',
  yesterday: 'yesterday',
  beforeTime: ', ',
  units: { y: ['year', 'years'], m: ['month', 'months'], d: ['day', 'days'] },
});

/** The noun for what takes a slot. */
export interface Thing {
  one: string;
  many: string;
  /** "a site" */
  a: string;
}

const SITE: Thing = { one: 'site', many: 'sites', a: 'a site' };
const THINGS: Record<string, Thing> = {
  domain: SITE,
  device: { one: 'device', many: 'devices', a: 'a device' },
  seat: { one: 'seat', many: 'seats', a: 'a seat' },
  instance: { one: 'instance', many: 'instances', a: 'an instance' },
};

export function thing(activationType: string): Thing {
  return THINGS[activationType] ?? SITE;
}

/** The word before a line of a changelog. */
export const changes: Record<ChangeKind, string> = {
  security: 'Security',
  fix: 'Fixed',
  addition: 'New',
  change: 'Changed',
  remove: 'Removed',
  language: 'Language',
  note: '',
};

export const states: Record<LiveStatus, string> = {
  active: 'active',
  expired: 'expired',
  suspended: 'suspended',
  revoked: 'revoked',
  cancelled: 'cancelled',
};
