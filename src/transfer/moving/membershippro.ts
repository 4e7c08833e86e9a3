import type { Row } from '../../store/export';
import { assignKeys, mapOfKeys, type KeyAssignmentRules, type Right } from './rights';
import type { SkipReason } from './import-messages';
import { BEGINS_LATER, OVER, RUNS, sourceStandingOf } from './standing';
import { parseEnd, momentOf, openSiteTables, trimmed, type SiteTables } from './site-tables';
import type {
  MovingSource,
  OpenSource,
  SourceContext,
  SourceItem,
  SourceKey,
  SourceLicense,
  SourcePlan,
} from './source';

/**
 * Membership Pro (com_osmembership). A user's plan is one row with `plan_main_record` and the dates of
 * `plan_subscription_*`; the other rows are its renewals. A Download ID identifies the user, and opens all documents of
 * the user's running plans. It is bound to the first domain that used it.
 */

const NEEDED = {
  osmembership_subscribers: [
    ...['id', 'plan_id', 'user_id', 'email', 'plan_main_record', 'plan_subscription_status'],
    ...['plan_subscription_from_date', 'plan_subscription_to_date'],
  ],
  osmembership_plans: ['id', 'title'],
  osmembership_downloadids: ['id', 'user_id', 'download_id', 'domain'],
};
const OPTIONAL = ['osmembership_documents', 'osmembership_plan_documents'];

export const membershipPro: MovingSource = {
  name: 'membershippro',
  title: 'Membership Pro',
  reads: 'tables',
  open,
};

async function open({ db, sitePrefix, now, ...map }: SourceContext): Promise<OpenSource> {
  const tables = await openSiteTables(db, membershipPro.title, sitePrefix, NEEDED, OPTIONAL);
  const plans = await readPlans(tables);
  const known = new Map(plans.map((plan) => [plan.key, plan]));
  return { plans, items: () => readItems(tables, known, mapOfKeys(map), now) };
}

async function readPlans(tables: SiteTables): Promise<SourcePlan[]> {
  const titles = new Map<string, string>();
  const documents = new Map<string, string[]>();
  if (tables.has('osmembership_documents'))
    for await (const row of tables.read('osmembership_documents', ['id', 'title'], ['id']))
      titles.set(trimmed(row.id), trimmed(row.title));
  if (tables.has('osmembership_plan_documents'))
    for await (const row of tables.read(
      'osmembership_plan_documents',
      ['id', 'plan_id', 'document_id'],
      ['id'],
    )) {
      const plan = trimmed(row.plan_id);
      documents.set(plan, [...(documents.get(plan) ?? []), trimmed(row.document_id)]);
    }
  const plans: SourcePlan[] = [];
  const columns = ['id', 'title', 'lifetime_membership', 'subscription_length', 'subscription_length_unit'];
  for await (const row of tables.read('osmembership_plans', columns, ['id'])) {
    const [key, name] = [trimmed(row.id), trimmed(row.title)];
    const covers = [...new Set(documents.get(key) ?? [])];
    // Plans with one document are variants of one product. A plan with several documents is a club.
    const product = (covers.length === 1 && titles.get(covers[0] as string)) || name;
    plans.push({ key, name, product, covers, duration: durationOf(row), limit: 0 });
  }
  return plans;
}

/** Returns a plan's duration; null if it never ends, undefined for an end on a day of the year or an unknown length. */
function durationOf({
  lifetime_membership,
  subscription_length,
  subscription_length_unit,
}: Row): string | null | undefined {
  if (Number(lifetime_membership) === 1) return null;
  const length = Number(subscription_length);
  if (!Number.isInteger(length) || length < 1) return undefined;
  switch (trimmed(subscription_length_unit)) {
    case 'D':
      return `${length}d`;
    case 'W':
      return `${length * 7}d`;
    case 'M':
      return `${length}m`;
    case 'Y':
      return `${length}y`;
    default:
      return undefined;
  }
}

async function* readItems(
  tables: SiteTables,
  plans: Map<string, SourcePlan>,
  map: KeyAssignmentRules,
  now: Date,
): AsyncGenerator<SourceItem> {
  const keys = await readKeys(tables);
  const columns = [...NEEDED.osmembership_subscribers, 'first_name', 'last_name'];
  let rows: Row[] = [];
  for await (const row of tables.read('osmembership_subscribers', columns, ['user_id', 'id'])) {
    const isSame = Number(row.user_id) > 0 && rows[0]?.user_id === row.user_id;
    if (!isSame && rows.length > 0) {
      yield* itemsOf(rows, keys, plans, map, now);
      rows = [];
    }
    rows.push(row);
  }
  if (rows.length > 0) yield* itemsOf(rows, keys, plans, map, now);
  for (const lines of keys.values())
    for (const row of keysOf(lines).ids) yield { row, leftOut: 'no-subscription' };
}

/** Returns a row's user id; 0 without a user. */
function userOf({ user_id }: Row): number {
  return Number(user_id ?? 0);
}

interface Keys {
  /** the ids of the rows at the source */
  ids: number[];
  keys: SourceKey[];
  unpublished: number[];
}

/** Returns each user's Download IDs as text, a fifth of the memory of objects. Reads all: the table has no index of users. */
async function readKeys(tables: SiteTables): Promise<Map<number, string>> {
  const byUser = new Map<number, string>();
  const columns = [...NEEDED.osmembership_downloadids, 'published'];
  for await (const row of tables.read('osmembership_downloadids', columns, ['id'])) {
    const key = trimmed(row.download_id);
    if (key === '') continue;
    const user = userOf(row);
    const isPublished = row.published === null || Number(row.published) === 1;
    const line = [Number(row.id), isPublished ? 1 : 0, key, trimmed(row.domain)].join('\t');
    const before = byUser.get(user);
    byUser.set(user, before === undefined ? line : `${before}\n${line}`);
  }
  return byUser;
}

function keysOf(lines: string | undefined): Keys {
  const keys: Keys = { ids: [], keys: [], unpublished: [] };
  for (const line of lines?.split('\n') ?? []) {
    const [id, published, key = '', site = ''] = line.split('\t');
    keys.ids.push(Number(id));
    keys.keys.push({ key, limit: site === '' ? undefined : 1, sites: site === '' ? [] : [site] });
    if (published === '0') keys.unpublished.push(Number(id));
  }
  return keys;
}

/** Yields the licences of a user. @param rows the rows of one user; for guests, who all have the id 0, one row */
function* itemsOf(
  rows: Row[],
  byUser: Map<number, string>,
  plans: Map<string, SourcePlan>,
  map: KeyAssignmentRules,
  now: Date,
): Generator<SourceItem> {
  const rights = new Map<string, Right>();
  for (const row of rows) {
    const id = Number(row.id);
    const plan = trimmed(row.plan_id);
    const reason = reasonOf(row, plans);
    if (reason !== undefined) {
      yield { row: id, leftOut: reason };
      continue;
    }
    const right = rightOf(row, plans.get(plan) as SourcePlan, now);
    const other = rights.get(plan);
    if (other === undefined) rights.set(plan, right);
    else {
      const [later, earlier] = isLater(right, other) ? [right, other] : [other, right];
      // The later row continues a subscription that is running.
      const goesOn = earlier.standing === RUNS && later.standing === BEGINS_LATER;
      const license = goesOn ? { ...later.license, startsAt: earlier.license.startsAt } : later.license;
      rights.set(plan, { license, standing: sourceStandingOf(license, now) });
      yield {
        row: earlier.license.row,
        leftOut: 'later-row',
      };
    }
  }
  if (rights.size === 0) return;
  const user = userOf(rows[0] ?? {});
  const { keys, unpublished } = keysOf(user === 0 ? undefined : byUser.get(user));
  if (user !== 0) byUser.delete(user);
  for (const row of unpublished)
    yield {
      row,
      warning: 'unpublished-key',
    };
  const given = assignKeys([...rights.values()], user === 0 ? [] : keys, plans, map);
  yield* given.warnings;
  yield* given.licenses;
}

function reasonOf(row: Row, plans: Map<string, SourcePlan>): SkipReason | undefined {
  if (Number(row.plan_main_record) !== 1) return 'renewal';
  if (!plans.has(trimmed(row.plan_id))) return 'plan-gone';
  if (parseEnd(row.plan_subscription_to_date) === undefined) return 'bad-end';
  switch (Number(row.plan_subscription_status)) {
    case 0:
      return 'pending';
    case 3:
      return 'cancelled-unpaid';
    default:
      return undefined;
  }
}

/** The first year in which an end means that there is no end. */
const LIFETIME = 2099;

function rightOf(row: Row, plan: SourcePlan, now: Date): Right {
  const state = Number(row.plan_subscription_status);
  const end = parseEnd(row.plan_subscription_to_date) ?? undefined;
  // A plan may have become a lifetime plan after it was sold with an end.
  const isLifetime = end === undefined ? plan.duration === null : end.getUTCFullYear() >= LIFETIME;
  const expiresAt = isLifetime ? null : end;
  const name = [trimmed(row.first_name), trimmed(row.last_name)].filter((part) => part !== '').join(' ');
  const license: SourceLicense = {
    id: trimmed(row.id),
    row: Number(row.id),
    plan: plan.key,
    customer: trimmed(row.email) || null,
    customerName: name || null,
    keys: [],
    status: STATES[state] ?? 'suspended',
    startsAt: momentOf(row.plan_subscription_from_date),
    expiresAt,
    limit: undefined,
    sites: [],
    metadata: {},
  };
  return { license, standing: sourceStandingOf(license, now) };
}

const STATES: Record<number, SourceLicense['status']> = { 1: 'active', 2: 'expired', 4: 'cancelled' };

function isLater(a: Right, b: Right): boolean {
  const end = ({ license: { expiresAt } }: Right) =>
    expiresAt === null ? Infinity : (expiresAt?.getTime() ?? 0);
  const [isOver, isOtherOver] = [a.standing === OVER, b.standing === OVER];
  return isOver === isOtherOver ? end(a) > end(b) : isOtherOver;
}
