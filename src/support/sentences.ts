import { formatDay } from '../licensing/dates';
import { asWritten } from '../licensing/core/identifiers';
import type { LiveStatus } from '../licensing/core/states';
import type { RefusalCode } from '../licensing/core/verdict';
import type { CauseFacts, Code, RequestFacts, StateFacts } from './findings';
import { GERMAN } from './sentences-de';
import { ENGLISH } from './sentences-en';

/** What a customer's request would meet now, as a sentence is built from it. */
export interface NowFacts {
  license_status: LiveStatus;
  expires_at: string | null;
  /** the version that is sent */
  version: string | null;
  activation_type: string;
  /** 0: unlimited */
  activation_limit: number;
  activations_used: number;
}

/** Failures that leave no record here (observed on Joomla 5.3). */
export type UntracedCode =
  | 'KEY_FIELD_EMPTY'
  | 'BLANK_IN_KEY'
  | 'INVISIBLE_CHARACTER'
  | 'NOT_OFFERED'
  | 'CHECKSUM'
  | 'NO_PACKAGE'
  | 'PACKAGE_NOT_SENT'
  | 'SERVER_ERROR'
  | 'REDIRECTED'
  | 'CERTIFICATE'
  | 'NOT_CONNECTED'
  | 'OUT_OF_MEMORY'
  | 'VALIDATE';

interface WithRequest {
  request: RequestFacts;
}

/** The sentences of one language. None contains a command of a shell, or a placeholder. */
export interface Language {
  findings: {
    [C in keyof StateFacts]: (facts: StateFacts[C], tell: (code: Code, facts: object) => string) => string;
  };
  /** clauses that follow a colon */
  causes: { [C in keyof CauseFacts]: (facts: CauseFacts[C] & WithRequest) => string };
  refused: (request: RequestFacts, because: string) => string;
  /** what to do besides the action; null: nothing in this case */
  advice: { [C in AdvisedCause]: (facts: CauseFacts[C] & WithRequest) => string | null } & {
    [C in AdvisedState]: (facts: StateFacts[C]) => string | null;
  } & { [C in AdvisedAnywhere]: (facts: CauseFacts[C] & Partial<WithRequest>) => string | null };
  now: {
    updates: (facts: NowFacts) => string;
    newSite: (facts: NowFacts) => string;
    updatesRefused: (because: string) => string;
    newSiteRefused: (because: string, facts: NowFacts) => string;
    because: Record<NowRefusal, (facts: NowFacts) => string>;
  };
  untraced: Record<UntracedCode, string>;
}

/** The refusals that a customer with the right key and product, and a new site, can meet. */
export type NowRefusal = Exclude<
  RefusalCode,
  'INVALID_REQUEST' | 'ACTIVATION_NOT_FOUND' | 'ACTIVATION_HELD' | 'PRODUCT_MISMATCH'
>;

type AdvisedState = 'NOTHING_RECORDED' | 'GRANTED_REPEATEDLY';
/** told of a request, and of what was looked for */
type AdvisedAnywhere = 'KEY_MISTYPED' | 'UNKNOWN_KEY';
type AdvisedCause =
  | 'RATE_LIMITED'
  | 'BAD_IDENTIFIER'
  | 'MALFORMED'
  | 'BAD_PRODUCT_ID'
  | 'NO_KEY'
  | 'WRONG_PRODUCT'
  | 'COVERED_SINCE'
  | 'ACTIVE_AGAIN'
  | 'SLOT_FREE'
  | 'NOT_ACTIVATED'
  | 'PUBLISHED_SINCE'
  | 'VERSION_NOT_PUBLISHED'
  | 'VERSION_WITHDRAWN';

export const LANGUAGES = { en: ENGLISH, de: GERMAN } satisfies Record<string, Language>;
export type LanguageCode = keyof typeof LANGUAGES;

/** All codes, for a schema. */
export const CODES = [
  ...new Set([...Object.keys(ENGLISH.findings), ...Object.keys(ENGLISH.causes)]),
] as Code[];
export const UNTRACED_CODES = Object.keys(ENGLISH.untraced) as UntracedCode[];

/** As much of a finding as a sentence is built from. */
interface Sayable {
  code: Code;
  facts: object;
}

// TypeScript cannot follow that the sentence of a code takes the facts of that code.
type Words<Result> = Record<
  string,
  ((facts: object, tell: (code: Code, facts: object) => string) => Result) | undefined
>;

/**
 * The facts of a finding, or of the present, as a page writes them: `12 Nov 2026`, which German does anyway, and `münchen.de`
 * for `xn--mnchen-3ya.de`.
 */
export function asOnPages<Facts extends object>(facts: Facts, language: LanguageCode): Facts {
  const write = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => write(name, one));
    if (typeof value === 'object' && value !== null) return asOnPages(value, language);
    if (typeof value !== 'string') return value;
    if (SITES.has(name)) return asWritten(value);
    return DAYS.has(name) && language !== 'de' ? formatDay(new Date(value), language) : value;
  };
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, write(name, value)]),
  ) as Facts;
}

const SITES = new Set(['identifier', 'site', 'free', 'holders']);
const DAYS = new Set(['expires_at', 'expired_at', 'stopped_at', 'ended_at', 'ends_at', 'event_at']);

/** The clause of a recorded refusal's cause, which follows a colon; undefined: it was not refused. */
export function causeOf(language: Language, { code, facts }: Sayable): string | undefined {
  return isOfRequest(facts) ? (language.causes as Words<string>)[code]?.(facts, () => '') : undefined;
}

/** A finding as a sentence. */
export function sentenceOf(language: Language, { code, facts }: Sayable): string {
  const tell = (inner: Code, of: object) => sentenceOf(language, { code: inner, facts: of });
  const clause = causeOf(language, { code, facts });
  if (clause !== undefined && isOfRequest(facts)) return language.refused(facts.request, clause);
  return (language.findings as Words<string>)[code]?.(facts, tell) ?? code;
}

function isOfRequest(facts: object): facts is WithRequest {
  return 'request' in facts;
}

/** What to do about a finding; null: nothing, or its action alone. */
export function adviceOf(language: Language, { code, facts }: Sayable): string | null {
  if (code === 'IN_ACCESS_LOG') return adviceOf(language, (facts as StateFacts['IN_ACCESS_LOG']).access);
  return (language.advice as Words<string | null>)[code]?.(facts, () => '') ?? null;
}
