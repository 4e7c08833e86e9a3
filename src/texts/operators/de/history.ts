import type { history as en } from '../en/history';
import { thing } from '../../customers/de/words';
import type { Translated } from '../../translated';

/** Der Verlauf einer Lizenz: was getan wurde, und von wem. */

export const history: Translated<typeof en> = {
  title: 'Verlauf',
  columns: { when: 'Wann', what: 'Was', by: 'Von' },
  caption: 'Neueste zuerst.',
  none: 'Noch nichts wurde geändert.',
  bySoftware: 'Software des Kunden',
  byCustomer: 'Kunde',
  issued: (order) => `Ausgestellt${order && `, ${order}`}`,
  imported: (order) => `Importiert${order && `, ${order}`}`,
  importChanged: 'Durch einen Import geändert',
  suspended: 'Ausgesetzt',
  reinstated: 'Freigegeben',
  revoked: 'Entzogen',
  cancelled: 'Storniert',
  renewed: (until, before) => `Verlängert: gültig bis ${until}, zuvor ${before}`,
  endSet: (until, before) => `Gültig bis ${until}, zuvor ${before}`,
  renewsItself: (until) => `Verlängert sich von selbst: bezahlt bis ${until}`,
  renewsNoMore: (until) => `Verlängert sich nicht mehr von selbst: gültig bis ${until}`,
  paymentFailed: (on, mailed) =>
    `Eine Zahlung ist am ${on} fehlgeschlagen${mailed ? ', der Kunde bekommt eine Mail, wo er bezahlen kann' : ''}`,
  revived: (until) => `Verlängert und wieder aktiv: gültig bis ${until}`,
  limit: (before, after) => `Plätze ${before} → ${after}`,
  plan: (before, after) => `Tarif ${before} → ${after}`,
  customer: (before, after) => `Kunde ${before} → ${after}`,
  metadata: (names) => `Notiz geändert: ${names}`,
  erased: 'Daten des Kunden gelöscht',
  keyAdded: (hint, label) => `Schlüssel hinzugefügt: endet auf ${hint}${label && `, für ${label}`}`,
  keyChanged: (hint, changes) => `Schlüssel ${hint} geändert${changes && `: ${changes}`}`,
  keyLabel: (before, after) => `für ${before} → ${after}`,
  keySlots: (before, after) => `Plätze ${before} → ${after}`,
  keyEnds: (before, after) => `gültig bis ${before} → ${after}`,
  withLicense: 'wie die Lizenz',
  keyEnded: (hint) => `Schlüssel ${hint} beendet`,
  rekeyed: (after, before) => `Neuer Schlüssel ${after} anstelle von ${before}`,
  overlap: (until) => `der alte wirkt bis ${until}`,
  revealed: 'Schlüssel angezeigt',
  answered: (to) => `Antwort gemailt${to && ` an ${to}`}`,
  activated: (type, name) => `${thing(type).one} hinzugefügt${name && `: ${name}`}`,
  activatedFree: (type, name) => `${thing(type).one} hinzugefügt, belegt keinen Platz${name && `: ${name}`}`,
  renamed: (type, name, before, after) => `${thing(type).one} ${name} heißt ${after}, zuvor ${before}`,
  freed: (type, name) => `${thing(type).one} belegt keinen Platz mehr${name && `: ${name}`}`,
  held: (type, name, until) =>
    `Datei für den Betrieb ohne Netz${name && `: ${name}`}, ${thing(type).one} bis ${until} festgehalten`,
  deactivated: (type, name) => `${thing(type).one} entfernt${name && `: ${name}`}`,
  repaired: (before, after) => `Belegte Plätze berichtigt ${before} → ${after}`,
  because: (sentence, reason) => `${sentence}: „${reason}“`,
  repeated: (sentence, times, until) => `${sentence} (${times}-mal bis ${until})`,
};
