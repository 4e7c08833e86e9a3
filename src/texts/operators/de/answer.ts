import type { answer as en } from '../en/answer';
import type { Translated } from '../../translated';

export const answer: Translated<typeof en> = {
  title: 'Antwort an den Kunden',
  write: 'Die Mail',
  preview: 'Wie sie ankommt',
  from: 'Von',
  to: 'An',
  subject: 'Betreff',
  body: 'Text',
  send: 'Mail senden',
  busy: 'Wird gesendet...',
  check: 'Vorschau aktualisieren',
  open: 'Als Mail senden…',
  off: (why) => `Sie kann von hier nicht gesendet werden. ${why}`,
  empty: 'Bitte geben Sie einen Betreff und einen Text ein.',
  noKeySecret:
    'Im Text steht ein Lizenzschlüssel, und dieser Dienst kann ihn bis zum Versand nicht verschlüsselt speichern. Lassen Sie den Schlüssel weg.',
};
