import type { found as en } from '../en/found';
import { thing } from '../../customers/de/words';
import type { Translated } from '../../translated';
import { counted } from '../../case';

/** The results of the search field. In German. */
export const found: Translated<typeof en> = {
  several: (text, count, more) =>
    `${text}: ${more ? 'mehr als ' : ''}${counted(String(count), 'Lizenz', 'Lizenzen')}`,
  none: {
    key: () => 'Keine Lizenz hat diesen Schlüssel',
    address: (text) => text,
    email: (text) => `Kein Kunde hat die E-Mail ${text}`,
    other: (text) => `Zu „${text}“ wurde nichts gefunden`,
  },
  foundAs: {
    customer: 'Kunde',
    beginning: 'Teil der E-Mail',
    reference: 'Bestellung',
    id: 'Nummer der Lizenz',
    hint: 'Ende eines Schlüssels',
    refused: 'abgelehnt',
    start: 'Anfang eines Schlüssels',
    label: 'für wen ein Schlüssel ist',
    name: 'Name des Kunden',
    activated: (activationType) => {
      const { er, one } = thing(activationType);
      return `belegt${er} ${one}`;
    },
  },
};
