import { isOpen } from '../licensing/license-keys';
import { liveStatus } from '../licensing/states';
import type { LicenseKey } from '../store/license-keys';
import type { License } from '../store/licenses';
import { day } from './explain-license';
import type { Cause, Finding, KeyFacts } from './findings';

/** Explains to support what became of one of a licence's keys, and what its own limit refused. Pure functions. */

/** Such as `key 34 ("Bakery Smith")`. */
export function nameKey({ id, label }: Pick<LicenseKey, 'id' | 'label'>): string {
  return `key ${id}${label === null ? '' : ` ("${label}")`}`;
}

/** The key that counts: the one in its place, for a key that was replaced. */
export function effective({ key, successor }: KeyFacts): LicenseKey {
  return successor ?? key;
}

/** Why a request by an ended key was refused. @param facts undefined: the log does not name the key */
export function endedKeyCause(facts: KeyFacts | undefined, license: License, now: Date): Cause {
  const because = facts ? `the key ${endOf(facts, now)}` : 'the key has ended';
  const code = facts?.successor ? 'KEY_REPLACED' : 'KEY_ENDED';
  const status = liveStatus(license, now);
  const also = status === 'active' ? '' : `; the licence is ${status} now`;
  return { code, because: because + also, remedy: remedyOf(facts, license, now) };
}

/** What is to be said of the key that was asked about. Nothing for one that opens its licence like the main key. */
export function explainAskedKey(
  facts: KeyFacts,
  license: License,
  { what, now }: { what: string; now: Date },
): Finding[] {
  const { key, successor, used } = facts;
  const { id, activationLimit: slots, endsAt } = effective(facts);
  if (!isOpen(key, now))
    return [
      {
        code: successor ? 'KEY_REPLACED' : 'KEY_ENDED',
        text: `${what} ${endOf(facts, now)}.`,
        remedy: remedyOf(facts, license, now),
      },
    ];
  const findings: Finding[] = [];
  if (successor)
    findings.push({
      code: 'KEY_ENDS',
      text: `${what} ends on ${day(key.endsAt as Date)}; another took its place${endsIn(successor)}.`,
      remedy: giveKey(license, successor),
    });
  else if (endsAt !== null)
    findings.push({
      code: 'KEY_ENDS',
      text: `${what} is ${nameKey(key)} of licence ${license.id}, and ends on ${day(endsAt)}.`,
      remedy: null,
    });
  if (slots !== null)
    findings.push(
      used >= slots
        ? {
            code: 'KEY_SLOTS_FULL',
            text: `${limitReached(facts)}. By this key nothing more can be activated.`,
            remedy: freeSlotOfKey(license, facts),
          }
        : {
            code: 'KEY_SLOTS',
            text: `Of ${nameKey({ ...key, id })}, ${used} of ${slots} slots are used.`,
            remedy: null,
          },
    );
  return findings;
}

/** Why an activation by a key with a limit of its own was refused, when the limit of the licence is not reached. */
export function keyFullCause(facts: KeyFacts, license: License): Cause {
  return {
    code: 'KEY_SLOTS_FULL',
    because: `${uncapitalized(limitReached(facts))}, while the licence uses ${license.activationsUsed} of ${license.activationLimit || 'unlimited'}`,
    remedy: freeSlotOfKey(license, facts),
  };
}

/** A limited key's own use, as a further clause; empty for other keys. */
export function useOfKey(facts: KeyFacts | undefined): string {
  if (facts === undefined || effective(facts).activationLimit === null) return '';
  return `; of ${nameKey(effective(facts))}, ${facts.used} of ${effective(facts).activationLimit} slots are used`;
}

/** As the beginning of a sentence. */
function limitReached(facts: KeyFacts): string {
  const key = effective(facts);
  const all = key.activationLimit === 1 ? 'The one slot' : `All ${key.activationLimit} slots`;
  return `${all} of ${nameKey(key)} ${key.activationLimit === 1 ? 'is' : 'are'} in use (${facts.used})`;
}

function freeSlotOfKey({ id }: License, facts: KeyFacts): string {
  const key = effective(facts);
  const { used } = facts;
  const over = used - (key.activationLimit ?? used);
  return `licensing activation list ${id}, then "licensing activation remove ${id} IDENTIFIER"${over > 0 ? ` (${over + 1} of them)` : ''}; or licensing license key edit ${id} ${key.id} --limit ${used + 1}`;
}

function endOf({ key, successor }: KeyFacts, now: Date): string {
  const ended = `ended${key.endsAt ? ` on ${day(key.endsAt)}` : ''}`;
  if (successor === undefined) return `${ended}, and no other took its place`;
  const also = isOpen(successor, now) ? '' : `, and has ended too`;
  return `${ended}; another took its place${endsIn(successor)}${also}`;
}

function endsIn({ keyHint }: LicenseKey): string {
  return keyHint === null ? '' : `, which ends in ${keyHint}`;
}

/** @returns null when no key would help */
function remedyOf(facts: KeyFacts | undefined, license: License, now: Date): string | null {
  if (liveStatus(license, now) !== 'active') return null;
  const { successor } = facts ?? {};
  if (successor && isOpen(successor, now)) return giveKey(license, successor);
  return `If the customer may go on, they need another key: licensing license key add ${license.id}`;
}

function giveKey({ id, mainKeyId }: License, successor: LicenseKey): string {
  return `The customer needs the new key: licensing license reveal ${id}${successor.id === mainKeyId ? '' : ` --key-id ${successor.id}`}`;
}

function uncapitalized(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
