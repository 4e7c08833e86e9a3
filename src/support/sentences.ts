import { inBothForms } from '../licensing/core/identifiers';
import type { JoomlaMessageCode } from '../texts/operators/joomla-says';
import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import type { SupportTexts } from '../texts/operators/support';
import type { OperatorTexts } from '../texts/operators/texts';
import { uncapitalized } from '../texts/case';
import { readOrderReason } from '../texts/order-reason';
import type { FindingCode, RequestFacts, StateFacts } from './finding-model';

/** All codes, for a schema. */
export const CODES = [
  ...new Set([...Object.keys(OPERATORS.en.support.findings), ...Object.keys(OPERATORS.en.support.causes)]),
] as FindingCode[];

/** Failures that leave no record here (seen on Joomla 5.3), with their row of Joomla's messages; null: not Joomla's. */
const UNTRACED = {
  KEY_FIELD_EMPTY: 'KEY_FIELD_EMPTY',
  BLANK_IN_KEY: 'BLANK_IN_KEY',
  INVISIBLE_CHARACTER: 'STATUS_400',
  NOT_OFFERED: 'NOT_OFFERED',
  CHECKSUM: 'CHECKSUM',
  NO_PACKAGE: 'NO_PACKAGE',
  PACKAGE_NOT_SENT: 'STATUS_404',
  SERVER_ERROR: 'SERVER_ERROR',
  REDIRECTED: 'REDIRECTED',
  CERTIFICATE: 'CERTIFICATE',
  NOT_CONNECTED: 'NOT_CONNECTED',
  OUT_OF_MEMORY: 'OUT_OF_MEMORY',
  VALIDATE: null,
} as const satisfies Record<string, JoomlaMessageCode | null>;

export type UntracedCode = keyof typeof UNTRACED;
export const UNTRACED_CODES = Object.keys(UNTRACED) as UntracedCode[];

/** Returns the customer's description of each such failure, its meaning, and what to do. */
export function untracedSentences(language: OperatorLanguage): { code: UntracedCode; sentence: string }[] {
  const { support, joomlaSays } = OPERATORS[language];
  return UNTRACED_CODES.map((code) => {
    const row = UNTRACED[code];
    return { code, sentence: row === null ? support.validate : support.untraced(joomlaSays[row]) };
  });
}

/** The part of a finding that a sentence is built from. */
interface Sayable {
  code: FindingCode;
  facts: object;
}

// TypeScript does not know that the sentence of a code takes the facts of that code.
type Sentences<Result> = Record<
  string,
  ((facts: object, tell: (code: FindingCode, facts: object) => string) => Result) | undefined
>;

/** Writes the facts of a finding, or of the present, as a page does: days as `12 Nov 2026`, the rest as `inWords`. */
export function pageFacts<Facts extends object>(facts: Facts, language: OperatorLanguage): Facts {
  const written = OPERATORS[language].language;
  return rewritten(inWords(facts, language), (name, value) =>
    DAYS.has(name) ? written.day(new Date(value)) : value,
  );
}

/** Writes sites in both forms, and reasons and actors as text. */
export function inWords<Facts extends object>(facts: Facts, language: OperatorLanguage): Facts {
  return rewritten(facts, (name, value) => {
    if (name === 'identifier') return inBothForms(value, undefined);
    if (SITES.has(name)) return inBothForms(value, 'domain');
    if (name === 'reason') return reasonInWords(value, OPERATORS[language]);
    return name === 'actor' ? actorInWords(value, OPERATORS[language]) : value;
  });
}

/** Returns the actor of a change without the prefix that the history stores: `root`, `Stripe`, `the customer`. */
export function actorInWords(actor: string, { history }: Pick<OperatorTexts, 'history'>): string {
  const [, kind, name = ''] = /^(\w+):(.+)$/s.exec(actor) ?? [];
  if (actor === 'orders' || actor === 'operator:first-start') return history.byService;
  if (actor === 'customer') return history.byCustomer;
  if (kind === 'customer') return history.bySoftware;
  if (kind === 'shop') return BRANDS[name] ?? name;
  return kind !== undefined && PEOPLE.has(kind) ? name : actor;
}

/** The kinds of actors before the name of an operator. */
const PEOPLE = new Set(['operator', 'token', 'joomla']);
/** The spelling of shops that are named like their kind. */
const BRANDS: Record<string, string> = {
  hikashop: 'HikaShop',
  membershippro: 'Membership Pro',
  j2commerce: 'J2Commerce',
  stripe: 'Stripe',
  paddle: 'Paddle',
  digistore24: 'Digistore24',
  lemonsqueezy: 'Lemon Squeezy',
  fastspring: 'FastSpring',
  woocommerce: 'WooCommerce',
};

/** Returns a person's reason unchanged, and a text for the event of an order. */
export function reasonInWords(reason: string, { orders }: Pick<OperatorTexts, 'orders'>): string {
  const { shop, number, event } = readOrderReason(reason) ?? {};
  const what = orders.events[event ?? ''];
  return what === undefined ? reason : orders.because(shop ?? '', number ?? '', uncapitalized(what));
}

/** Rewrites each text in the facts, including lists and nested facts. */
function rewritten<Facts extends object>(
  facts: Facts,
  writeText: (name: string, text: string) => string,
): Facts {
  const write = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => write(name, one));
    if (typeof value === 'object' && value !== null) return rewritten(value, writeText);
    return typeof value === 'string' ? writeText(name, value) : value;
  };
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, write(name, value)]),
  ) as Facts;
}

const SITES = new Set(['site', 'free', 'holders']);
const DAYS = new Set([
  'expires_at',
  'expired_at',
  'stopped_at',
  'ended_at',
  'ends_at',
  'event_at',
  'payment_failed_at',
  'told_at',
]);

/** Returns the clause for a refusal's cause, which follows a colon; undefined if the request was not refused. */
export function causeOf(texts: SupportTexts, { code, facts }: Sayable): string | undefined {
  return isOfRequest(facts) ? (texts.causes as Sentences<string>)[code]?.(facts, () => '') : undefined;
}

/** Returns a finding as a sentence. */
export function sentenceOf(texts: SupportTexts, { code, facts }: Sayable): string {
  const tell = (inner: FindingCode, of: object) => sentenceOf(texts, { code: inner, facts: of });
  const clause = causeOf(texts, { code, facts });
  if (clause !== undefined && isOfRequest(facts)) return texts.refused(facts.request, clause);
  return (texts.findings as Sentences<string>)[code]?.(facts, tell) ?? code;
}

function isOfRequest(facts: object): facts is { request: RequestFacts } {
  return 'request' in facts;
}

/** Returns what to do about a finding; null if there is nothing to do in addition to its action. */
export function adviceOf(texts: SupportTexts, { code, facts }: Sayable): string | null {
  if (code === 'IN_ACCESS_LOG') return adviceOf(texts, (facts as StateFacts['IN_ACCESS_LOG']).access);
  return (texts.advice as Sentences<string | null>)[code]?.(facts, () => '') ?? null;
}
