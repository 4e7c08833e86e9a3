import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { insertAccesses } from '../../src/store/access-log';
import { table } from '../../src/store/engine/database';
import { findEvents, insertEvents } from '../../src/store/events';
import { sampleSealedKeys } from '../../src/store/licenses/license-keys';
import { findMissingTables } from '../../src/store/engine/server';
import { inTransaction } from '../../src/store/engine/transaction';
import { explain } from '../../src/support/why';
import {
  DATABASE_KINDS,
  giveLicense,
  givePlan,
  newPlace,
  startTestService,
  type TestService,
} from '../support/service';

/** For a licence with very many requests and changes, and for very many keys, only a bounded part is read. */

const NOW = new Date('2026-11-23T09:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  let service: TestService;
  let plan: number;
  beforeAll(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    plan = await givePlan(service.db, {}, NOW);
  });
  afterAll(() => service.stop());

  async function refuse(licenseId: number, times: number): Promise<void> {
    for (let i = 0; i < times; i += 250)
      await insertAccesses(
        service.db,
        Array.from({ length: Math.min(250, times - i) }, () => ({
          ...{ at: daysAgo(2), endpoint: 'download' as const, outcome: 'LICENSE_EXPIRED', licenseId },
          ...{ keyId: null, keyHint: null, productId: 42, version: null, identifier: null, ip: null },
          userAgent: null,
        })),
      );
  }

  test('refused downloads are counted up to a limit, and the text says so', async () => {
    const { id } = await giveLicense(service.db, plan, { expiresAt: daysAgo(9) }, NOW);
    const judge = async () => {
      const options = { now: NOW, limit: 1, language: 'en', logDays: 90, packagesDir: service.packagesDir };
      const { findings } = await explain(service.db, `id:${id}`, { ...options, language: 'en' });
      const found = findings.find(({ code }) => code === 'EXPIRED');
      return [(found!.facts as { refused_since: number }).refused_since, found?.sentence];
    };
    await refuse(id, 1_999);
    expect(await judge()).toEqual([1_999, expect.stringContaining(', 1999 downloads refused since.')]);
    await refuse(id, 51);
    expect(await judge()).toEqual([
      2_000,
      expect.stringContaining(', at least 2000 downloads refused since.'),
    ]);
  });

  test('changes of one kind are searched among the latest of a licence', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => giveLicense(service.db, plan, {}, NOW)));
    const change = (licenseId: number, action: 'suspend' | 'reveal', days: number) => ({
      ...{ licenseId, action, at: daysAgo(days), actor: 'operator:root', before: null, after: { days } },
    });
    const add = (events: ReturnType<typeof change>[]) =>
      inTransaction(service.db, (trx) => insertEvents(trx, events));
    await add([
      change(one!.id, 'suspend', 9),
      change(other!.id, 'suspend', 8),
      change(one!.id, 'suspend', 7),
    ]);
    const found = async (limit: number, isWhole?: true) =>
      (
        await findEvents(service.db, ['suspend'], { licenseId: one!.id, ...(isWhole && { isWhole }) }, limit)
      ).map(({ after }) => after?.days);
    expect(await found(5)).toEqual([7, 9]);
    expect(await found(1)).toEqual([7]);
    for (let i = 0; i < 2_000; i += 250)
      await add(Array.from({ length: 250 }, () => change(one!.id, 'reveal', 6)));
    expect(await found(5)).toEqual([]);
    // The effect of an order depends on it, so it reads all.
    expect(await found(5, true)).toEqual([7, 9]);
  });

  test('only the first and last keys are checked if there are too many', async () => {
    await service.db(table(service.db, 'license_keys')).update({ key_sealed: null });
    for (let i = 0; i < 12; i++) await giveLicense(service.db, plan, {}, NOW);
    const ids = await service.db(table(service.db, 'license_keys')).orderBy('id').pluck<number[]>('id');
    const sealed = [ids[1], ids[6], ids.at(-1)] as number[];
    await service.db(table(service.db, 'license_keys')).whereIn('id', sealed).update({ key_sealed: 'x' });
    const sample = async (among: number | undefined) =>
      (await sampleSealedKeys(service.db, 5, among)).map(({ id }) => id).sort((a, b) => a - b);
    expect(await sample(undefined)).toEqual(sealed);
    expect(await sample(2)).toEqual([sealed[0], sealed[2]]);
    expect(await sample(100)).toEqual(sealed);
  });

  test('a table that is missing is named', async () => {
    expect(await findMissingTables(service.db)).toEqual([]);
    const name: string = table(service.db, 'told_counts');
    await service.db.schema.renameTable(name, `${name}_away`);
    expect(await findMissingTables(service.db)).toEqual([name]);
    await service.db.schema.renameTable(`${name}_away`, name);
  });
});
