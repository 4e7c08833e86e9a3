import type { search as en } from '../en/search';
import type { Translated } from '../../translated';

export const search: Translated<typeof en> = {
  title: 'Suchen',
  intro: 'Hier finden Sie eine Lizenz oder eine abgelehnte Anfrage.',
  field: 'Wonach suchen Sie?',
  submit: 'Suchen',
  busy: 'Wird gesucht...',
  examples: 'Was Sie eingeben können',
  columns: { what: 'Was', example: 'Zum Beispiel', finds: 'Findet' },
  what: {
    key: [
      'Lizenzschlüssel',
      '1A2B3C4D-... oder seine letzten Zeichen',
      'die Lizenz, auch zu einem früheren oder vertippten Schlüssel',
    ],
    email: ['E-Mail', 'jane@example.com oder ein Wort daraus', 'die Lizenzen des Kunden'],
    name: ['Name', 'Müller', 'die Lizenzen des Kunden und Schlüssel mit diesem Namen'],
    order: ['Bestellung', 'A-1042', 'die Lizenz dieser Bestellung'],
    site: ['Website', 'shop.example.com', 'die Lizenzen, die sie belegt oder die sie abgelehnt haben'],
    ip: ['IP-Adresse', '198.51.100.23', 'was von dort angefragt wurde'],
  },
  notLogged: 'Ihre Eingabe wird nicht protokolliert.',
  notKept: 'der gesuchte Schlüssel wird nicht gezeigt und nicht gespeichert',
  foundAs: 'Gefunden als',
  caption: (count) => `${count} gezeigt, neueste zuerst.`,
  openLicense: (id) => `Lizenz ${id} öffnen`,
  openCustomer: 'Den Kunden öffnen',
  listAll: 'Alle in der Liste der Lizenzen',
  typeMore: 'Es gibt weitere. Geben Sie mehr von der E-Mail ein.',
  near: 'Lizenzen, die gemeint sein können',
  named: 'Lizenzen, die hier genannt sind',
  allRequests: 'Alle Anfragen von dort',
  nearCaption: (count) => `${count} gezeigt, die wahrscheinlichste zuerst.`,
  happened: 'Was geschah',
  answer: 'Antwort an den Kunden',
  answerBody: 'Die Mail',
  nothingTyped:
    'Geben Sie einen Schlüssel, eine E-Mail, eine Bestellung, eine Website oder eine IP-Adresse ein.',
  tooLong:
    'Das ist zu lang. Geben Sie einen Schlüssel, eine E-Mail, eine Bestellung, eine Website oder eine IP-Adresse ein.',
};
