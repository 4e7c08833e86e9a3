import { formatTimestampOrNull } from '../../base/days';
import type { Activation, SitePair } from '../../store/licenses/activations';
import type { EventAction, LicenseEvent } from '../../store/events';
import type { ActivationTerms } from '../../store/licenses/license-lookup';
import type { LicenseTerms } from '../../store/licenses/licenses';
import type { LicenseMatch, LookupQuery, SlotCost } from './lookup';
import { maxFreeSites, classifySite, siteOf, type Placement } from './staging-sites';
import { tokenExpiry } from './token-claims';
import {
  licenseAsSeenByKey,
  refusalWithKey,
  judgeActivation,
  judgeDeactivation,
  judgeFile,
  judgeOverride,
  type Refusal,
} from './verdict';

/** Decides how claims change the slots of licences, without I/O: the ledger reads before it and writes after it. */

export type SlotCommand = 'activate' | 'deactivate' | 'override' | 'hold';

export interface SlotRequest extends LookupQuery {
  identifier: string;
  /** the client's address; undefined for the operator */
  ip?: string;
  actor: string;
  now: Date;
  /** true for an operator's deactivation, which also removes held activations */
  evenHeld?: boolean;
  /** the days that an offline file is valid; its activation is held until then */
  days?: number;
}

/** The answer to a claim that was carried out. */
export interface SlotResult {
  license: LicenseTerms;
  /** normalised */
  identifier: string;
  /** the licence's used slots after this call */
  activationsUsed: number;
  /** whether the identifier was already activated before */
  repeated: boolean;
  /** the end of the key in the request; null if it never ends */
  keyEndsAt: Date | null;
  /** the times of the offline file for which the activation is held */
  file?: FileTimes;
}

interface FileTimes {
  madeAt: Date;
  endsAt: Date;
}

type Pair = Pick<Activation, 'licenseId' | 'identifier'>;

/** The differences between the stored rows and the state after a batch. */
export interface SlotChanges {
  removed: Pair[];
  added: Activation[];
  renamed: (Pair & Pick<Activation, 'name'>)[];
  /** activations that remain and give their slots back */
  freed: Pair[];
  /** activations that cannot be removed until a given time */
  held: (Pair & Pick<Activation, 'heldUntil'>)[];
  /** slots taken within the limit, by licence id */
  taken: Map<number, number>;
  /** slots freed (negative), taken by the operator regardless of the limit, or neither (0), by licence id */
  moved: Map<number, number>;
  /** the number of events of each licence in `taken` or `moved` */
  counts: Map<number, number>;
  events: LicenseEvent[];
}

/** The guards of each verb. @returns undefined if the claim may be carried out */
export const SLOT_JUDGES: Record<
  SlotCommand,
  (found: LicenseMatch | undefined, now: Date) => Refusal | undefined
> = {
  activate: judgeActivation,
  deactivate: judgeDeactivation,
  override: judgeOverride,
  hold: judgeFile,
};

/** Returns the answer to a claim that passed its guards and changes nothing; undefined if it changes something. */
export function unchangedResult(
  verb: SlotCommand,
  { name }: SlotRequest,
  found: LicenseMatch,
): SlotResult | undefined {
  const { activation } = found;
  if (verb === 'deactivate' || verb === 'hold' || activation === undefined) return undefined;
  return name === undefined || name === activation.name ? toAnswer(found) : undefined;
}

/** @param after the licence and key after the claim; by default the claim changed no slots */
function toAnswer(found: LicenseMatch, after: Pick<LicenseMatch, 'license' | 'key'> = found): SlotResult {
  return {
    license: licenseAsSeenByKey(found),
    // An identifier exists, because the guards refuse a request without a valid one.
    identifier: found.identifier as string,
    activationsUsed: licenseAsSeenByKey(after).activationsUsed,
    repeated: found.activation !== undefined,
    keyEndsAt: found.key.endsAt,
  };
}

/** A claim with the licence that was looked up for it, details included. */
export interface MatchedRequest {
  claim: SlotRequest & { verb: SlotCommand };
  found: LicenseMatch | undefined;
}

/** Lists the domains whose sites the claims may free, or remove together with the last site that has a slot. */
export function affectedSites(claims: MatchedRequest[]): SitePair[] {
  const pairs = claims.flatMap(({ claim, found }): SitePair[] => {
    if (found?.identifier === undefined) return [];
    const { license, identifier, activation } = found;
    // Include each deactivation, because an earlier claim of the batch may activate its identifier.
    const isConcerned = claim.verb === 'deactivate' || (activation === undefined && license.plan.freeStaging);
    const site = isConcerned && (activation?.site ?? siteOf(license.plan.activationType, identifier));
    return site ? [{ licenseId: license.id, site }] : [];
  });
  return [...new Map(pairs.map((pair) => [`${pair.licenseId} ${pair.site}`, pair])).values()];
}

/** The stored rows that a decision needs in addition to the claims. */
export interface LockedSlotState {
  /** the activations of the domains that `affectedSites` lists */
  neighbours: Activation[];
  /** the number of activations without a slot, by licence id */
  free: Map<number, number>;
}

/**
 * Judges the claims in order, each by the state that the earlier ones leave.
 * @param claims looked up under the row locks of all the licences
 * @returns the answers, in the order of the claims
 */
export function judgeSlotRequests(
  claims: MatchedRequest[],
  stored: LockedSlotState,
): { answers: (SlotResult | Refusal)[]; changes: SlotChanges } {
  const batch: Batch = { stored, licenses: new Map(), events: [] };
  const answers = claims.map((claim) => judgeClaim(batch, claim));
  return { answers, changes: changesOf(batch) };
}

/** The state of a batch after the claims that are judged so far. */
interface Batch {
  stored: LockedSlotState;
  licenses: Map<number, LicenseSlots>;
  /** in the order of the claims */
  events: LicenseEvent[];
}

interface LicenseSlots {
  licenseId: number;
  /** keyed by identifier */
  places: Map<string, Place>;
  storedUsed: number;
  used: number;
  /** slots taken since the batch began, by key id; negative if given back */
  takenByKey: Map<number | null, number>;
  /** the number of activations without a slot */
  free: number;
  /** true if the operator took a slot regardless of the limit */
  isOverridden: boolean;
  events: number;
}

/** An identifier of a licence with its activation: as it is stored, and after the claims that are judged so far. */
interface Place extends Pair {
  stored: ActivationTerms | undefined;
  current: (ActivationTerms & { added?: Pick<Activation, 'ip' | 'activatedAt'> }) | undefined;
}

function slotsOf({ stored, licenses }: Batch, { id, activationsUsed }: LicenseTerms): LicenseSlots {
  const known = licenses.get(id);
  if (known !== undefined) return known;
  const slots: LicenseSlots = {
    licenseId: id,
    places: new Map(),
    storedUsed: activationsUsed,
    used: activationsUsed,
    takenByKey: new Map(),
    free: stored.free.get(id) ?? 0,
    isOverridden: false,
    events: 0,
  };
  for (const one of stored.neighbours) if (one.licenseId === id) placeOf(slots, one.identifier, one);
  licenses.set(id, slots);
  return slots;
}

function placeOf(
  { licenseId, places }: LicenseSlots,
  identifier: string,
  stored: ActivationTerms | undefined,
): Place {
  const place = places.get(identifier) ?? { licenseId, identifier, stored, current: stored };
  places.set(identifier, place);
  return place;
}

function judgeClaim(batch: Batch, { claim, found }: MatchedRequest): SlotResult | Refusal {
  const judge = SLOT_JUDGES[claim.verb];
  if (found === undefined) return judge(found, claim.now) as Refusal;
  const slots = slotsOf(batch, found.license);
  const { identifier } = found;
  const place = identifier === undefined ? undefined : placeOf(slots, identifier, found.activation);
  const now = { ...found, ...figuresOf(slots, found), activation: place?.current };
  const placement = place && findPlacement(slots, place, now);
  const cost = placement && costOf(placement, now.key.id);
  const isForClient = claim.verb === 'deactivate' && !claim.evenHeld;
  const heldUntil = isForClient && place ? latestHold(companionsOf(slots, place)) : undefined;
  const refusal = judge({ ...now, cost, heldUntil }, claim.now);
  // `place` is defined, because the guards refuse a claim without a valid identifier.
  return refusal
    ? refusalWithKey(refusal, found)
    : carryOut({ batch, slots, claim, found, now, place: place as Place, placement });
}

/** Returns the licence and its key with the slots that they use after the claims so far. */
function figuresOf(
  { used, takenByKey }: LicenseSlots,
  { license, key }: LicenseMatch,
): Pick<LicenseMatch, 'license' | 'key'> {
  const limit = key.limit && { ...key.limit, used: key.limit.used + (takenByKey.get(key.id) ?? 0) };
  return { license: { ...license, activationsUsed: used }, key: { ...key, limit } };
}

/** Decides whether a new identifier takes a slot. @returns undefined if the plan has no free staging: every site does */
function findPlacement(
  slots: LicenseSlots,
  { identifier }: Place,
  { license, activation }: LicenseMatch,
): Placement<Place> | undefined {
  if (!license.plan.freeStaging || activation !== undefined) return undefined;
  const site = siteOf(license.plan.activationType, identifier);
  const holders = placesOfSite(slots, site).filter(({ current }) => current?.free === false);
  return classifySite(identifier, site, holders, maxFreeSites(license.activationLimit) - slots.free);
}

function costOf({ free, freed }: Placement<Place>, keyId: number | null): SlotCost {
  const freedOfKey = freed.filter(({ current }) => current?.keyId === keyId).length;
  return { free, freed: freed.length, freedOfKey };
}

/** Lists the activated sites of a registrable domain. */
function placesOfSite({ places }: LicenseSlots, site: string | null | undefined): Place[] {
  return site ? [...places.values()].filter(({ current }) => current?.site === site) : [];
}

/** Lists the sites that a deactivation removes: the site and its followers. */
function companionsOf(slots: LicenseSlots, place: Place): Place[] {
  const ofDomain = placesOfSite(slots, place.current?.site);
  return [place, ...followersOf(place, ofDomain, ({ current }) => current?.free === true)];
}

/** Lists the sites that go with a site: the free ones of its domain, if it is the last one with a slot. */
export function followersOf<T>(site: T, ofDomain: T[], isFree: (site: T) => boolean): T[] {
  const others = ofDomain.filter((one) => one !== site);
  return !isFree(site) && others.every(isFree) ? others : [];
}

function latestHold(places: Place[]): Date | undefined {
  const holds = places.flatMap(({ current }) => current?.heldUntil ?? []);
  return holds.length === 0 ? undefined : new Date(Math.max(...holds.map((until) => until.getTime())));
}

/** A claim that passed its guards, with everything that carrying it out needs. */
interface Change {
  batch: Batch;
  slots: LicenseSlots;
  claim: SlotRequest & { verb: SlotCommand };
  /** the licence in its stored state */
  found: LicenseMatch;
  /** the licence after the earlier claims */
  now: LicenseMatch;
  place: Place;
  placement: Placement<Place> | undefined;
}

function carryOut(change: Change): SlotResult {
  const { slots, claim, found, now, place } = change;
  const same = unchangedResult(claim.verb, claim, now);
  if (same !== undefined) return same;
  if (claim.verb === 'hold') return { ...toAnswer(now), file: hold(change) };
  if (claim.verb === 'override') slots.isOverridden = true;
  if (claim.verb === 'deactivate') for (const one of companionsOf(slots, place)) remove(change, one);
  else if (now.activation !== undefined) rename(change);
  else {
    for (const one of change.placement?.freed ?? []) returnSlot(change, one);
    add(change);
  }
  return toAnswer(now, figuresOf(slots, found));
}

function remove(change: Change, place: Place): void {
  const { name, keyId = null, free: wasFree = false } = place.current as ActivationTerms;
  const { identifier } = place;
  place.current = undefined;
  if (wasFree) change.slots.free--;
  const [before, after] = countSlot(change.slots, wasFree ? 0 : -1, keyId);
  record(change, 'deactivate', { ...before, identifier, name, ...(wasFree && { free: true }) }, after);
}

/** Gives a staging site's slot back after its production site was activated. */
function returnSlot(change: Change, place: Place): void {
  const { current, identifier } = place;
  place.current = { ...current, free: true };
  change.slots.free++;
  const [before, after] = countSlot(change.slots, -1, current?.keyId ?? null);
  record(change, 'free-activation', { ...before, identifier }, { ...after, identifier });
}

function add(change: Change): void {
  const { slots, claim, now, place, placement } = change;
  const { license, key } = now;
  const { identifier } = place;
  const name = claim.name ?? null;
  const isFree = placement?.free ?? false;
  place.current = {
    name,
    keyId: key.id,
    free: isFree,
    site: siteOf(license.plan.activationType, identifier),
    added: { ip: claim.ip ?? null, activatedAt: claim.now },
  };
  if (isFree) slots.free++;
  const [before, after] = countSlot(slots, isFree ? 0 : 1, key.id);
  record(change, 'activate', before, {
    ...after,
    identifier,
    name,
    ...(key.id !== null && { key_id: key.id }),
    ...(isFree && { free: true }),
    ...(claim.verb === 'override' && { override: true }),
  });
}

function rename(change: Change): void {
  const { claim, now, place } = change;
  const { identifier } = place;
  const name = claim.name ?? null;
  place.current = { ...place.current, name };
  record(change, 'rename-activation', { identifier, name: now.activation?.name }, { identifier, name });
}

/** Holds an activation until its file ends. A hold is never shortened. @returns the times of the file */
function hold(change: Change): FileTimes {
  const { claim, now, place } = change;
  const { identifier } = place;
  const heldUntil = now.activation?.heldUntil ?? null;
  const file = timesOfFile(now, heldUntil, claim);
  if (heldUntil !== null && heldUntil >= file.endsAt) return file;
  place.current = { ...place.current, heldUntil: file.endsAt };
  const held = (until: Date | null) => ({ identifier, held_until: formatTimestampOrNull(until) });
  record(change, 'hold-activation', held(heldUntil), held(file.endsAt));
  return file;
}

/**
 * Returns the times of an offline file. If a file of the same minute exists, its times are returned, so that its token
 * can be reused: otherwise each file would move the end of the hold and add to the licence's history.
 */
function timesOfFile(
  { license, key }: LicenseMatch,
  heldUntil: Date | null,
  { now, days = 0 }: SlotRequest,
): FileTimes {
  const endsAt = tokenExpiry({ license, keyEndsAt: key.endsAt, valid: true }, now, days);
  const minuteOf = (time: Date) => Math.floor(time.getTime() / 60_000);
  const isOfThisMinute =
    heldUntil !== null && heldUntil > now && heldUntil < endsAt && minuteOf(heldUntil) === minuteOf(endsAt);
  if (!isOfThisMinute) return { madeAt: now, endsAt };
  return { madeAt: new Date(now.getTime() - (endsAt.getTime() - heldUntil.getTime())), endsAt: heldUntil };
}

/**
 * Counts one slot of the licence and its key as taken (1) or given back (-1), or none (0).
 * @returns the licence's figures before and after, for its history
 */
function countSlot(slots: LicenseSlots, by: -1 | 0 | 1, keyId: number | null) {
  const before = slots.used;
  slots.used = Math.max(0, before + by);
  slots.takenByKey.set(keyId, (slots.takenByKey.get(keyId) ?? 0) + by);
  return [{ activations_used: before }, { activations_used: slots.used }] as const;
}

function record(
  { batch, slots, claim: { now: at, actor } }: Change,
  action: EventAction,
  before: LicenseEvent['before'],
  after: LicenseEvent['after'],
): void {
  slots.events++;
  batch.events.push({ licenseId: slots.licenseId, at, actor, action, before, after });
}

function changesOf({ licenses, events }: Batch): SlotChanges {
  const all = [...licenses.values()];
  const places = all.flatMap((slots) => [...slots.places.values()]);
  const kept = places.flatMap(({ stored, current, ...pair }) =>
    stored && current && !current.added ? { ...pair, stored, current } : [],
  );
  const changed = all.filter((slots) => slots.events > 0);
  const takenBy = ({ used, storedUsed }: LicenseSlots) => used - storedUsed;
  const isBounded = (slots: LicenseSlots) => takenBy(slots) > 0 && !slots.isOverridden;
  const byLicense = (some: LicenseSlots[], value: (slots: LicenseSlots) => number) =>
    new Map(some.map((slots) => [slots.licenseId, value(slots)]));
  return {
    removed: places.filter(({ stored, current }) => stored && (!current || current.added)),
    added: places.flatMap(toActivation),
    renamed: kept
      .filter(({ stored, current }) => stored.name !== current.name)
      .map(({ licenseId, identifier, current }) => ({ licenseId, identifier, name: current.name ?? null })),
    freed: kept.filter(({ stored, current }) => stored.free !== current.free),
    held: kept
      .filter(({ stored, current }) => stored.heldUntil?.getTime() !== current.heldUntil?.getTime())
      .map(({ licenseId, identifier, current: { heldUntil = null } }) => ({
        licenseId,
        identifier,
        heldUntil,
      })),
    taken: byLicense(changed.filter(isBounded), takenBy),
    moved: byLicense(
      changed.filter((slots) => !isBounded(slots)),
      takenBy,
    ),
    counts: byLicense(changed, (slots) => slots.events),
    events,
  };
}

function toActivation({ licenseId, identifier, current }: Place): Activation[] {
  if (!current?.added) return [];
  const { name = null, keyId = null, free = false, site = null, heldUntil = null, added } = current;
  return [{ licenseId, identifier, name, keyId, free, site, heldUntil, ...added }];
}
