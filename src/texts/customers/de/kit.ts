import type { kit as en } from '../en/kit';
import type { Translated } from '../../translated';
import { capitalizedEach } from '../../case';
import { states } from './words';

/** The texts of customers' and operators' pages. In German. */
export const kit: Translated<typeof en> = {
  skip: 'Zum Inhalt',
  find: 'Suchen',
  signOut: 'Abmelden',
  theme: 'Darstellung',
  themes: { auto: 'System', light: 'Hell', dark: 'Dunkel' },
  times: (zone) => `Zeitzone: ${zone}`,
  none: '–',
  yes: 'Ja',
  no: 'Nein',
  csv: 'CSV',
  clearFilters: 'Filter entfernen',
  first: 'Anfang',
  next: (count) => `Nächste ${count}`,
  morePages: 'Weitere Seiten',
  actions: 'Aktionen',
  select: 'Auswählen',
  copy: 'Kopieren',
  copied: 'Kopiert.',
  copyFailed: 'Drücken Sie Strg+C.',
  busy: 'Einen Moment...',
  optional: 'optional',
  status: capitalizedEach(states),
  said: {
    linkAsked: () =>
      'Wenn diese Adresse Lizenzen hat, ist eine E-Mail unterwegs. Verwenden Sie die Adresse, mit der Sie gekauft haben.',
    linkAskedByKey: () => 'Wenn zu dieser Lizenz eine E-Mail-Adresse gehört, ist ein Link dorthin unterwegs.',
    mySiteRemoved: (sentence) => sentence,
    signedOut: () => 'Sie sind abgemeldet.',
  },
  close: 'Schließen',
  errors: {
    toField: 'Siehe das markierte Feld.',
    title: 'Das hat nicht funktioniert.',
    notFound: 'Seite nicht gefunden',
    notFoundHint: 'Die Adresse ist vielleicht alt oder falsch geschrieben.',
    forbidden: 'Das ist nicht erlaubt',
    foreign:
      'Dieses Formular kam von einer anderen Website. Bitte öffnen Sie die Seite neu und senden Sie es von dort.',
    tooMany: 'Zu viele Anfragen. Bitte warten Sie eine Minute.',
    tooLarge: 'Das ist zu groß.',
    tooLargeHint:
      'Bitte gehen Sie zurück, kürzen Sie Ihre Eingabe oder wählen Sie eine kleinere Datei, und senden Sie noch einmal.',
    compressed: 'Diese Anfrage ist komprimiert, und der Dienst liest nur unkomprimierte.',
    away: 'Die Datenbank antwortet nicht.',
    fault: 'Hier ist etwas schiefgegangen.',
    faultHint: (id) => `Im Protokoll des Dienstes steht mehr unter ${id}.`,
    notReady: 'Der Lizenzdienst ist nicht erreichbar',
    notReadyHint: 'Bitte versuchen Sie es in einigen Minuten noch einmal. Es wurde nichts geändert.',
    notReadyOwner:
      'Ist das Ihr Shop? Der Dienst konnte nicht starten. Der Grund steht im Protokoll der Anwendung in Ihrem Hosting-Panel (Passenger log file, oder stderr.log im Ordner der Anwendung).',
    again: 'Noch einmal versuchen',
  },
};
