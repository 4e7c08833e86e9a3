import type { FindingCode, MeantKey, RequestFacts, StateFacts } from './finding-model';
import type { ExplainedFinding, WhyAnswer } from './why';

/** The findings of an answer, sorted once for all parts of a page. */
export interface GroupedFindings {
  now: WhyAnswer['now'];
  licenseId: number | null;
  /** findings about recorded requests, newest first */
  requests: RequestFinding[];
  /** requests from its networks, perhaps by another person, in the same order */
  nearby: RequestFinding[];
  /** findings about the licence or its key: the first one with each code */
  about: Map<string, ExplainedFinding>;
  /** the reason why the licence does not work; undefined: it works */
  stop: { code: StopCode; facts: Partial<StateFacts['SUSPENDED']> } | undefined;
  /** the key's own limit, if it is reached */
  fullKey: StateFacts['KEY_SLOTS_FULL'] | undefined;
  /** the first finding that identifies the key that was meant */
  meant: { code: FindingCode; facts: Partial<MeantKey> } | undefined;
  /** the replacement of an ended key */
  successor: { key_hint: string | null } | undefined;
}

export type RequestFinding = ExplainedFinding & { facts: { request: RequestFacts } };

const STOPS = ['EXPIRED', 'SUSPENDED', 'REVOKED', 'CANCELLED'] as const;
type StopCode = (typeof STOPS)[number];
const MEANT: FindingCode[] = ['KEY_MISTYPED', 'KEY_REPLACED', 'KEY_ENDED'];

export function groupFindings({
  findings,
  nearby,
  license_id: licenseId,
  now,
}: Pick<WhyAnswer, 'findings' | 'nearby' | 'license_id' | 'now'>): GroupedFindings {
  const sorted: GroupedFindings = {
    now,
    licenseId,
    requests: [],
    nearby: nearby.filter(isOfRequest).reverse(),
    about: new Map(),
    stop: undefined,
    fullKey: undefined,
    meant: undefined,
    successor: undefined,
  };
  for (const one of findings) {
    const { code, facts } = one;
    if (MEANT.includes(code)) sorted.meant ??= { code, facts };
    sorted.successor ??= (facts as Partial<StateFacts['KEY_ENDS']>).successor ?? undefined;
    if (isOfRequest(one)) {
      sorted.requests.push(one);
      continue;
    }
    if (!sorted.about.has(code)) sorted.about.set(code, one);
    const stop = STOPS.find((stopping) => stopping === code);
    if (stop !== undefined) sorted.stop ??= { code: stop, facts };
    if (code === 'KEY_SLOTS_FULL') sorted.fullKey ??= facts as StateFacts['KEY_SLOTS_FULL'];
  }
  sorted.requests.reverse();
  return sorted;
}

export function isOfRequest(finding: ExplainedFinding): finding is RequestFinding {
  return 'request' in finding.facts;
}
