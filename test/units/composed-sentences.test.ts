import { expect, test } from '@jest/globals';
import { composeAll } from '../support/composed-sentences';
import { OPERATOR_LANGUAGES, type OperatorLanguage } from '../../src/texts/operators/languages';

/** The nouns of sentences with a count. */
const MANY =
  'licences|sites|slots|days|downloads|requests|orders|customers|mails|payments|versions|devices|plans|messages|keys|updates|refusals|processes|instances|lines|files|networks|products|webhooks|people|entries|events|shops|connections|times|rows|things';
const ONE =
  'licence|site|slot|day|request|order|payment|device|plan|message|key|refusal|line|file|network|product|mail|download|update|version|row|time';

/** Faults that no sentence may have. `test/support/composed-sentences.ts` composes all sentences. */
const FAULTS: Record<'any' | OperatorLanguage, Record<string, RegExp>> = {
  any: {
    'a word twice': /(?<![\p{L}\d])(\p{L}+) \1(?![\p{L}\d])/u,
    'two spaces': / {2}/,
    'a space before a mark': / [,;:!](?!\d)| \.(?![\w.])/,
    'no space between': /[\p{Ll}\d)][.!?:;]\p{Lu}\p{Ll}|(?!ooCo|ctHo|ctSy)\p{Ll}{2}\p{Lu}\p{Ll}/u,
    'two marks': /,,|;;|[:,;] *[.,;]|\?\.(?!\w)|\.:/,
    'no value': /\b(?:undefined|null|NaN)\b|\[object|\(\)|“”|„“/,
  },
  en: {
    'a preposition before today': /\b(?:on|until the|since the|of the|on the) (?:today|yesterday)\b/,
    'one of many': new RegExp(String.raw`(?<!of )\b1 (?:${MANY})\b`),
    'many of one': new RegExp(String.raw`\b(?:0|[2-9]|\d\d+) (?:${ONE})\b(?! (?:is|number))`),
    'a verb of many': /\b1 \w+ (?:are|were|have|wait|match)\b/,
    'a verb of one': /(?<!\bof )\b[02-9] \w+s (?:is|was|has|waits)\b/,
    'unlimited as a number': /\bof unlimited\b/,
  },
  de: {
    'a preposition before today':
      /\b(?:am|vom|zum|(?:seit|ab|nach|vor) dem|bis zum|den|dem) (?:heute|gestern)\b/,
    'one of many':
      /\b1 (?:Lizenzen|Websites|Plätze\w*|Tage\w*|Downloads|Anfragen|Bestellungen|Kunden|Mails|Zahlungen|Versionen|Geräte|Tarife|Meldungen|Schlüsseln|Updates|Seiten|Ablehnungen|Prozesse|Instanzen|Zeilen|Dateien|Netzen|Produkte|Webhooks|Personen|Einträge|Ereignisse|Shops|Verbindungen)\b/,
    'many of one':
      /\b(?:0|[2-9]|\d\d+) (?:Lizenz|Website|Platz|Tag|Anfrage|Bestellung|Zahlung|Gerät|Tarif|Meldung|Ablehnung|Zeile|Datei|Netz|Produkt|Mail)\b/,
    'a verb of many':
      /(?<!(?:Lizenz|haben|von) )\b1 (?!Platz|Tag)\p{L}+ (?:wurden|sind|haben|werden|warten|gehören|passen|waren|enden)\b|\b(?:wurden|sind|werden|warten|waren) 1\b(?! Tag )/u,
    'a verb of one':
      /(?<!von )\b[02-9] (?!Tag|Netz|MB)\p{Lu}\p{L}+ (?:wurde|ist|hat|wird|wartet|war)\b|\b[02-9] von 1 \p{L}+ (?:ist|wurde)\b/u,
    'unlimited as a number': /\bunbegrenzt \p{Lu}|\b(?:von|der) unbegrenzt\b/u,
  },
};

/** False alarms: sentences that the program never composes with these values, and why. */
const NEVER: [path: RegExp, fault: string, why: string][] = [
  [
    /^(overview\.(period|days|figures|refused|arrived|used)|licenses\.within|renewals\.due\.days|moveIn\.fare|requests\.chart)/,
    'one of many',
    'the days are 7, 30 or 90, or another constant',
  ],
  [
    /^(moved\.(leftOut\.many-sites|refusals\.many-(lines|plans))|said\.licensesTooMany)$/,
    'one of many',
    'a constant limit',
  ],
  [
    /^(history\.repeated|requests\.times|whatHappened\.repeated|support\.findings\.(GRANTED_REPEATEDLY|SEVERAL_LICENSES|KEY_SHARED))$/,
    'one of many',
    'said of two or more',
  ],
  [/^support\.findings\.SEVERAL_LICENSES$/, 'a verb of many', 'said of two or more'],
  [/^remedy\.(button|label)$/, 'one of many', 'one slot more than two sites are offered at the least'],
  [/^doctor\.redisPerInstance\./, 'one of many', 'said of two instances or more'],
  [/^customers\.one\.allEntries$/, 'one of many', 'said of more entries than the page shows'],
  [/^releases\.security\.behindOf$/, 'one of many', '“1 von 1 Websites” is right'],
  [/^support\.now\.newSite$/, 'a verb of many', 'one free slot is one at the least'],
  [/^doctor\.workWaits\.what$/, 'two spaces', 'mails or webhooks wait, or both'],
  [/^doctor\.workWaits\.what$/, 'a space before a mark', 'mails or webhooks wait, or both'],
  [/^doctor\.workWaits\.what$/, 'two marks', 'mails or webhooks wait, or both'],
  [/^support\.findings\.ORDER_(MAIL|FAILED)$/, 'two spaces', 'a sent or failed order has its times'],
  [
    /^support\.(findings\.(CHECKED|GRANTED|GRANTED_REPEATEDLY)|refused)$/,
    'no value',
    'a client that is none of ours has a name',
  ],
  [
    /^(worksNow\.used|license\.sites\.used|my\.keys\.slotsOf)$/,
    'unlimited as a number',
    'without a limit nothing is said, or another sentence',
  ],
  [/^worksNow\.used$/, 'a verb of many', 'of one slot three are used'],
];

test.each(OPERATOR_LANGUAGES)('no composed sentence in %s has a fault', (language) => {
  const all = composeAll(language);
  const faults = Object.entries({ ...FAULTS.any, ...FAULTS[language] });
  const found = all.flatMap(({ path, text }) =>
    faults.filter(([, pattern]) => pattern.test(text)).map(([name]) => ({ path, fault: name, text })),
  );
  const isNever = (one: { path: string; fault: string }) =>
    NEVER.some(([path, fault]) => fault === one.fault && path.test(one.path));
  expect(all.length).toBeGreaterThan(2000);
  expect(found.filter((one) => !isNever(one))).toEqual([]);
});

test('each pattern finds its fault', () => {
  const examples: [OperatorLanguage, string, string][] = [
    ['de', 'Die Kunden wurden am heute 22:54 benachrichtigt.', 'a preposition before today'],
    ['de', 'Die Kunden wurden am gestern 22:54 benachrichtigt.', 'a preposition before today'],
    ['de', '3 von 1 Platz ist belegt.', 'a verb of one'],
    ['de', 'heute 22:54 aufgegebenDer Mailserver nahm sie nicht an.', 'no space between'],
    ['de', 'unbegrenzt Websites, 1 Jahr', 'unlimited as a number'],
    ['de', 'In zwölf Monaten wurden 1 Lizenzen verkauft.', 'one of many'],
    ['en', 'The customers were told on today 22:54.', 'a preposition before today'],
    ['en', 'The customers were told on yesterday, 22:54.', 'a preposition before today'],
    ['en', '1 licences were sold.', 'one of many'],
    ['en', '3 site left', 'many of one'],
    ['en', 'Licence the the end', 'a word twice'],
    ['en', 'since undefined', 'no value'],
  ];
  for (const [language, text, fault] of examples) {
    const patterns = { ...FAULTS.any, ...FAULTS[language] };
    const names = Object.keys(patterns).filter((name) => patterns[name]?.test(text));
    expect([text, names]).toEqual([text, expect.arrayContaining([fault])]);
  }
});
