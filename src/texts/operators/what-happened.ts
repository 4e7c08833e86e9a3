import type { LanguageCode } from '../dates';
import type { RequestFacts } from '../../support/findings';
import type { Slip } from '../../support/similar-keys';

/** The words of `what-happened.ts`. */

const english = {
  /** @param activationType what the plan counts */
  attempt: ({ endpoint, identifier, other_key }: RequestFacts, activationType: string): string => {
    const key = other_key ? ' with another key' : '';
    const it = identifier ?? thing(EN_THINGS, activationType);
    switch (endpoint) {
      case 'download':
        return `Update${key} refused`;
      case 'check':
        return `Asked whether it may download${key}, and told no`;
      case 'activate':
        return `Adding ${it}${key} refused`;
      case 'deactivate':
        return `Removing ${it}${key} refused`;
      case 'validate':
        return `Validation${key} refused`;
      case 'token':
        return `File for ${it}${key} refused`;
      case 'updates':
        return `Question for updates${key} refused`;
    }
  },
  refused: ({ what, because }: { what: string; because: string }) => `${what}: ${because}`,
  succeeded: ({ endpoint, version, identifier }: RequestFacts): string => {
    const which = version === null ? 'A version' : `Version ${version}`;
    if (endpoint === 'check') return `${which} may be downloaded, a program was told.`;
    return endpoint === 'download' ? `${which} sent.` : `Accepted${identifier ? `: ${identifier}` : ''}.`;
  },
  repeated: (count: string, since: string) => `${count} times since ${since}.`,
  worksAgain: (since: string) => `Works again since ${since}.`,
  mistyped: 'the key is mistyped',
  rateLimited: 'too many requests from this address. Only the first of each minute is recorded',
  near: (seen: string, hint: string, slip: string) =>
    `It ends in ${seen}, this licence’s in ${hint}: ${slip}.`,
  slips: {
    'one-character': 'one character differs',
    transposed: 'two neighbouring characters are swapped',
    missing: 'one character is missing',
    extra: 'there is one character too many',
    confused:
      'a letter stands for a digit that looks like it (O for 0, I or l for 1), or the other way round',
    spelling: 'capital and small letters differ',
    elsewhere: 'the mistake is before the end',
    shape: 'the mistake is before the end, where a character is missing, too many or not one of 0-9 and A-F',
  } satisfies Record<Slip, string>,
  advice: {
    RATE_LIMITED: 'It helps to wait a minute.',
    GRANTED_REPEATEDLY:
      'If the customer reports a failure all the same, ask what Joomla said: it happened after the download.',
  },
};

export type WhatHappenedTexts = typeof english;

const german: WhatHappenedTexts = {
  attempt: ({ endpoint, identifier, other_key }, activationType) => {
    const key = other_key ? ' mit einem anderen Schlüssel' : '';
    const it = identifier ?? thing(DE_THINGS, activationType);
    switch (endpoint) {
      case 'download':
        return `Update${key} abgelehnt`;
      case 'check':
        return `Gefragt, ob ein Download${key} erlaubt ist, und verneint`;
      case 'activate':
        return `Hinzufügen von ${it}${key} abgelehnt`;
      case 'deactivate':
        return `Entfernen von ${it}${key} abgelehnt`;
      case 'validate':
        return `Prüfung${key} abgelehnt`;
      case 'token':
        return `Datei für den Betrieb ohne Netz${key} abgelehnt`;
      case 'updates':
        return `Frage nach Updates${key} abgelehnt`;
    }
  },
  refused: ({ what, because }) => `${what}: ${because}`,
  succeeded: ({ endpoint, version, identifier }) => {
    const which = version === null ? 'Eine Version' : `Version ${version}`;
    if (endpoint === 'check')
      return `${which} darf heruntergeladen werden, wurde einem Programm geantwortet.`;
    return endpoint === 'download'
      ? `${which} gesendet.`
      : `Angenommen${identifier ? `: ${identifier}` : ''}.`;
  },
  repeated: (count, since) => `${count}-mal seit ${since}.`,
  worksAgain: (since) => `Geht wieder seit ${since}.`,
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

export const WHAT_HAPPENED: Record<LanguageCode, WhatHappenedTexts> = { en: english, de: german };

const EN_THINGS: Record<string, string> = {
  domain: 'a site',
  device: 'a device',
  seat: 'a seat',
  instance: 'an instance',
};
const DE_THINGS: Record<string, string> = {
  domain: 'einer Website',
  device: 'einem Gerät',
  seat: 'einem Nutzer',
  instance: 'einer Instanz',
};

function thing(things: Record<string, string>, activationType: string): string {
  return things[activationType] ?? (things.domain as string);
}
