import { liveStatus } from '../licensing/core/states';
import { cause, finding } from './findings';
import type { Cause, Finding, MeantKey } from './finding-model';
import type { CaseState, Likely } from './case-state';

/** Explains to support which licence an unknown key was probably meant for. */

/** @param candidates likeliest first */
export function unknownKeyCause(
  candidates: Likely[],
  compared: MeantKey['compared'],
  { now, about }: Pick<CaseState, 'now' | 'about'>,
): Cause {
  const [first, ...others] = candidates;
  if (first === undefined) return cause('UNKNOWN_KEY', {});
  const { license, slip, by, hasEnded = false } = first;
  const status = liveStatus(license, now);
  const facts: MeantKey = {
    license_id: license.id,
    license_status: status,
    slip,
    certain: by === 'key',
    compared,
    also: others.map((other) => other.license.id),
    key_ended: hasEnded,
  };
  // The correct key would also be refused.
  const isOfNoUse = status !== 'active' || slip === 'ended' || hasEnded;
  if (isOfNoUse)
    return cause(
      codeOf(slip),
      facts,
      about?.licenseId === license.id ? null : { type: 'why', license_id: license.id },
    );
  return cause(codeOf(slip), facts, slip === 'replaced' ? { type: 'reveal', license_id: license.id } : null);
}

function codeOf(slip: MeantKey['slip']): 'KEY_REPLACED' | 'KEY_ENDED' | 'KEY_MISTYPED' {
  return slip === 'replaced' ? 'KEY_REPLACED' : slip === 'ended' ? 'KEY_ENDED' : 'KEY_MISTYPED';
}

/** Explains which key an unknown text was meant to be. `likely` is sorted, likeliest first. */
export function explainUnknownKey(likely: Likely[], named_by: 'key' | 'hint', now: Date): Finding {
  const [first] = likely;
  if (first === undefined) return finding('UNKNOWN_KEY', {});
  const compared = named_by === 'hint' ? 'end_asked_about' : first.by === 'key' ? 'key' : 'end';
  const { code, facts, action } = unknownKeyCause(likely, compared, { now });
  return { code, facts: { named_by, ...facts }, action, since: null, count: null };
}
