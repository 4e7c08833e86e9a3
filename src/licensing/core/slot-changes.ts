import { activationKey, type Activation, type SitePair } from '../../store/activations';
import type { EventAction, LicenseEvent } from '../../store/events';
import type { FoundActivation } from '../../store/license-lookup';
import type { LicenseTerms } from '../../store/licenses';
import type { Found, Named, Placing } from './lookup';
import { mostFree, placeSite, siteOf } from '../staging-sites';
import { formatTimestampOrNull } from '../timestamps';
import { tokenEnd } from '../token-claims';
import {
  asShown,
  byKey,
  judgeActivation,
  judgeDeactivation,
  judgeFile,
  judgeOverride,
  type Refusal,
} from './verdict';

/** What a batch of claims changes in the slots of its licences. Pure: the ledger looks up before and writes after. */

export type Verb = 'activate' | 'deactivate' | 'override' | 'hold';

export interface Claim extends Named {
  identifier: string;
  /** the client's address; undefined for the operator */
  ip?: string;
  actor: string;
  now: Date;
  /** the operator's deactivation: what is held goes too */
  evenHeld?: boolean;
  /** of a file, for which an activation is held: how many days it counts */
  days?: number;
}

export interface Activated {
  license: LicenseTerms;
  /** normalised */
  identifier: string;
  /** after this call */
  activationsUsed: number;
  /** whether the identifier was activated before */
  repeated: boolean;
  /** when the key that it came by ends; null: never */
  keyEndsAt: Date | null;
  /** of the file for which it is held */
  file?: { madeAt: Date; endsAt: Date };
}

export type Outcome = Activated | Refusal;

type Pair = Pick<Activation, 'licenseId' | 'identifier'>;

/** The differences between the stored rows and what a batch leaves. */
export interface SlotChanges {
  removed: Pair[];
  added: Activation[];
  renamed: (Pair & Pick<Activation, 'name'>)[];
  /** activations that stay and give their slots back */
  freed: Pair[];
  /** activations that cannot be given back until a time */
  held: (Pair & Pick<Activation, 'heldUntil'>)[];
  /** slots taken within the limit, by licence id */
  taken: Map<number, number>;
  /** slots freed (negative), taken by the operator whatever the limit, or neither (0), by licence id */
  moved: Map<number, number>;
  /** the number of events of each licence, all of which are in `taken` or `moved` */
  counts: Map<number, number>;
  events: LicenseEvent[];
}

/** The guards of each verb. @returns undefined when the claim may be carried out */
export const JUDGES: Record<Verb, (found: Found | undefined, now: Date) => Refusal | undefined> = {
  activate: judgeActivation,
  deactivate: judgeDeactivation,
  override: judgeOverride,
  hold: judgeFile,
};

/** The outcome of a claim that passed its guards and changes nothing; undefined when it changes something. */
export function unchanged(verb: Verb, { name }: Claim, found: Found): Activated | undefined {
  const { activation } = found;
  if (verb === 'deactivate' || verb === 'hold' || activation === undefined) return undefined;
  return name === undefined || name === activation.name ? toActivated(found) : undefined;
}

/** @param taken slots that the claim takes of the licence and of its key; negative: gives back */
function toActivated(found: Found, taken = { ofLicense: 0, ofKey: 0 }): Activated {
  const license = asShown(found);
  const moved = found.key.limit === undefined ? taken.ofLicense : taken.ofKey;
  return {
    license,
    // The guards refuse a request without a valid identifier.
    identifier: found.identifier as string,
    activationsUsed: Math.max(0, license.activationsUsed + moved),
    repeated: found.activation !== undefined,
    keyEndsAt: found.key.endsAt,
  };
}

export interface FoundClaim {
  claim: Claim & { verb: Verb };
  found: Found | undefined;
}

/** The registrable domains with sites that the claims may free, or remove together with the site that carries them. */
export function concernedSites(claims: FoundClaim[]): SitePair[] {
  const pairs = claims.flatMap(({ claim, found }): SitePair[] => {
    if (found?.identifier === undefined) return [];
    const { license, identifier, activation } = found;
    // An earlier claim of the batch may activate what a later one deactivates.
    const isConcerned = claim.verb === 'deactivate' || (activation === undefined && license.plan.freeStaging);
    const site = isConcerned && (activation?.site ?? siteOf(license.plan.activationType, identifier));
    return site ? [{ licenseId: license.id, site }] : [];
  });
  return [...new Map(pairs.map((pair) => [`${pair.licenseId} ${pair.site}`, pair])).values()];
}

/** What is stored around the claims. */
export interface Surroundings {
  /** the activations of the concerned sites */
  neighbours: Activation[];
  /** the number of activations without a slot, by licence id */
  free: Map<number, number>;
}

/** An identifier of a licence: whether and how it is activated, as stored and as the batch leaves it. */
interface Place extends Pair {
  stored: FoundActivation | undefined;
  current: (FoundActivation & { added?: Pick<Activation, 'ip' | 'activatedAt'> }) | undefined;
}

/**
 * Judges each claim on the state that the earlier ones leave.
 * @param claims with what was looked up for each, details included, under the locks of all the licences
 * @returns the outcomes, in the order of the claims
 */
export function judgeClaims(
  claims: FoundClaim[],
  { neighbours, free: storedFree }: Surroundings,
): { outcomes: Outcome[]; changes: SlotChanges } {
  const slots = new Map<number, number>();
  const slotsOfKeys = new Map<number | null, number>();
  const free = new Map(storedFree);
  const places = new Map<string, Place>();
  const unbounded = new Set<number>();
  const events: LicenseEvent[] = [];
  for (const activation of neighbours) placeOf(activation, activation);

  const outcomes = claims.map(({ claim, found }): Outcome => {
    const place =
      found?.identifier === undefined
        ? undefined
        : placeOf({ licenseId: found.license.id, identifier: found.identifier }, found.activation);
    const now = found && asItStands(found, place);
    const placing = now && place && placingOf(now, place);
    const heldUntil =
      claim.verb === 'deactivate' && !claim.evenHeld && place ? latestHold(goingWith(place)) : undefined;
    const refusal = JUDGES[claim.verb](
      now && { ...now, placing: placing && countsOf(placing, now), heldUntil },
      claim.now,
    );
    return refusal ? byKey(refusal, found) : carryOut(claim, now as Found, place as Place, placing);
  });

  function placeOf({ licenseId, identifier }: Pair, stored: FoundActivation | undefined): Place {
    const key = activationKey({ licenseId, identifier });
    const place = places.get(key) ?? { licenseId, identifier, stored, current: stored };
    places.set(key, place);
    return place;
  }

  function asItStands({ license, key, ...found }: Found, place: Place | undefined): Found {
    const activationsUsed = Math.max(0, license.activationsUsed + (slots.get(license.id) ?? 0));
    const limit = key.limit && { ...key.limit, used: key.limit.used + (slotsOfKeys.get(key.id) ?? 0) };
    return {
      ...found,
      license: { ...license, activationsUsed },
      key: { ...key, limit },
      activation: place?.current,
    };
  }

  /** How a new identifier is placed where staging sites are free. @returns undefined where every site takes a slot */
  function placingOf({ license, activation }: Found, { identifier }: Place) {
    if (!license.plan.freeStaging || activation !== undefined) return undefined;
    const site = siteOf(license.plan.activationType, identifier);
    const room = mostFree(license.activationLimit) - (free.get(license.id) ?? 0);
    return placeSite(identifier, site, holdersOf(license.id, site), room);
  }

  /** The activated sites of a registrable domain. */
  function sitesOf(licenseId: number, site: string | null | undefined): Place[] {
    if (!site) return [];
    return [...places.values()].filter((one) => one.licenseId === licenseId && one.current?.site === site);
  }

  function holdersOf(licenseId: number, site: string | null | undefined): Place[] {
    return sitesOf(licenseId, site).filter(({ current }) => current?.free === false);
  }

  /** What goes when a site is given back: with the last one that has a slot, the free ones of its registrable domain. */
  function goingWith(place: Place): Place[] {
    const { licenseId, current } = place;
    if (current?.free !== false) return [place];
    const others = sitesOf(licenseId, current.site).filter((one) => one !== place);
    return others.some((one) => one.current?.free === false) ? [place] : [place, ...others];
  }

  function carryOut(
    { verb, ...claim }: Claim & { verb: Verb },
    now: Found,
    place: Place,
    placing: Placed | undefined,
  ): Activated {
    const same = unchanged(verb, claim, now);
    if (same !== undefined) return same;
    const { license, key, activation } = now;
    const { actor, now: at, ip = null } = claim;
    const heldUntil = activation?.heldUntil ?? null;
    const file =
      verb === 'hold'
        ? fileFor({ license, keyEndsAt: key.endsAt }, heldUntil, at, claim.days ?? 0)
        : undefined;
    // A hold only grows.
    if (file && heldUntil !== null && heldUntil >= file.endsAt) return { ...toActivated(now), file };
    slots.set(license.id, slots.get(license.id) ?? 0);
    const name = claim.name ?? null;
    const taken = { ofLicense: 0, ofKey: 0 };
    if (verb === 'override') unbounded.add(license.id);

    /** Counts a slot. @returns the licence's figures for the event */
    const count = (by: -1 | 0 | 1, keyId: number | null | undefined) => {
      const before = license.activationsUsed + taken.ofLicense;
      const moved = Math.max(0, before + by) - before;
      taken.ofLicense += moved;
      if (keyId === key.id) taken.ofKey += by;
      slots.set(license.id, (slots.get(license.id) ?? 0) + moved);
      if (keyId) slotsOfKeys.set(keyId, (slotsOfKeys.get(keyId) ?? 0) + by);
      return [{ activations_used: before }, { activations_used: before + moved }] as const;
    };
    const countFree = (by: -1 | 1) => free.set(license.id, (free.get(license.id) ?? 0) + by);
    const record = (action: EventAction, before: LicenseEvent['before'], after: LicenseEvent['after']) =>
      events.push({ licenseId: license.id, at, actor, action, before, after });
    const remove = (gone: Place) => {
      const { name, keyId, free: wasFree = false } = gone.current as FoundActivation;
      gone.current = undefined;
      const [before, after] = count(wasFree ? 0 : -1, keyId);
      if (wasFree) countFree(-1);
      const { identifier } = gone;
      record('deactivate', { ...before, identifier, name, ...(wasFree && { free: true }) }, after);
    };

    if (verb === 'deactivate') goingWith(place).forEach(remove);
    else if (file !== undefined) {
      const { identifier } = place;
      const held = (until: Date | null) => ({ identifier, held_until: formatTimestampOrNull(until) });
      place.current = { ...place.current, heldUntil: file.endsAt };
      record('hold-activation', held(heldUntil), held(file.endsAt));
      return { ...toActivated(now), file };
    } else if (activation === undefined) {
      for (const staging of placing?.freed ?? []) {
        const { current, identifier } = staging;
        staging.current = { ...current, free: true };
        const [before, after] = count(-1, current?.keyId);
        countFree(1);
        record('free-activation', { ...before, identifier }, { ...after, identifier });
      }
      const isFree = placing?.free ?? false;
      const site = siteOf(license.plan.activationType, place.identifier);
      place.current = { name, keyId: key.id, free: isFree, site, added: { ip, activatedAt: at } };
      const [before, after] = count(isFree ? 0 : 1, key.id);
      if (isFree) countFree(1);
      record('activate', before, {
        ...after,
        identifier: place.identifier,
        name,
        ...(key.id !== null && { key_id: key.id }),
        ...(isFree && { free: true }),
        ...(verb === 'override' && { override: true }),
      });
    } else {
      const { identifier } = place;
      place.current = { ...place.current, name };
      record('rename-activation', { identifier, name: activation.name }, { identifier, name });
    }
    return toActivated(now, taken);
  }

  const all = [...places.values()];
  const moves = [...slots];
  const counts = new Map<number, number>();
  for (const { licenseId } of events) counts.set(licenseId, (counts.get(licenseId) ?? 0) + 1);
  const isBounded = ([licenseId, by]: [number, number]) => by > 0 && !unbounded.has(licenseId);
  const kept = all.flatMap(({ stored, current, ...pair }) =>
    stored && current && !current.added ? { ...pair, stored, current } : [],
  );
  return {
    outcomes,
    changes: {
      removed: all.filter(({ stored, current }) => stored && (!current || current.added)),
      added: all.flatMap(toActivation),
      renamed: kept
        .filter(({ stored, current }) => stored.name !== current.name)
        .map(({ licenseId, identifier, current }) => ({ licenseId, identifier, name: current.name ?? null })),
      freed: kept.filter(({ stored, current }) => stored.free !== current.free),
      held: kept
        .filter(({ stored, current }) => stored.heldUntil?.getTime() !== current.heldUntil?.getTime())
        .map(({ licenseId, identifier, current }) => ({
          ...{ licenseId, identifier },
          heldUntil: current.heldUntil ?? null,
        })),
      taken: new Map(moves.filter(isBounded)),
      moved: new Map(moves.filter((move) => !isBounded(move))),
      counts,
      events,
    },
  };
}

type Placed = ReturnType<typeof placeSite<Place>>;

function countsOf({ free, freed }: Placed, { key }: Found): Placing {
  const ofKey = freed.filter(({ current }) => current?.keyId === key.id);
  return { free, freed: freed.length, freedOfKey: ofKey.length };
}

function toActivation({ licenseId, identifier, current }: Place): Activation[] {
  if (!current?.added) return [];
  const { name = null, keyId = null, free = false, site = null, heldUntil = null, added } = current;
  return [{ licenseId, identifier, name, keyId, free, site, heldUntil, ...added }];
}

function latestHold(places: Place[]): Date | undefined {
  const holds = places.flatMap(({ current }) => current?.heldUntil ?? []);
  return holds.length === 0 ? undefined : new Date(Math.max(...holds.map((until) => until.getTime())));
}

/**
 * When a file is made and ends. One of the same minute is made again, so that its token can be reused: each file would
 * else move the end of the hold, and the licence's history with it.
 */
function fileFor(
  of: Pick<Found, 'license'> & { keyEndsAt: Date | null },
  heldUntil: Date | null,
  now: Date,
  days: number,
): NonNullable<Activated['file']> {
  const endsAt = tokenEnd({ ...of, valid: true }, now, days);
  const minuteOf = (time: Date) => Math.floor(time.getTime() / 60_000);
  const isOfThisMinute =
    heldUntil !== null && heldUntil > now && heldUntil < endsAt && minuteOf(heldUntil) === minuteOf(endsAt);
  if (!isOfThisMinute) return { madeAt: now, endsAt };
  return { madeAt: new Date(now.getTime() - (endsAt.getTime() - heldUntil.getTime())), endsAt: heldUntil };
}
