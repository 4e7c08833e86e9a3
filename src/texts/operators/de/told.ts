import type { told as en } from '../en/told';
import type { Translated } from '../../translated';
import { counted } from '../../case';

/** Reported sites: versions that customers' sites run, and keys that are probably shared. In German. */
export const told: Translated<typeof en> = {
  button: 'Websites',
  title: (product) => `Websites mit ${product}`,
  crumb: 'Websites',
  how: 'Gezählt wird jede Website, die in den letzten 180 Tagen ihre Version gemeldet hat, je Lizenz einmal. Das Plugin für Joomla meldet sie beim Prüfen und Herunterladen, auch wenn es abgelehnt wird; eine Website ohne das Plugin zählt nicht.',
  none: 'Noch hat keine Website ihre Version gemeldet. Das Plugin für Joomla meldet sie bei jeder Prüfung: Sie bekommen es auf der Seite des Produkts und geben es Ihren Kunden.',
  noneBehind: 'Alle Websites, die sich gemeldet haben, haben die neueste Version.',
  behind: 'Websites mit älteren Versionen',
  orders: { '-at': 'Die zuletzt gemeldeten zuerst', at: 'Die am längsten stillen zuerst' },
  onlyVersion: (version) => `Version: ${version}`,
  captionVersion: (version, count) =>
    `Websites mit ${version}, zuletzt umgestiegene zuerst. ${count} angezeigt.`,
  noneWith: (version) => `Keine Website hat ${version}.`,
  csvName: 'websites.csv',
  newest: 'Neueste Version',
  share: 'Haben sie',
  shareOf: (share, count) => `${share} % (${count} gezählt)`,
  half: 'Die Hälfte hatte sie',
  halfAfter: (days) => `nach ${counted(days, 'Tag', 'Tagen')}`,
  notHalf: 'noch nicht',
  versions: 'Versionen',
  columns: {
    site: 'Website',
    version: 'Version',
    told: 'Gemeldet',
    license: 'Lizenz',
    customer: 'Kunde',
    may: 'Darf aktualisieren',
  },
  may: 'Ja',
  spreading: {
    title: 'Vermutlich geteilte Schlüssel',
    about: (factor) =>
      `Mit diesen Schlüsseln wurde in 30 Tagen aus mehr Netzen heruntergeladen, als ihre Plätze erklären: mehr als ${factor} je Platz und dazu 10. Abgelehnt wird deshalb nichts. Joomlas Updater belegt keinen Platz, also ist diese Liste die Bremse.`,
    none: 'Kein Schlüssel scheint geteilt zu werden.',
    orders: {
      '-at': 'Neueste zuerst',
      at: 'Älteste zuerst',
      '-networks': 'Meiste Netze zuerst',
      networks: 'Wenigste Netze zuerst',
      customer: 'Kunden A bis Z',
      '-customer': 'Kunden Z bis A',
    },
    columns: {
      license: 'Lizenz',
      customer: 'Kunde',
      slots: 'Plätze',
      networks: 'Netze',
      most: 'Höchstens',
      latest: 'Zuletzt',
      sites: 'Gemeldete Websites',
    },
    rekey: 'Neuer Schlüssel',
  },
};
