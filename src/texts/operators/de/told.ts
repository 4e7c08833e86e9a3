import type { told as en } from '../en/told';
import type { Translated } from '../../translated';
import { counted } from '../../case';

/** Reported sites: versions that customers' sites run, and keys that are probably shared. In German. */
export const told: Translated<typeof en> = {
  button: 'Websites',
  title: (product) => `Websites mit ${product}`,
  crumb: 'Websites',
  how: 'Jede Website, die in den letzten 180 Tagen ihre Version gemeldet hat, zählt je Lizenz einmal. Das Plugin für Joomla meldet die Version bei jeder Prüfung und jedem Download, auch bei abgelehnten. Websites ohne das Plugin zählen nicht.',
  none: 'Noch hat keine Website ihre Version gemeldet. Das Plugin für Joomla meldet sie bei jeder Prüfung: Holen Sie es auf der Seite des Produkts, und geben Sie es Ihren Kunden.',
  noneBehind: 'Alle Websites, die sich gemeldet haben, haben die neueste Version.',
  behind: 'Websites mit älteren Versionen',
  orders: { '-at': 'Neueste Meldung zuerst', at: 'Älteste Meldung zuerst' },
  onlyVersion: (version) => `Version: ${version}`,
  captionVersion: (version, count) =>
    `Websites mit ${version}, zuletzt aktualisierte zuerst. ${count} gezeigt.`,
  noneWith: (version) => `Keine Website hat ${version}.`,
  csvName: 'websites.csv',
  newest: 'Neueste Version',
  share: 'Websites damit',
  shareOf: (share, count) => `${share} % (${count} gezählt)`,
  half: '50 % erreicht',
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
      `Joomla zählt Websites nicht. Hier sehen Sie, wer seinen Schlüssel weitergibt: In 30 Tagen kamen Downloads aus mehr als ${counted(factor, 'Netz', 'Netzen')} je Platz und 10 weiteren. Abgelehnt wird deshalb nichts.`,
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
      most: 'Erwartet höchstens',
      latest: 'Zuletzt',
      sites: 'Gemeldete Websites',
    },
    rekey: 'Neuer Schlüssel',
  },
};
