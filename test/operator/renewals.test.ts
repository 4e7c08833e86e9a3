import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Settings } from '../../src/settings/config';
import { changePlan } from '../../src/licensing/amend';
import { endWithGrace, liveStatus, paidUntil } from '../../src/licensing/core/states';
import { changeState, moveEnd, renew, setEnd } from '../../src/licensing/lifecycle';
import { listLapsed } from '../../src/figures/not-renewed';
import { OperatorError } from '../../src/licensing/operator-error';
import { forgetTimelines } from '../../src/figures/renewal-sums';
import { readRenewals, type RenewalsQuery } from '../../src/figures/renewals';
import { countAllLicenses, aggregateNewRows } from '../../src/figures/statistics';
import { openDatabase, table, type Db } from '../../src/store/engine/database';
import { deleteLicenses, findLicense, type License } from '../../src/store/licenses/licenses';
import { acquireOrRenewLease, releaseLease, type Lease } from '../../src/store/leases';
import { listNotRenewed, type PlacedNotRenewed } from '../../src/store/renewals';
import { recordRefusals } from '../../src/store/refusals';
import { inReadCommitted } from '../../src/store/engine/transaction';
import { exportRecords } from '../../src/transfer/export';
import { importRecords } from '../../src/transfer/import';
import { runs } from '../support/extent';
import { temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, giveLicense, givePlan, testConfig } from '../support/service';
import { openMigrated } from '../support/service-process';

/** The figures of renewals, compared with a simple model of two years of a shop (docs/renewals.md). */

const DATABASES: [string, () => Promise<Settings>][] = [
  ['MariaDB', async () => ({ LICENSING_DATABASE_URL: await createMariaDbDatabase() })],
  ['SQLite', () => Promise.resolve({ LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/test.sqlite` })],
];
const LEASES = ['a', 'b'].map((holder): Lease => ({ name: 'housekeeping', holder }));
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const START = new Date('2025-01-03T09:00:00Z');
const END = new Date('2026-11-23T09:00:00Z');

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The state of a licence from a point in time. */
interface Standing {
  at: Date;
  paid: number;
  stops: number;
  renewsItself: boolean;
  planId: number;
  status: string;
}

const NEVER = Infinity;

function standingOf(license: License, at: Date): Standing {
  return {
    at,
    paid: paidUntil(license)?.getTime() ?? NEVER,
    stops: license.expiresAt?.getTime() ?? NEVER,
    renewsItself: license.renewsItself,
    planId: license.plan.id,
    status: license.status,
  };
}

interface Ended {
  at: Date;
  planId: number;
  outcome: 'open' | 'renewing' | 'inTime' | 'late';
}

/** Returns every end that a licence ever had, with its outcome. */
function endsIn(standings: Standing[]): Ended[] {
  return [...new Set(standings.map(({ paid }) => paid))].flatMap((end): Ended[] => {
    const isGiven = (one: Standing, i: number) =>
      one.paid === end && one.at.getTime() < end && standings.slice(i).every(({ paid }) => paid >= end);
    if (end === NEVER || !standings.some(isGiven)) return [];
    const last = standings.findLastIndex(({ paid }) => paid === end);
    const next = standings[last + 1]?.at.getTime();
    const then = standings.findLast(({ at }) => at.getTime() <= end);
    if (then?.status !== 'active') return [];
    const isOpen = standings.at(-1)?.renewsItself ? 'renewing' : 'open';
    const outcome =
      next === undefined
        ? isOpen
        : next < standings[last]!.stops
          ? 'inTime'
          : next <= end + 30 * DAY_MS
            ? 'late'
            : 'open';
    return [{ at: new Date(end), planId: then.planId, outcome }];
  });
}

const monthOf = (at: Date) => at.toISOString().slice(0, 7);
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

describe.each(DATABASES)('renewals on %s', (name, createSettings) => {
  let settings: Settings;
  let db: Db;
  let second: Db;
  const clock = { now: START };

  beforeEach(async () => {
    settings = await createSettings();
    db = await openMigrated(settings);
    const { database, tablePrefix } = testConfig(settings);
    second = openDatabase(database, tablePrefix, 4);
    closing.push(
      () => db.destroy(),
      () => second.destroy(),
    );
    clock.now = START;
  });

  async function sum(on = db, lease = LEASES[0]!): Promise<void> {
    expect(await acquireOrRenewLease(on, lease, clock.now)).toBe(true);
    expect(await aggregateNewRows(on, lease, () => clock.now)).toBe(true);
    expect(await countAllLicenses(on, lease, () => clock.now)).toBe(true);
    await releaseLease(on, lease);
  }

  test('match a model, whichever instance sums at any time, and are the same after an export and an import', async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = randomNumbers(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const plans = [
      await givePlan(db, { limit: 3 }, START),
      await givePlan(db, { limit: 3 }, START),
      await givePlan(db, { limit: 3, productId: 43 }, START),
    ];
    // An import finds plans by their names.
    for (const id of plans)
      await db(table(db, 'plans'))
        .where({ id })
        .update({ name: `Plan ${id}` });
    const model = new Map<number, Standing[]>();
    const note = async (id: number) =>
      model.set(id, [...(model.get(id) ?? []), standingOf((await findLicense(db, id))!, clock.now)]);
    const context = () => ({ actor: 'operator:test', now: clock.now });
    const later = (days: number) => new Date(clock.now.getTime() + Math.round(days * DAY_MS));

    const issue = async () => {
      const expiresAt = pick([null, later(-3), ...[20, 33, 60, 90, 365].map(later)]);
      const { id } = await giveLicense(db, pick(plans), { expiresAt }, clock.now);
      await note(id);
      if (expiresAt === null || random() < 0.6) return;
      clock.now = later(0.01);
      await setEnd(
        ...([db, id] as const),
        { ...endWithGrace(expiresAt, 3), renewsItself: true },
        { ...context(), isRenewal: false },
      );
      await note(id);
    };
    const takeBack = async (id: number) => {
      const standings = model.get(id)!;
      const { paid, renewsItself } = standings.at(-1)!;
      const before = standings.findLast((one) => one.paid < paid);
      if (before === undefined) return;
      await setEnd(
        ...([db, id] as const),
        { ...endWithGrace(new Date(before.paid), 0), renewsItself: renewsItself && random() < 0.5 },
        { ...context(), isRenewal: false },
      );
    };
    const changes: ((id: number) => Promise<unknown>)[] = [
      ...Array<(id: number) => Promise<unknown>>(6).fill((id) =>
        renew(db, id, { for: pick(['30d', '2m', '1y']) }, context()),
      ),
      takeBack,
      takeBack,
      (id) => moveEnd(db, id, pick([null, later(5), later(40)]), context()),
      (id) => renew(db, id, { until: null }, context()),
      (id) => changeState(db, id, 'suspend', context()),
      (id) => changeState(db, id, 'suspend', context()),
      (id) => changeState(db, id, 'reinstate', context()),
      (id) => changeState(db, id, 'reinstate', context()),
      (id) => changeState(db, id, pick(['revoke', 'cancel']), context()),
      (id) => changePlan(db, id, pick(plans), { ...context(), otherProduct: true }),
    ];

    const most = runs(9, 3);
    while (later(most + 1) < END) {
      clock.now = later(0.2 + most * random());
      const ids = [...model.keys()];
      if (ids.length === 0 || random() < 0.25) await issue();
      else {
        const id = pick(ids);
        try {
          await pick(changes)(id);
        } catch (error) {
          // Not every change is possible in every state.
          if (!(error instanceof OperatorError)) throw error;
          continue;
        }
        await note(id);
      }
      if (random() < 0.1) await sum(...pick([[db, LEASES[0]!] as const, [second, LEASES[1]!] as const]));
    }
    clock.now = END;
    await sum();
    const queries: [RenewalsQuery, number[]][] = [
      [{}, plans],
      [{ productId: 42 }, plans.slice(0, 2)],
      [{ productId: 43 }, plans.slice(2)],
      [{ planId: plans[1]! }, [plans[1]!]],
    ];
    for (const [query, planIds] of queries)
      expect({ seed, query, ...(await readRenewals(db, query, END)) }).toEqual({
        ...{ seed, query, ...expected([...model.values()], planIds, END) },
      });

    const lines: string[] = [];
    await exportRecords(db, (text) => Promise.resolve(void lines.push(text)));
    const there = await openMigrated(await createSettings());
    closing.push(() => there.destroy());
    // Plans get other ids there.
    await givePlan(there, { productId: 41 }, START);
    await importRecords(there, Readable.from([Buffer.from(lines.join(''))]), {
      ...{ packagesDir: temporaryFolder(), packagesFrom: undefined, secret: undefined },
      ...{ withoutSealedKeys: false, dryRun: false, actor: 'operator:test', now: END },
      settingFault: () => undefined,
      isOnSite: () => false,
    });
    await sum(there);
    for (const productId of [42, 43]) {
      const { plans: byPlan, ...here } = await readRenewals(db, { productId }, END);
      const { plans: byPlanThere, ...others } = await readRenewals(there, { productId }, END);
      expect({ seed, ...others }).toEqual({ seed, ...here });
      expect(byPlanThere.map(({ planId: _id, ...one }) => one)).toEqual(
        byPlan.map(({ planId: _id, ...one }) => one),
      );
    }
  });

  test('contain nothing of licences that an undone import deletes', async () => {
    const plan = await givePlan(db, {}, START);
    const give = async (day: string) =>
      (await giveLicense(db, plan, { expiresAt: new Date(`${day}T12:00:00Z`) }, START)).id;
    await give('2026-10-02');
    clock.now = END;
    await sum();
    const before = await readRenewals(db, {}, END);
    const deleted = [await give('2026-10-02'), await give('2026-12-03')];
    const summed = await give('2026-10-02');
    await sum();
    deleted.push(await give('2026-12-04'));
    expect((await readRenewals(db, {}, END)).months[10]).toMatchObject({ ended: 3, lost: 3 });
    for (const ids of [deleted, [summed]])
      await inReadCommitted(db, async (trx) => {
        await forgetTimelines(trx, ids);
        // Another instance must not count licences that are being deleted. In SQLite, no other writer can run now.
        if (name === 'MariaDB') await sum(second, LEASES[1]);
        await deleteLicenses(trx, ids);
      });
    await sum();
    expect(await readRenewals(db, {}, END)).toEqual(before);
  });

  test('of licences that were not renewed list first those whose sites still try to update', async () => {
    const [plan, other] = [await givePlan(db, {}, START), await givePlan(db, { productId: 43 }, START)];
    const ended = (day: string) => new Date(`${day}T12:00:00Z`);
    const give = async (planId: number, day: string | null, customer?: string) =>
      (await giveLicense(db, planId, { expiresAt: day === null ? null : ended(day), customer }, START)).id;
    const quiet = await give(plan, '2026-10-02', 'a@example.com');
    const tried = await give(plan, '2026-09-02', 'b@example.com');
    const triedLater = await give(other, '2026-10-05', 'c@example.com');
    const before = await give(plan, '2026-11-01', 'c@example.com');
    const suspended = await give(plan, '2026-10-03');
    const renewedLate = await give(plan, '2026-10-04');
    const graced = await give(plan, '2026-11-02', 'd@example.com');
    const awaited = await give(plan, '2026-11-22', 'e@example.com');
    await give(plan, null, 'a@example.com');
    await give(plan, '2027-01-01');
    const context = (now: Date) => ({ actor: 'operator:test', now });
    await changeState(db, suspended, 'suspend', context(START));
    await renew(db, renewedLate, { for: '1y' }, context(ended('2026-11-20')));
    for (const [id, day] of [
      [graced, '2026-10-31'],
      [awaited, '2026-11-22'],
    ] as const)
      await setEnd(
        ...([db, id] as const),
        { ...endWithGrace(ended(day), 3), renewsItself: true },
        { ...context(START), isRenewal: false },
      );
    const refused = (licenseId: number, day: string) => ({
      ...{ licenseId, outcome: 'LICENSE_EXPIRED', at: ended(day) },
    });
    await recordRefusals(db, [
      refused(tried, '2026-11-10'),
      refused(triedLater, '2026-11-12'),
      refused(before, '2026-10-12'),
    ]);
    const download = { endpoint: 'download' as const, ip: null, user_agent: null, times: 1 };
    await db(table(db, 'access_log')).insert([
      { ...download, at: '2026-08-01 10:00:00', outcome: 'ok', license_id: tried },
      { ...download, at: '2026-08-30 10:00:00', outcome: 'LICENSE_EXPIRED', license_id: tried },
      { ...download, at: '2026-09-30 10:00:00', outcome: 'LICENSE_EXPIRED', license_id: tried, times: 4 },
      { ...download, at: '2026-11-10 12:00:00', outcome: 'LICENSE_EXPIRED', license_id: tried },
    ]);

    const all = async (query: Parameters<typeof listLapsed>[1], limit: number) => {
      const found = [];
      for (let after: string | undefined; ;) {
        const { items, next } = await listLapsed(db, query, { limit, after }, END);
        found.push(...items);
        if (next === null) return found;
        after = next;
      }
    };
    const ids = async (query: Parameters<typeof listLapsed>[1], limit = 50) =>
      (await all(query, limit)).map(({ license }) => license.id);
    const inOrder = [triedLater, tried, graced, before, quiet];
    for (const limit of [1, 2, 3, 50]) expect(await ids({}, limit)).toEqual(inOrder);
    expect(await ids({ productId: 42 }, 1)).toEqual([tried, graced, before, quiet]);
    expect(await ids({ planId: other })).toEqual([triedLater]);
    // The paid end counts, not the stored end.
    expect(await ids({ month: '2026-10' }, 1)).toEqual([triedLater, graced, quiet]);
    expect(await ids({ month: '2026-11' })).toEqual([before]);
    await expect(listLapsed(db, { month: '2026-13' }, { limit: 1 }, END)).rejects.toThrow('month');

    // If very many licences were refused, only the latest come first. Each plan is read on its own.
    for (const planIds of [undefined, [plan, other], [other, plan]])
      for (const limit of [1, 2, 50]) {
        const bounded = [];
        for (let after; bounded.length < inOrder.length;) {
          const filter = { planIds, within: undefined };
          const rows: PlacedNotRenewed[] = await listNotRenewed(db, filter, { after, limit }, END, 0);
          bounded.push(...rows);
          after = rows.at(-1)?.place;
        }
        expect(bounded.map(({ id }) => id)).toEqual([triedLater, graced, before, quiet, tried]);
        expect(bounded.at(-1)?.refusedAt).toEqual(ended('2026-11-10'));
      }

    const one = (await all({}, 50))[1]!;
    expect(one).toMatchObject({
      ...{ endedAt: ended('2026-09-02'), customerSince: START, hasActive: false, refused: 5 },
      ...{ lastDownloadAt: new Date('2026-08-01T10:00:00Z'), refusedAt: ended('2026-11-10') },
    });
    expect((await all({}, 50)).map(({ hasActive }) => hasActive)).toEqual([false, false, false, false, true]);
  });
});

/** Returns the figures that the pages must show for these licences. */
function expected(all: Standing[][], planIds: number[], now: Date) {
  const today = dayOf(now);
  const isOf = ({ planId }: { planId: number }) => planIds.includes(planId);
  const ends = all.flatMap(endsIn).filter(isOf);
  const months = Array.from({ length: 12 }, (_, i) =>
    monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 11 + i, 1))),
  );
  const count = (some: Ended[]) => {
    const inTime = some.filter(({ outcome }) => outcome === 'inTime').length;
    const late = some.filter(({ outcome }) => outcome === 'late').length;
    return { ended: some.length, inTime, late, lost: some.length - inTime - late };
  };
  const past = ends.filter(({ at }) => dayOf(at) < today && months.includes(monthOf(at)));
  const ahead = ends.filter(
    ({ at, outcome }) =>
      ['open', 'renewing'].includes(outcome) &&
      dayOf(at) >= today &&
      dayOf(at) <= dayOf(new Date(now.getTime() + 366 * DAY_MS)),
  );
  const final = (month: string) => month <= '2026-09';
  const states = Array.from({ length: 24 }, (_, i) => {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 23 + i, 1));
    const next = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1));
    const moment = i === 23 ? now : new Date(next.getTime() - 1000);
    const licenses = { active: 0, expired: 0, suspended: 0, revoked: 0, cancelled: 0 };
    for (const standings of all) {
      const then = standings.findLast(({ at }) => at <= moment);
      if (then === undefined || !isOf(then)) continue;
      const expiresAt = then.stops === NEVER ? null : new Date(then.stops);
      licenses[liveStatus({ status: then.status, expiresAt }, moment)]++;
    }
    return { month: monthOf(start), licenses };
  });
  const days = [...new Set(ahead.map(({ at }) => dayOf(at)))].sort();
  return {
    months: months.map((month) => ({
      ...{ month, ...count(past.filter(({ at }) => monthOf(at) === month)), isFinal: final(month) },
    })),
    final: count(past.filter(({ at }) => final(monthOf(at)))),
    plans: planIds
      .map((planId) => ({ planId, ...count(past.filter((one) => one.planId === planId)) }))
      .filter(({ ended }) => ended > 0)
      .sort((a, b) => b.ended - a.ended || a.planId - b.planId),
    due: [7, 30, 90].map((within) => {
      const last = dayOf(new Date(now.getTime() + within * DAY_MS));
      const some = ahead.filter(({ at }) => dayOf(at) <= last);
      const withSubscription = some.filter(({ outcome }) => outcome === 'renewing').length;
      return { days: within, withoutSubscription: some.length - withSubscription, withSubscription };
    }),
    states,
    ends: days.map((day) => ({ day, licenses: ahead.filter(({ at }) => dayOf(at) === day).length })),
  };
}

function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
