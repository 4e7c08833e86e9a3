import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setLimit } from '../../src/licensing/amend';
import { keyDigest, canonicalKey } from '../../src/licensing/core/keys';
import { table, type Db } from '../../src/store/engine/database';
import { membershipPro } from '../../src/transfer/moving/membershippro';
import { moveLicensesIn } from '../../src/transfer/moving/run';
import { undoImport } from '../../src/transfer/moving/undo';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { DATABASE_KINDS, newPlace, rows, startTestService, type TestService } from '../support/service';

/** Moves that are undone in every order, including with later moves and changes here. Everything happens within a second. */

const NOW = new Date('2026-06-01T12:00:00Z');
const key = (name: string) => createHash('sha256').update(name).digest('hex').slice(0, 32).toUpperCase();

const subscriber = (id: number, plan_id: number, user: number, year: number) => ({
  ...{ id, plan_id, user_id: user, email: `user${user}@example.com`, first_name: 'Jo', last_name: `${user}` },
  ...{ plan_main_record: 1, plan_subscription_status: 1 },
  plan_subscription_from_date: '2026-01-01 00:00:00',
  plan_subscription_to_date: `${year}-01-01 00:00:00`,
});
const downloadId = (user: number, name = `user ${user}`) => ({
  ...{ user_id: user, download_id: key(name), published: 1 },
});

/** By user: 1 is renewed, 2 buys the club, 3 and 4 do nothing, 5 makes another key, 6 renews the smaller of two, 7 is new. */
const BEFORE = {
  osmembership_plans: [3, 8, 9].map((id) => ({
    ...{ id, title: { 3: 'Pro', 8: 'Forms', 9: 'Club' }[id] },
    ...{ subscription_length: 1, subscription_length_unit: 'Y' },
  })),
  osmembership_documents: [1, 2].map((id) => ({ id, title: `Document ${id}` })),
  osmembership_plan_documents: [
    ...[3, 9].map((plan_id) => ({ plan_id, document_id: 1 })),
    ...[8, 9].map((plan_id) => ({ plan_id, document_id: 2 })),
  ],
  osmembership_subscribers: [
    ...[1, 2, 3, 4, 5].map((user) => subscriber(user, 3, user, 2030)),
    subscriber(60, 3, 6, 2031),
    subscriber(61, 8, 6, 2030),
  ],
  osmembership_downloadids: [1, 2, 3, 4, 5, 6].map((user) => downloadId(user)),
};

describe.each(DATABASE_KINDS)('moves that are taken back, on %s', (kind) => {
  let service: TestService;
  let db: Db;
  beforeEach(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    ({ db } = service);
    await makeMembershipPro(db, 'jos_');
    await fillTable(db, 'jos_', BEFORE);
  });
  afterEach(() => service.stop());

  const run = async () => {
    const { id } = await moveLicensesIn(db, {
      ...{ source: membershipPro, makePlans: true, dryRun: false, secret: undefined },
      ...{ actor: 'operator:test', now: NOW },
    });
    return id as number;
  };
  const sell = async () => {
    await db('jos_osmembership_subscribers')
      .where({ id: 1 })
      .update({ plan_subscription_to_date: '2033-01-01 00:00:00' });
    await db('jos_osmembership_subscribers')
      .where({ id: 61 })
      .update({ plan_subscription_to_date: '2034-01-01 00:00:00' });
    await fillTable(db, 'jos_', {
      osmembership_subscribers: [subscriber(20, 9, 2, 2031), subscriber(70, 8, 7, 2031)],
      osmembership_downloadids: [downloadId(5, 'another of 5'), downloadId(7)],
    });
  };
  const licenses = () => rows<{ id: number; reference: string; plan_id: number }>(db, 'licenses');
  /** Returns the source's ids of the licences that exist here. */
  const here = async () =>
    (await licenses()).map(({ reference }) => Number(reference.split(':')[1])).sort((a, b) => a - b);
  const idOf = async (source: number) =>
    (await licenses()).find(({ reference }) => reference === `membershippro:${source}`)!.id;
  const change = async (source: number) =>
    setLimit(db, await idOf(source), 7, { actor: 'operator:test', now: NOW });
  /** Undoes a move. @returns the number of deleted licences, and the reason for each licence, plan and product that is left */
  const undo = async (id: number) => {
    const ids = new Map((await licenses()).map((one) => [one.id, Number(one.reference.split(':')[1])]));
    const { removed, left } = await undoImport(db, id, { now: NOW });
    const ofKind = (what: string) => left.filter((one) => one.kind === what);
    return {
      removed: removed.license,
      left: Object.fromEntries(ofKind('license').map((one) => [String(ids.get(one.id)), one.code])),
      things: [...ofKind('plan'), ...ofKind('product')].map(({ code }) => code),
    };
  };
  /** Returns the source's id of the licence that the key belongs to. */
  const owner = async (name: string) => {
    const [found] = await db(table(db, 'license_keys'))
      .where({ key_digest: keyDigest(canonicalKey(key(name))) })
      .pluck('license_id');
    return (await licenses()).find(({ id }) => id === found)?.reference.split(':')[1];
  };
  const nothing = async () => {
    for (const name of ['licenses', 'license_keys', 'imported', 'plans', 'products', 'customers'] as const)
      expect([name, await db(table(db, name))]).toEqual([name, []]);
  };

  it('the later one first, then the earlier one: a licence that took over a key of a kept licence stays', async () => {
    const first = await run();
    await sell();
    const second = await run();
    expect([await owner('user 2'), await owner('user 6')]).toEqual(['20', '61']);
    expect(await undo(second)).toEqual({
      removed: 1,
      left: { 20: 'older-key', 1: 'earlier-run', 5: 'earlier-run', 61: 'earlier-run' },
      things: ['in-use', 'in-use'],
    });
    expect(await owner('user 2')).toBe('20');
    // Licence 20 is deleted too, because the key that it took over is no longer needed.
    expect(await undo(first)).toEqual({ removed: 8, left: {}, things: [] });
    await nothing();
  });

  it('the earlier one first: licences that the later one changed stay, and are deleted with the later one', async () => {
    const first = await run();
    await sell();
    const second = await run();
    expect(await undo(first)).toEqual({
      removed: 4,
      left: { 1: 'later-run', 5: 'later-run', 61: 'later-run' },
      things: ['in-use', 'in-use', 'in-use', 'in-use'],
    });
    expect(await here()).toEqual([1, 5, 20, 61, 70]);
    for (const [name, source] of [
      ['user 1', '1'],
      ['user 2', '20'],
      ['another of 5', '5'],
      ['user 6', '61'],
      ['user 7', '70'],
    ])
      expect([name, await owner(name as string)]).toEqual([name, source]);
    // A customer whose licence stays keeps the name.
    expect((await rows<{ address: string }>(db, 'customers')).map(({ address }) => address).sort()).toEqual(
      [1, 2, 5, 6, 7].map((user) => `user${user}@example.com`),
    );
    expect(await undo(second)).toEqual({ removed: 5, left: {}, things: [] });
    await nothing();
  });

  it('with a change here between two runs', async () => {
    const first = await run();
    await change(4);
    await sell();
    const second = await run();
    expect((await undo(first)).left).toEqual({
      ...{ 1: 'later-run', 4: 'changed', 5: 'later-run', 61: 'later-run' },
    });
    expect(await undo(second)).toMatchObject({ removed: 5, left: {} });
    expect(await here()).toEqual([4]);
  });

  it('with a change here to licences that both runs brought', async () => {
    const first = await run();
    await sell();
    const second = await run();
    await change(1);
    await change(20);
    expect((await undo(first)).left).toEqual({ 1: 'changed', 5: 'later-run', 61: 'later-run' });
    expect(await undo(second)).toMatchObject({ removed: 3, left: { 1: 'changed', 20: 'changed' } });
    expect(await here()).toEqual([1, 20]);
  });

  it('and repeated, with the same keys', async () => {
    const first = await run();
    await undo(first);
    await nothing();
    await sell();
    const second = await run();
    expect(await here()).toEqual([1, 2, 3, 4, 5, 20, 60, 61, 70]);
    expect(await owner('user 2')).toBe('20');
    const third = await run();
    expect(await undo(second)).toMatchObject({ removed: 9, left: {} });
    expect(await undo(third)).toEqual({ removed: 0, left: {}, things: [] });
    await nothing();
  });

  it('after a key has returned to the first licence that had it', async () => {
    const first = await run();
    await sell();
    const second = await run();
    await db('jos_osmembership_subscribers').where({ id: 20 }).update({ plan_subscription_status: 2 });
    const third = await run();
    expect(await owner('user 2')).toBe('2');
    // The licence belongs to the first run again.
    expect(await undo(second)).toMatchObject({ left: { 20: 'later-run', 1: 'earlier-run' } });
    expect(await undo(third)).toMatchObject({ left: { 2: 'earlier-run' } });
    expect(await undo(first)).toMatchObject({ left: {} });
    await nothing();
  });
});
