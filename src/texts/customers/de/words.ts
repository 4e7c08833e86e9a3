import type { ChangeKind } from '../../../licensing/changelog';
import type { LiveStatus } from '../../../licensing/core/states';
import { createLanguage } from '../../language';

/** The spelling of days and numbers in German, and its words for terms that sellers and customers see. */

export const german = createLanguage({
  name: 'Deutsch',
  locale: 'de-DE',
  shortDay: { day: '2-digit', month: '2-digit' },
  day: ({ day, month, year }) => `${day}.${month}.${year}`,
  longDay: ({ day, month, year }) => `${day}. ${month} ${year}`,
  dayOfYear: ({ day, month }) => `${day}.${month}.`,
  weekday: (name) => `${name}.`,
  today: 'heute',
  yesterday: 'gestern',
  beforeTime: ' ',
  units: { y: ['Jahr', 'Jahre'], m: ['Monat', 'Monate'], d: ['Tag', 'Tage'] },
});

/** The articles of a noun, by their masculine form, and the ending of "neu", "gültig" and "welch" before it. */
interface Gender {
  der: string;
  ein: string;
  einen: string;
  einem: string;
  er: string;
}

const MASCULINE: Gender = { der: 'der', ein: 'ein', einen: 'einen', einem: 'einem', er: 'er' };
const FEMININE: Gender = { der: 'die', ein: 'eine', einen: 'eine', einem: 'einer', er: 'e' };
const NEUTER: Gender = { der: 'das', ein: 'ein', einen: 'ein', einem: 'einem', er: 'es' };

/** The noun for what takes a slot. */
export interface Thing extends Gender {
  one: string;
  many: string;
}

const SITE: Thing = { one: 'Website', many: 'Websites', ...FEMININE };
const THINGS: Record<string, Thing> = {
  domain: SITE,
  device: { one: 'Gerät', many: 'Geräte', ...NEUTER },
  seat: { one: 'Nutzer', many: 'Nutzer', ...MASCULINE },
  instance: { one: 'Instanz', many: 'Instanzen', ...FEMININE },
};

export function thing(activationType: string): Thing {
  return THINGS[activationType] ?? SITE;
}

/** The word before a line of a changelog. */
export const changes: Record<ChangeKind, string> = {
  security: 'Sicherheit',
  fix: 'Behoben',
  addition: 'Neu',
  change: 'Geändert',
  remove: 'Entfernt',
  language: 'Sprache',
  note: '',
};

export const states: Record<LiveStatus, string> = {
  active: 'aktiv',
  expired: 'abgelaufen',
  suspended: 'ausgesetzt',
  revoked: 'entzogen',
  cancelled: 'storniert',
};
