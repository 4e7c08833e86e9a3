import { activationKey, type Activation } from '../store/activations';
import type { LicenseEvent } from '../store/events';
import type { LabelledActivation } from '../store/license-lookup';
import type { LicenseTerms } from '../store/licenses';
import type { Found, Named } from './lookup';
import { judgeActivation, judgeDeactivation, judgeOverride, type Refusal } from './verdict';

/** What a batch of claims changes in the slots of its licences. Pure: the ledger looks up before and writes after. */

export type Verb = 'activate' | 'deactivate' | 'override';

export interface Claim extends Named {
  identifier: string;
  /** the client's address; undefined for the operator */
  ip?: string;
  actor: string;
  now: Date;
}

export interface Activated {
  license: LicenseTerms;
  /** normalised */
  identifier: string;
  /** after this call */
  activationsUsed: number;
  /** whether the identifier was activated before */
  repeated: boolean;
}

export type Outcome = Activated | Refusal;

/** The differences between the stored rows and what a batch leaves. */
export interface SlotChanges {
  removed: Pick<Activation, 'licenseId' | 'identifier'>[];
  added: Activation[];
  renamed: Pick<Activation, 'licenseId' | 'identifier' | 'name'>[];
  /** slots taken within the limit, by licence id */
  taken: Map<number, number>;
  /** slots freed (negative) or taken by the operator whatever the limit, by licence id */
  moved: Map<number, number>;
  events: LicenseEvent[];
}

/** The guards of each verb. @returns undefined when the claim may be carried out */
export const JUDGES: Record<Verb, (found: Found | undefined, now: Date) => Refusal | undefined> = {
  activate: judgeActivation,
  deactivate: judgeDeactivation,
  override: judgeOverride,
};

/** The outcome of a claim that passed its guards and changes nothing; undefined when it changes something. */
export function unchanged(verb: Verb, { name }: Claim, found: Found): Activated | undefined {
  const { activation } = found;
  if (verb === 'deactivate' || activation === undefined) return undefined;
  return name === undefined || name === activation.name ? toActivated(found, 0) : undefined;
}

function toActivated({ license, identifier }: Found, moved: -1 | 0 | 1): Activated {
  return {
    license,
    // The guards refuse a request without a valid identifier.
    identifier: identifier as string,
    activationsUsed: Math.max(0, license.activationsUsed + moved),
    repeated: moved === 0,
  };
}

/** An identifier of a licence: whether and how it is activated, as stored and as the batch leaves it. */
interface Place {
  licenseId: number;
  identifier: string;
  stored: LabelledActivation | undefined;
  current: (LabelledActivation & { inserted?: Activation }) | undefined;
}

/**
 * Judges each claim on the state that the earlier ones leave.
 * @param claims with what was looked up for each, labels included, under the locks of all the licences
 * @returns the outcomes, in the order of the claims
 */
export function judgeClaims(claims: { claim: Claim & { verb: Verb }; found: Found | undefined }[]): {
  outcomes: Outcome[];
  changes: SlotChanges;
} {
  const slots = new Map<number, number>();
  const places = new Map<string, Place>();
  const unbounded = new Set<number>();
  const events: LicenseEvent[] = [];

  const outcomes = claims.map(({ claim, found }): Outcome => {
    const place = found && placeOf(found);
    const now = found && asItStands(found, place);
    const refusal = JUDGES[claim.verb](now, claim.now);
    return refusal ?? carryOut(claim, now as Found, place as Place);
  });

  function placeOf({ license, identifier, activation }: Found): Place | undefined {
    if (identifier === undefined) return undefined;
    const key = activationKey({ licenseId: license.id, identifier });
    const place = places.get(key) ?? {
      licenseId: license.id,
      identifier,
      stored: activation,
      current: activation,
    };
    places.set(key, place);
    return place;
  }

  function asItStands({ license, ...found }: Found, place: Place | undefined): Found {
    const activationsUsed = Math.max(0, license.activationsUsed + (slots.get(license.id) ?? 0));
    return { ...found, license: { ...license, activationsUsed }, activation: place?.current };
  }

  function carryOut({ verb, ...claim }: Claim & { verb: Verb }, now: Found, place: Place): Activated {
    const same = unchanged(verb, claim, now);
    if (same !== undefined) return same;
    const { license, activation } = now;
    const { id: licenseId, activationsUsed: used } = license;
    const { actor, now: at, ip = null } = claim;
    const outcome = toActivated(now, verb === 'deactivate' ? -1 : activation === undefined ? 1 : 0);
    const { identifier, activationsUsed } = outcome;
    const record = (
      action: LicenseEvent['action'],
      before: LicenseEvent['before'],
      after: LicenseEvent['after'],
    ) => events.push({ licenseId, at, actor, action, before, after });
    slots.set(licenseId, (slots.get(licenseId) ?? 0) + activationsUsed - used);
    if (verb === 'override') unbounded.add(licenseId);

    const name = claim.name ?? null;
    if (verb === 'deactivate') {
      place.current = undefined;
      record(
        'deactivate',
        { activations_used: used, identifier, name: activation?.name },
        { activations_used: activationsUsed },
      );
    } else if (activation === undefined) {
      place.current = { name, inserted: { licenseId, identifier, name, ip, activatedAt: at } };
      const after = { activations_used: activationsUsed, identifier, name };
      record(
        'activate',
        { activations_used: used },
        verb === 'override' ? { ...after, override: true } : after,
      );
    } else {
      const inserted = place.current?.inserted;
      place.current = { name, ...(inserted && { inserted: { ...inserted, name } }) };
      record('rename-activation', { identifier, name: activation.name }, { identifier, name });
    }
    return outcome;
  }

  const all = [...places.values()];
  const moves = [...slots].filter(([, by]) => by !== 0);
  const isBounded = ([licenseId, by]: [number, number]) => by > 0 && !unbounded.has(licenseId);
  return {
    outcomes,
    changes: {
      removed: all.filter(({ stored, current }) => stored && (!current || current.inserted)),
      added: all.flatMap(({ current }) => current?.inserted ?? []),
      renamed: all.flatMap(({ licenseId, identifier, stored, current }) =>
        stored && current && !current.inserted && stored.name !== current.name
          ? { licenseId, identifier, name: current.name ?? null }
          : [],
      ),
      taken: new Map(moves.filter(isBounded)),
      moved: new Map(moves.filter((move) => !isBounded(move))),
      events,
    },
  };
}
