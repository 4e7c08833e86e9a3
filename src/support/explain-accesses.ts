import { formatTimestamp } from '../base/days';
import { jsonOf } from '../base/json';
import { isSimulation, joomlaVersion } from '../joomla/updater/agent';
import { lastSeenAt, type LoggedAccess } from '../store/access-log';
import { finding, timeOf } from './findings';
import type { FindingCode, Finding, RequestFacts, AccessFinding } from './finding-model';
import type { CaseState } from './case-state';
import { findCause, hasAnotherKey } from './refusal-causes';

/** Explains recorded accesses to support. Pure functions. */

/** Describes accesses in order of time, and merges consecutive equal ones. `newestFirst` is in the store's order. */
export function explainAccesses(newestFirst: LoggedAccess[], known: CaseState): AccessFinding[] {
  const groups: LoggedAccess[][] = [];
  // The store sorts rows by their first access; here they are sorted by their latest.
  const inOrder = [...newestFirst]
    .reverse()
    .sort((a, b) => lastSeenAt(a).getTime() - lastSeenAt(b).getTime());
  for (const access of inOrder) {
    const group = groups.at(-1);
    if (group && isSame(group[0] as LoggedAccess, access)) group.push(access);
    else groups.push([access]);
  }
  return groups.map((group) => {
    const access = group.at(-1) as LoggedAccess;
    const count = group.reduce((sum, { times }) => sum + times, 0);
    const firstAt = new Date(Math.min(...group.map(({ at }) => at.getTime())));
    return {
      ...explainAccess(access, count, known),
      since: formatTimestamp(firstAt),
      count,
      firstAt,
      lastAt: lastSeenAt(access),
      access,
    };
  });
}

/** The fields of a request and of its outcome. */
export const REQUEST_FIELDS = [
  'endpoint',
  'outcome',
  'licenseId',
  'keyHint',
  'productId',
  'version',
  'identifier',
  'ip',
  'userAgent',
  'site',
  'installedVersion',
] as const;

function isSame(a: LoggedAccess, b: LoggedAccess): boolean {
  return a.keyId === b.keyId && REQUEST_FIELDS.every((field) => a[field] === b[field]);
}

function explainAccess(access: LoggedAccess, count: number, known: CaseState): Finding {
  const license = access.licenseId === null ? undefined : known.licenses.get(access.licenseId);
  const request = requestFacts(access, license === undefined && hasAnotherKey(access, known));
  if (access.outcome === 'ok') return explainGranted(request, count);
  const { code, facts, action } = findCause(access, license, known);
  return { code, facts: { request, ...facts }, since: null, count: null, action };
}

function requestFacts(access: LoggedAccess, otherKey: boolean): RequestFacts {
  const { userAgent } = access;
  return {
    ...jsonOf(access, ...REQUEST_FIELDS),
    client: clientOf(userAgent),
    joomla_version: joomlaVersion(userAgent) ?? null,
    other_key: otherKey,
    last_at: formatTimestamp(lastSeenAt(access)),
  };
}

function clientOf(userAgent: string | null): RequestFacts['client'] {
  if (userAgent === null) return 'unnamed';
  if (isSimulation(userAgent)) return 'trial';
  if (joomlaVersion(userAgent) !== undefined) return 'joomla';
  return /^Mozilla\/.*(Gecko|WebKit|Firefox|Chrome|Safari|Edg)/.test(userAgent) ? 'browser' : 'other';
}

/** Explains a granted request. Joomla sends one per click on Update (no retry, no HEAD), so two are two tries. */
function explainGranted(request: RequestFacts, count: number): Finding {
  if (request.endpoint === 'check') return finding('CHECKED', { request });
  return count < 2 || request.client !== 'joomla'
    ? finding('GRANTED', { request })
    : finding('GRANTED_REPEATEDLY', { request, count });
}

/** @param newestFirst accesses whose identifier is not activated anywhere */
export function explainLogged(newestFirst: LoggedAccess[], known: CaseState): Finding[] {
  const [latest] = newestFirst;
  if (latest === undefined) return [];
  const { code, facts, action } = explainAccess(latest, 1, known);
  return [
    finding(
      'IN_ACCESS_LOG',
      { last_at: formatTimestamp(lastSeenAt(latest)), access: { code, facts } },
      { since: timeOf(latest.at), count: latest.times, action },
    ),
  ];
}

/** Reports whether the findings or the latest access explain a reported failure. Otherwise it left no record. */
export function hasCause(findings: Finding[], accesses: AccessFinding[]): boolean {
  const latest = accesses.at(-1);
  return (
    findings.some(({ code }) => CAUSES.has(code)) || (latest !== undefined && latest.access.outcome !== 'ok')
  );
}

const CAUSES = new Set<FindingCode>([
  ...(['EXPIRED', 'SUSPENDED', 'REVOKED', 'CANCELLED', 'SLOTS_FULL', 'NOTHING_PUBLISHED'] as const),
  ...(['KEY_MISTYPED', 'KEY_REPLACED', 'KEY_ENDED', 'KEY_SLOTS_FULL'] as const),
]);
