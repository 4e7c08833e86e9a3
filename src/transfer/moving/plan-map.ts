import { addPlan, addProduct } from '../../licensing/catalogue';
import { DURATION } from '../../licensing/durations';
import { countOf } from '../../base/count-of';
import { listProducts, PLAN_DEFAULTS, type Plan } from '../../store/catalogue';
import { MAX_UINT32 } from '../../licensing/core/columns';
import type { Transaction } from '../../store/engine/database';
import { labelOf } from '../cells';
import { importError, type ImportErrorCode } from '../refusals';
import type { SourceLicense, SourcePlan } from './source';
import { commonest, noteUsual, noUsual, type Usual } from './usual';

/** A plan to create here. A missing value is the most common value of its licences. */
export interface PlanToCreate {
  /** the maximum number of sites; 0 for any number */
  limit?: number | undefined;
  /** null if it never ends */
  duration?: string | null | undefined;
  name?: string | undefined;
}

/** The plan map: a source's plans by key, each with our plan's id, a plan to create, or null to leave its licences out. */
export type PlanMap = Map<string, number | null | PlanToCreate>;

/** The sign between the keys of combined plans, whose customers get one plan here. */
const TOGETHER = '+';

const LIFETIME = 'lifetime';
const LIMIT = String.raw`\d{0,10}`;
const PERIOD = `${LIFETIME}|${DURATION.source.slice(1, -1)}|`;
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const MADE = new RegExp(
  String.raw`^new(?::(?<limit>${LIMIT})(?::(?<duration>${PERIOD})(?::(?<name>${QUOTED}))?)?)?$`,
  's',
);
const TARGET = new RegExp(
  String.raw`=\s*(-|[1-9]\d{0,9}|new(?::${LIMIT}(?::(?:${PERIOD})(?::${QUOTED})?)?)?)\s*(?:,|$)`,
  'sy',
);

/**
 * Parses `3=7,4=8,9=-,3+8=9,5=new:2:1y:"Pro, 2 sites"`. A key may be a name with commas and equals signs.
 * @throws OperatorError for any other form, or for a key that occurs twice
 */
export function readPlanMap(text: string): PlanMap {
  const map: PlanMap = new Map();
  let rest = text.trim();
  while (rest !== '') {
    const { key, target, end } = readEntry(rest);
    if (map.has(key)) throw importError('map-twice', [key], { field: 'plans' });
    map.set(key, target === '-' ? null : target.startsWith('new') ? readNewPlan(target) : Number(target));
    rest = rest.slice(end);
  }
  return map;
}

/** Parses an entry. Its key ends at the first equals sign before a target. @throws OperatorError without such a sign */
function readEntry(text: string): { key: string; target: string; end: number } {
  for (let at = text.indexOf('=', 1); at !== -1; at = text.indexOf('=', at + 1)) {
    TARGET.lastIndex = at;
    const target = TARGET.exec(text)?.[1];
    const key = text.slice(0, at).trim();
    if (target !== undefined && key !== '') return { key, target, end: TARGET.lastIndex };
  }
  throw importError('map-form', [], { field: 'plans' });
}

/** Formats a map in the form that `readPlanMap` parses. */
export function writePlanMap(map: PlanMap): string {
  return [...map].map(([key, id]) => `${key}=${isMade(id) ? writeNewPlan(id) : (id ?? '-')}`).join(',');
}

function isMade(target: number | null | PlanToCreate | undefined): target is PlanToCreate {
  return typeof target === 'object' && target !== null;
}

/** Parses `new:...`. @throws OperatorError for a limit that is too large, or an invalid name */
function readNewPlan(text: string): PlanToCreate {
  const { limit = '', duration = '', name } = MADE.exec(text)?.groups ?? {};
  try {
    if (Number(limit) > MAX_UINT32) throw new SyntaxError();
    return {
      limit: limit === '' ? undefined : Number(limit),
      duration: duration === '' ? undefined : duration === LIFETIME ? null : duration,
      name: name === undefined ? undefined : String(JSON.parse(name)),
    };
  } catch {
    throw importError('map-form', [], { field: 'plans' });
  }
}

function writeNewPlan({ limit, duration, name }: PlanToCreate): string {
  const period = duration === null ? LIFETIME : (duration ?? '');
  const parts = ['new', String(limit ?? ''), period, name === undefined ? '' : JSON.stringify(name)];
  return parts.join(':').replace(/:+$/, '');
}

/** Returns the key of combined plans in any order: `3+8`. */
export function combinedPlanKey(keys: string[]): string {
  const sorted = keys.map((key) => key.trim()).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return sorted.join(TOGETHER);
}

/**
 * Returns what the map decides for customers whose key works for several plans: the combinations with a plan here
 * (`3+8=-` removes one), and the plans whose licences are left out.
 */
export function keysMap(former: PlanMap, given: PlanMap): { together: string[][]; leftOut: string[] } {
  const map = new Map(
    [...former, ...given].map(([key, id]) => [isTogether(key) ? combinedPlanKey(partsOfKey(key)) : key, id]),
  );
  return {
    together: [...map].flatMap(([key, id]) => (isTogether(key) && id !== null ? [partsOfKey(key)] : [])),
    leftOut: [...map].flatMap(([key, id]) => (id === null ? [key] : [])),
  };
}

function isTogether(key: string): boolean {
  return key.includes(TOGETHER);
}

function partsOfKey(key: string): string[] {
  return key.split(TOGETHER).map((part) => part.trim());
}

/** A plan of the source, with its plan here. */
export interface MappedPlan {
  key: string;
  name: string;
  product: string;
  /** the number of the source's licences with this plan */
  licenses: number;
  /** null if its licences are left out, or if the map does not contain it yet */
  target: Target | null;
  leftOut: boolean;
  /** whether it is a combination: the plan of the licence with the keys of a customer who has all of its plans */
  isTogether: boolean;
}

export interface Target {
  plan: Plan;
  product: string;
  /** whether this run creates it; a dry run assigns ids below 0 */
  isNew: boolean;
}

export interface PlanTable {
  all: Map<string, MappedPlan>;
  /** Returns the mapped plan of a source's plan, and creates it if the map or `makePlans` asks for that */
  of(key: string): Promise<MappedPlan>;
  /** Counts a licence for the plan that may be created for it. All licences are counted before `of` is called. */
  note(license: SourceLicense): void;
  /** Returns the current map, for the next run */
  map(): PlanMap;
  /** the ids that this run has created */
  made: { products: number[]; plans: number[] };
}

interface PlanTableOptions {
  given: PlanMap;
  /** the map of the latest run of the same source */
  former: PlanMap;
  makePlans: boolean;
  /** Formats a number of sites for the name of a plan to create */
  sites?: ((count: number) => string) | undefined;
  writes: boolean;
  now: Date;
}

/**
 * Opens the plan table. @param plans the plans of this service
 * @throws OperatorError when the map names a plan that does not exist, at the source or here
 */
export async function openPlanTable(
  trx: Transaction,
  sourcePlans: SourcePlan[],
  plans: Plan[],
  { given, former, makePlans, sites = (count) => countOf(count, 'site'), writes, now }: PlanTableOptions,
): Promise<PlanTable> {
  const products = new Map((await listProducts(trx)).map(({ id, name }) => [id, name]));
  const byId = new Map(plans.map((plan) => [plan.id, plan]));
  const known = new Map(sourcePlans.map((plan) => [plan.key, plan]));
  const made: PlanTable['made'] = { products: [], plans: [] };
  const refuse = (code: ImportErrorCode, ...facts: string[]) => {
    throw importError(code, facts, { field: 'plans' });
  };
  const wanted: PlanMap = new Map();
  for (const [key, id] of given) {
    const parts = known.has(key) ? [key] : partsOfKey(key);
    wanted.set(known.has(key) ? key : combinedPlanKey(parts), id);
    const missing = parts.find((part) => !known.has(part));
    if (missing !== undefined) refuse('no-plan-there', missing, namesOf(sourcePlans));
    if (isMade(id) && !known.has(key)) refuse('no-plan-there', key, namesOf(sourcePlans));
    if (typeof id === 'number' && !byId.has(id)) refuse('no-plan-here', String(id));
  }
  // A plan from an earlier run may have been removed since.
  const kept = [...former].filter(([, id]) => id === null || (typeof id === 'number' && byId.has(id)));
  const map: PlanMap = new Map([...kept, ...wanted]);
  const all = new Map<string, MappedPlan>();
  const targetOf = (plan: Plan, isNew = false): Target => {
    return { plan, product: products.get(plan.productId) ?? '', isNew };
  };
  const add = (key: string, name: string, product: string): MappedPlan => {
    const id = map.get(key) ?? (map.has(key) ? null : known.get(key)?.here);
    const plan = typeof id === 'number' ? byId.get(id) : undefined;
    const mapped = {
      key,
      name,
      product,
      licenses: 0,
      leftOut: id === null,
      target: plan ? targetOf(plan) : null,
      isTogether: !known.has(key) && isTogether(key),
    };
    all.set(key, mapped);
    return mapped;
  };
  for (const { key, name, product } of sourcePlans) add(key, name, product);

  const usual = new Map<string, Usual>();
  const make = async (source: SourcePlan, said: PlanToCreate): Promise<Target> => {
    const { limits, periods } = usual.get(source.key) ?? noUsual();
    const activationLimit = said.limit ?? source.limit ?? commonest(limits) ?? 0;
    // Ignore a duration that a plan here cannot have.
    const theirs = source.duration && !DURATION.test(source.duration) ? undefined : source.duration;
    const durations = [said.duration, theirs, commonest(periods), null];
    const duration = durations.find((one) => one !== undefined) ?? null;
    const productName = labelOf(source.product) || 'Licences';
    const isNamed = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
    let productId = [...products].find(([, one]) => isNamed(one, productName))?.[0];
    const label = labelOf(source.name) || 'Licences';
    // The source may give several prices of a product the product's name.
    const proposed =
      activationLimit > 0 && isNamed(label, productName) ? `${label}, ${sites(activationLimit)}` : label;
    const isTaken = (one: string) =>
      [...all.values()].some(
        ({ target }) => target?.plan.productId === productId && isNamed(target?.plan.name ?? '', one),
      );
    const names = [proposed, `${proposed}, ${duration ?? LIFETIME}`, `${proposed} (${source.key})`].map(
      labelOf,
    );
    const name = labelOf(said.name ?? '') || (names.find((one) => !isTaken(one)) ?? label);
    const there = [...byId.values()].find((plan) => plan.productId === productId && isNamed(plan.name, name));
    if (there !== undefined) return targetOf(there);
    if (productId === undefined) {
      productId = writes ? (await addProduct(trx, { name: productName }, now)).id : -1 - products.size;
      products.set(productId, productName);
      made.products.push(productId);
    }
    const draft = { productId, name, activationType: 'domain' as const, activationLimit, duration };
    const plan: Plan = writes
      ? await addPlan(trx, draft, now)
      : { ...PLAN_DEFAULTS, ...draft, id: -1 - byId.size, createdAt: now };
    byId.set(plan.id, plan);
    made.plans.push(plan.id);
    return targetOf(plan, true);
  };

  return {
    all,
    made,
    map: () => new Map([...map].filter(([, target]) => !isMade(target))),
    note(license) {
      const counted = usual.get(license.plan) ?? noUsual();
      noteUsual(counted, license);
      usual.set(license.plan, counted);
    },
    async of(key) {
      const mapped = all.get(key) ?? add(key, nameOf(key, known), productOf(key, known));
      const source = known.get(key);
      const target = map.get(key);
      const said = isMade(target) ? target : makePlans ? {} : undefined;
      if (mapped.target === null && !mapped.leftOut && said !== undefined && source !== undefined) {
        mapped.target = await make(source, said);
        if (mapped.target.plan.id > 0) map.set(key, mapped.target.plan.id);
      }
      return mapped;
    },
  };
}

const MAX_NAMED = 10;

function namesOf(plans: SourcePlan[]): string {
  const named = plans.slice(0, MAX_NAMED).map(({ key, name }) => (key === name ? key : `${key} (${name})`));
  return `${named.join(', ')}${plans.length > MAX_NAMED ? ', ...' : ''}`;
}

/** Returns the name of combined plans. */
function nameOf(key: string, known: Map<string, SourcePlan>): string {
  return partsOf(key, known, ({ name }) => name);
}

function productOf(key: string, known: Map<string, SourcePlan>): string {
  return partsOf(key, known, ({ product }) => product);
}

function partsOf(key: string, known: Map<string, SourcePlan>, text: (plan: SourcePlan) => string): string {
  const parts = key.split(TOGETHER).map((part) => {
    const plan = known.get(part);
    return plan === undefined ? part : text(plan);
  });
  return [...new Set(parts)].join(' + ');
}
