import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import type { OperatorTexts } from '../texts/operators/texts';
import { isOfDownload } from '../texts/operators/support';
import type { FindingCode, MeantKey, RequestFacts, Slip } from './finding-model';
import { pageFacts, causeOf } from './sentences';
import { compareHints } from './similar-keys';
import type { RequestFinding, GroupedFindings } from './grouped-findings';

/** The recorded requests of a licence, described for its page. The functions are pure. */

export interface HistoryEntry {
  /** the time of the latest request */
  at: Date;
  /** the time of the first one; equal to `at` for a single request */
  first: Date;
  count: number;
  /** `checked`: a program asked whether it may download */
  kind: 'refused' | 'granted' | 'checked';
  code: FindingCode;
  /** the request and the reason for its refusal: "Update refused: the licence expired on 12 Nov 2026." */
  sentence: string;
  /** the two parts of a refusal's sentence, so that a page can stress the second; null: not refused */
  parts: { what: string; because: string } | null;
  /** "3 times since 07:55."; null: once */
  repeated: string | null;
  /** the first later success, if this cause has ended; null: it has not, or no request has come since */
  worksAgain: Date | null;
  /** "Works again since today 09:05."; null like `worksAgain` */
  worksAgainSentence: string | null;
  /** what to do about it; null: nothing, or nothing now */
  advice: string | null;
  client: {
    joomla: string | null;
    ip: string | null;
    version: string | null;
    /** reported by the client, not proven */
    site: string | null;
    installed: string | null;
  };
  licenseId: number | null;
  productId: number | null;
  identifier: string | null;
  /** a mistyped key of this licence; null: a different cause */
  near: NearKey | null;
}

interface NearKey {
  /** the end of the sent key */
  seen: string;
  /** the end of the licence's key */
  hint: string;
  /** the difference, such as "It ends in X, this licence's in Y: one character differs." */
  sentence: string;
}

export interface WhatHappenedOptions {
  language: OperatorLanguage;
  now: Date;
  /** the zone of written times, such as `Europe/Berlin` */
  zone: string;
  /** the maximum of entries; undefined: all */
  limit?: number | undefined;
  /** the ends of the licence's open keys, the main key's first */
  keyHints?: (string | null)[];
  /** the activation type of the licence's plan */
  activationType?: string;
}

/** Describes the recorded requests of an answer, newest first. Equal ones are one entry, unless a success is between them. */
export function requestHistory(
  { requests, licenseId }: Pick<GroupedFindings, 'requests' | 'licenseId'>,
  options: WhatHappenedOptions,
): HistoryEntry[] {
  const groups: RequestFinding[][] = [];
  let open = new Map<string, RequestFinding[]>();
  let kind: HistoryEntry['kind'] | undefined;
  for (const one of requests) {
    // Refusals before and after a success are separate entries.
    if (kind !== kindOf(one)) open = new Map();
    kind = kindOf(one);
    const group = open.get(sameAs(one)) ?? [];
    if (group.length === 0) {
      groups.push(group);
      open.set(sameAs(one), group);
    }
    group.push(one);
  }
  return groups.slice(0, options.limit).map((group) => toEntry(group, requests, licenseId, options));
}

/** @param group equal requests, newest first */
function toEntry(
  group: RequestFinding[],
  newestFirst: RequestFinding[],
  licenseId: number | null,
  options: WhatHappenedOptions,
): HistoryEntry {
  const { language, now, zone, activationType = 'domain' } = options;
  const { whatHappened: texts, language: written } = OPERATORS[language];
  const [latest] = group as [RequestFinding];
  const { request } = pageFacts(latest.facts, language);
  const at = new Date(request.last_at);
  const first = new Date(Math.min(...group.map(firstOf)));
  const count = group.reduce((sum, one) => sum + (one.count ?? 1), 0);
  const kind = kindOf(latest);
  const near = kind === 'refused' ? nearKey(latest, licenseId, options) : null;
  const parts = kind === 'refused' ? partsOf(latest, texts, { language, activationType, near }) : null;
  const worksAgain = kind === 'refused' ? succeededSince(latest, newestFirst) : null;
  return {
    at,
    first,
    count,
    kind,
    code: latest.code,
    sentence: parts === null ? texts.succeeded(request) : texts.refused(parts),
    parts,
    repeated: count < 2 ? null : texts.repeated(written.number(count), since(first, at, options)),
    worksAgain,
    worksAgainSentence: worksAgain && texts.worksAgain(written.moment(worksAgain, zone, now)),
    advice: worksAgain ? null : adviceOf(latest, texts),
    client: {
      joomla: request.joomla_version,
      ip: request.ip,
      version: request.version,
      site: request.site,
      installed: request.installed_version,
    },
    licenseId: request.license_id,
    productId: request.product_id,
    identifier: request.identifier,
    near,
  };
}

/** Returns the first time of several; without its day if that is the day of the latest. */
function since(first: Date, at: Date, { language, zone, now }: WhatHappenedOptions): string {
  const written = OPERATORS[language].language;
  return written.day(first, zone) === written.day(at, zone)
    ? written.time(first, zone)
    : written.moment(first, zone, now);
}

function kindOf({ code, facts }: RequestFinding): HistoryEntry['kind'] {
  if (facts.request.outcome !== 'ok') return 'refused';
  return code === 'CHECKED' ? 'checked' : 'granted';
}

/** Returns a key for equal requests: one text means one thing, whichever client at an address sent it. */
function sameAs({ code, facts: { request, ...others } }: RequestFinding): string {
  const { endpoint, outcome, license_id, key_hint, product_id, version, identifier, ip, joomla_version } =
    request;
  const { site, installed_version } = request;
  const told = code === 'GRANTED_REPEATEDLY' ? 'GRANTED' : code;
  const facts = told === 'GRANTED' ? {} : others;
  return JSON.stringify([
    ...[told, facts, endpoint, outcome, license_id, key_hint, product_id],
    ...[version, identifier, ip, joomla_version, site, installed_version],
  ]);
}

function firstOf({ since: at, facts }: RequestFinding): number {
  return new Date(at ?? facts.request.last_at).getTime();
}

function partsOf(
  finding: RequestFinding,
  texts: OperatorTexts['whatHappened'],
  {
    language,
    activationType,
    near,
  }: { language: OperatorLanguage; activationType: string; near: NearKey | null },
): NonNullable<HistoryEntry['parts']> {
  const { code } = finding;
  const facts = pageFacts(finding.facts, language);
  const because = near
    ? texts.mistyped
    : code === 'RATE_LIMITED'
      ? texts.rateLimited
      : causeOf(OPERATORS[language].support, { code, facts });
  return { what: texts.attempt(facts.request, activationType), because: `${because ?? ''}.` };
}

/** Returns the advice, in other words if the original names settings or codes of the command's answer. */
function adviceOf({ code, advice }: RequestFinding, texts: OperatorTexts['whatHappened']): string | null {
  if (code === 'RATE_LIMITED' || code === 'GRANTED_REPEATEDLY') return texts.advice[code];
  return advice;
}

/** Returns the data of a request with an unknown key that was probably meant for this licence. */
function nearKey(
  { facts }: RequestFinding,
  licenseId: number | null,
  { language, keyHints = [] }: WhatHappenedOptions,
): NearKey | null {
  const { request, ...others } = facts as { request: RequestFacts } & Partial<MeantKey>;
  const seen = request.key_hint;
  const isMistyped = others.slip !== undefined && others.slip !== 'replaced' && others.slip !== 'ended';
  if (seen === null || !isMistyped || licenseId === null || others.license_id !== licenseId) return null;
  for (const hint of keyHints) {
    const slip = hint === null ? undefined : compareHints(seen, hint);
    if (hint !== null && slip !== undefined) return toNear(seen, hint, slip, language);
  }
  return null;
}

function toNear(seen: string, hint: string, slip: Slip, language: OperatorLanguage): NearKey {
  const texts = OPERATORS[language].whatHappened;
  return { seen, hint, sentence: texts.near(seen, hint, texts.slips[slip]) };
}

/** Causes that have ended, so that any later success of this kind shows it. */
const GONE = new Set<FindingCode>([
  ...(['ACTIVE_AGAIN', 'COVERED_SINCE', 'SLOT_FREE', 'ACTIVATED_SINCE', 'PUBLISHED_SINCE'] as const),
]);
/** Causes on the customer's side, which have ended when the same address succeeds. */
const OF_CLIENT = new Set<FindingCode>([
  ...(['KEY_MISTYPED', 'KEY_REPLACED', 'KEY_ENDED', 'UNKNOWN_KEY', 'NO_KEY', 'RATE_LIMITED'] as const),
  ...(['RATE_LIMITED_PROXY', 'WRONG_PRODUCT', 'BAD_PRODUCT_ID', 'OMITTED', 'PACKAGE_MISSING'] as const),
]);

/** Returns the first success after a refusal that ends its cause; null if there is none. */
function succeededSince(refused: RequestFinding, newestFirst: RequestFinding[]): Date | null {
  const { request } = refused.facts;
  const isGone = GONE.has(refused.code);
  if (!isGone && !OF_CLIENT.has(refused.code)) return null;
  const later = newestFirst.filter((one) => {
    const other = one.facts.request;
    return (
      kindOf(one) === 'granted' &&
      firstOf(one) > new Date(request.last_at).getTime() &&
      isOfDownload(other.endpoint) === isOfDownload(request.endpoint) &&
      (isGone ? other.license_id === request.license_id : other.ip === request.ip)
    );
  });
  const first = later.at(-1);
  return first === undefined ? null : new Date(firstOf(first));
}
