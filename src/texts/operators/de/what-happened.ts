import type { whatHappened as en } from '../en/what-happened';
import { thing } from '../../customers/de/words';
import type { Translated } from '../../translated';

/** The recorded requests of a licence. In German. */
export const whatHappened: Translated<typeof en> = {
  attempt: ({ endpoint, identifier, other_key }, activationType) => {
    const key = other_key ? ' mit einem anderen Schlüssel' : '';
    const { einem, one } = thing(activationType);
    const it = identifier ?? `${einem} ${one}`;
    switch (endpoint) {
      case 'download':
        return `Update${key} abgelehnt`;
      case 'check':
        return `Abfrage vor dem Download${key} abgelehnt`;
      case 'activate':
        return `Hinzufügen von ${it}${key} abgelehnt`;
      case 'deactivate':
        return `Entfernen von ${it}${key} abgelehnt`;
      case 'validate':
        return `Prüfung${key} abgelehnt`;
      case 'token':
        return `Datei für den Betrieb ohne Netz${key} abgelehnt`;
      case 'updates':
        return `Suche nach Updates${key} abgelehnt`;
    }
  },
  refused: ({ what, because }) => `${what}: ${because}`,
  succeeded: ({ endpoint, version, identifier }) => {
    const which = version === null ? 'Eine Version' : `Version ${version}`;
    if (endpoint === 'check') return `Ein Programm hat gefragt: ${which} darf heruntergeladen werden.`;
    return endpoint === 'download'
      ? `${which} gesendet.`
      : `Angenommen${identifier ? `: ${identifier}` : ''}.`;
  },
  repeated: (count, since) => `${count}-mal seit ${since}.`,
  worksAgain: (since) => `Funktioniert wieder seit ${since}.`,
  mistyped: 'Der Schlüssel ist vertippt',
  rateLimited: 'Zu viele Anfragen von dieser Adresse. Je Minute wird nur die erste aufgezeichnet',
  near: (seen, hint, slip) => `Er endet auf ${seen}, der dieser Lizenz auf ${hint}: ${slip}.`,
  slips: {
    'one-character': 'Ein Zeichen ist anders',
    transposed: 'Zwei benachbarte Zeichen sind vertauscht',
    missing: 'Ein Zeichen fehlt',
    extra: 'Ein Zeichen ist zu viel',
    confused: 'Ein Buchstabe steht für eine ähnliche Ziffer (O für 0, I oder l für 1) oder umgekehrt',
    spelling: 'Groß- und Kleinschreibung sind anders',
    elsewhere: 'Der Fehler liegt weiter vorn',
    shape:
      'Der Fehler liegt weiter vorn, wo ein Zeichen fehlt, eines zu viel ist oder keines von 0-9 und A-F',
  },
  advice: {
    RATE_LIMITED: 'Es hilft, eine Minute zu warten.',
    GRANTED_REPEATEDLY:
      'Meldet der Kunde trotzdem einen Fehler, fragen Sie, was Joomla anzeigt: Er geschah nach dem Download.',
  },
};
