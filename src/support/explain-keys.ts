import { isKeyActive } from '../licensing/license-keys';
import { liveStatus } from '../licensing/core/states';
import { SPREAD_DAYS, type Spreading } from '../licensing/spreading';
import type { LicenseKey } from '../store/licenses/license-keys';
import type { License } from '../store/licenses/licenses';
import { cause, finding, timeOf } from './findings';
import type { RemedyAction, Cause, EndedKey, Finding, SitePlace } from './finding-model';
import type { KeyWithSuccessor } from './case-state';

/** Explains to support why a licence's key no longer works, and what its own limit refused. The functions are pure. */

/** Returns the key that counts: the replacement of a replaced key. */
export function successorOrSelf({ key, successor }: KeyWithSuccessor): LicenseKey {
  return successor ?? key;
}

/** Returns why a request with an ended key was refused. @param known undefined: the log does not name the key */
export function endedKeyCause(known: KeyWithSuccessor | undefined, license: License, now: Date): Cause {
  return cause(
    known?.successor ? 'KEY_REPLACED' : 'KEY_ENDED',
    endOf(known, license, now),
    replacement(known, license, now),
  );
}

/** Explains the key that was asked about. It has no findings for a key that opens its licence like the main key. */
export function explainAskedKey(
  known: KeyWithSuccessor,
  license: License,
  { by, now }: { by: 'key' | 'hint'; now: Date },
): Finding[] {
  const { key, successor, used } = known;
  const { activationLimit: slots, endsAt } = successorOrSelf(known);
  if (!isKeyActive(key, now)) {
    const end = endOf(known, license, now);
    return [
      finding(
        successor ? 'KEY_REPLACED' : 'KEY_ENDED',
        { named_by: by, ...end },
        { since: end.ended_at, action: replacement(known, license, now) },
      ),
    ];
  }
  const findings: Finding[] = [];
  const ends = successor ? key.endsAt : endsAt;
  if (ends)
    findings.push(
      finding(
        'KEY_ENDS',
        {
          named_by: by,
          key_id: key.id,
          label: key.label,
          license_id: license.id,
          ends_at: timeOf(ends) as string,
          successor: successor ? { key_hint: successor.keyHint } : null,
        },
        { action: successor ? giveKey(license, successor) : null },
      ),
    );
  if (slots !== null)
    findings.push(
      used >= slots
        ? finding('KEY_SLOTS_FULL', keySlots(known), { action: raiseLimit(license, known) })
        : finding('KEY_SLOTS', keySlots(known)),
    );
  return findings;
}

/** Explains that a key is used in more networks than its slots explain. */
export function explainShared({ key, license, networks, slots }: Spreading): Finding {
  return finding(
    'KEY_SHARED',
    { key_id: key.id, key_hint: key.keyHint, networks, days: SPREAD_DAYS, slots },
    { action: { type: 'rekey', license_id: license.id, key_id: key.id } },
  );
}

/** Explains a refused activation with a key that has its own limit, if the licence's limit is not reached. */
export function keyFullCause(known: KeyWithSuccessor, license: License, place: SitePlace | null): Cause {
  const { activationLimit: activation_limit, activationsUsed: activations_used } = license;
  return cause(
    'KEY_SLOTS_FULL',
    { ...keySlots(known), license: { activation_limit, activations_used }, place },
    raiseLimit(license, known),
  );
}

/** Returns the slots of a key that has its own limit. */
export function keySlots(known: KeyWithSuccessor) {
  const { id, label, activationLimit } = successorOrSelf(known);
  return { key_id: id, label, activation_limit: activationLimit ?? 0, activations_used: known.used };
}

function raiseLimit({ id }: License, known: KeyWithSuccessor): RemedyAction {
  return {
    type: 'change_key_limit',
    license_id: id,
    key_id: successorOrSelf(known).id,
    activation_limit: known.used + 1,
  };
}

function endOf(known: KeyWithSuccessor | undefined, license: License, now: Date): EndedKey {
  const { key, successor } = known ?? {};
  return {
    ended_at: timeOf(key?.endsAt),
    successor: successor
      ? { key_id: successor.id, key_hint: successor.keyHint, ended: !isKeyActive(successor, now) }
      : null,
    is_known: known !== undefined,
    license_status: liveStatus(license, now),
  };
}

/** @returns null if no key would help */
function replacement(known: KeyWithSuccessor | undefined, license: License, now: Date): RemedyAction | null {
  if (liveStatus(license, now) !== 'active') return null;
  const { successor } = known ?? {};
  if (successor && isKeyActive(successor, now)) return giveKey(license, successor);
  return { type: 'add_key', license_id: license.id };
}

function giveKey({ id, mainKeyId }: License, successor: LicenseKey): RemedyAction {
  return {
    type: 'reveal',
    license_id: id,
    ...(successor.id === mainKeyId ? {} : { key_id: successor.id }),
  };
}
