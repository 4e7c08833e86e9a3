import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { addKey, editKey, endKey, rekey, type AddedKey } from '../../src/licensing/license-keys';
import { table, type Db } from '../../src/store/engine/database';
import type { KeyRecord, RecordType } from '../../src/transfer/records';
import { operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import {
  ONE_KIND,
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type DATABASE_KINDS,
  type TestLicense,
  type TestService,
} from '../support/service';

type Line = Record<string, unknown> & { type: RecordType | 'header' | 'footer' };

interface KeyRow {
  id: number;
  license_id: number;
  key_hint: string;
  label: string | null;
  activation_limit: number | null;
  ends_at: string | null;
  replaced_by: number | null;
}

/** A service with its database and its operator. */
interface Place {
  service: TestService;
  db: Db;
  operator: Operator;
}

const SECOND = 1_000;
const places: Place[] = [];
afterAll(() => Promise.all(places.map(({ service }) => service.stop())));

async function newShop(kind: (typeof DATABASE_KINDS)[number]): Promise<Place> {
  const settings: Settings = await newPlace(kind);
  const service = await startTestService(settings, new Date(Math.floor(Date.now() / SECOND) * SECOND));
  const place = { service, db: service.db, operator: operator(settings) };
  places.push(place);
  return place;
}

describe.each(ONE_KIND)('keys of licences that are imported again into %s', (kind) => {
  let from: Place;
  let to: Place;
  let first: TestLicense;
  let second: TestLicense;

  beforeEach(async () => {
    from = await newShop(kind);
    to = await newShop(kind);
    const plan = await givePlan(from.db, { limit: 10, freeStaging: true });
    first = await giveLicense(from.db, plan, { reference: 'order-1' });
    second = await giveLicense(from.db, plan);
    // The ids differ between the two places.
    const other = await givePlan(to.db, { productId: 7 });
    for (let i = 0; i < 3; i++) await giveLicense(to.db, other);
  });

  const context = ({ service }: Place) => ({ actor: 'operator:test', now: service.clock.now });
  const add = (place: Place, id: number, terms: Parameters<typeof addKey>[2]) =>
    addKey(place.db, id, terms, undefined, context(place));
  const call = ({ service }: Place, verb: string, key: string, identifier: string) =>
    request(service.url).post(`${PREFIX}/licenses/${verb}`).send({ license_key: key, identifier });

  const codeOf = async (answer: request.Test) =>
    ((await answer).body as { error?: { code: string } }).error?.code;

  async function exported(place: Place): Promise<Line[]> {
    const file = join(temporaryFolder(), 'out.jsonl');
    await place.operator.json(['export', '--out', file]);
    const text = readFileSync(file, 'utf8').trim();
    return text.split('\n').map((line) => JSON.parse(line) as Line);
  }

  function write(lines: Line[]): string {
    const file = join(temporaryFolder(), 'in.jsonl');
    const records = { ...(lines.at(-1)!.records as object) } as Record<string, number>;
    for (const type of Object.keys(records)) records[type] = lines.filter((one) => one.type === type).length;
    const all = [...lines.slice(0, -1), { type: 'footer', records }];
    writeFileSync(file, all.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return file;
  }

  type Counts = Record<'new' | 'same' | 'changed' | 'conflicting', number>;

  /** Imports a file twice. The second time must change nothing. @returns the counts of licences of the first time */
  async function move(lines?: Line[]): Promise<Counts> {
    const file = write(lines ?? (await exported(from)));
    const dry = await to.operator.json<{ records: Record<RecordType, Counts> }>([
      'import',
      file,
      '--dry-run',
    ]);
    const done = await to.operator.json<{ records: Record<RecordType, Counts> }>(['import', file]);
    expect(done.records.license).toEqual(dry.records.license);
    const before = await all(to);
    const again = await to.operator.json<{ records: Record<RecordType, Counts> }>(['import', file]);
    for (const [type, counts] of Object.entries(again.records))
      expect({ type, ...counts }).toMatchObject({ type, new: 0, changed: 0, conflicting: 0 });
    expect(await all(to)).toEqual(before);
    const used = await rows<{ id: number; activations_used: number }>(to.db, 'licenses');
    const activations = await rows<{ license_id: number; free: number }>(to.db, 'activations');
    for (const { id, activations_used } of used)
      expect(activations.filter((one) => one.license_id === id && one.free === 0)).toHaveLength(
        activations_used,
      );
    return done.records.license;
  }

  async function refused(lines: Line[]): Promise<string> {
    const before = await all(to);
    const { code, stderr } = await to.operator.run(['import', write(lines)]);
    expect(code).toBe(1);
    expect(await all(to)).toEqual(before);
    return stderr;
  }

  async function all({ db }: Place): Promise<unknown[]> {
    const names = ['licenses', 'license_keys', 'activations', 'events', 'access_log'] as const;
    return Promise.all(names.map((name) => rows(db, name)));
  }

  /** Returns the keys of a licence here, oldest first. */
  async function keysHere({ key }: { key: string }): Promise<(KeyRow & { isMain: boolean })[]> {
    const keys = await rows<KeyRow>(to.db, 'license_keys');
    const owner = keys.find(({ key_hint }) => key_hint === key.slice(-8))!.license_id;
    const license = (await rows<{ id: number; main_key_id: number }>(to.db, 'licenses')).find(
      ({ id }) => id === owner,
    )!;
    return keys
      .filter(({ license_id }) => license_id === owner)
      .map((one) => ({ ...one, isMain: one.id === license.main_key_id }));
  }

  const hint = (key: AddedKey | TestLicense) => key.key.slice(-8);
  const eventsHere = (licenseId: number) =>
    to.operator.json<{ action: string; before: object | null; after: object | null }[]>([
      ...['license', 'history', String(licenseId)],
    ]);

  it('follow a rekeying at their source, with its overlap', async () => {
    await move();
    await call(from, 'activate', first.key, 'shop.co.uk').expect(200);
    const rekeyed = await rekey(from.db, first.id, { overlap: '14d' }, undefined, context(from));
    await call(from, 'activate', rekeyed.key, 'new.co.uk').expect(200);
    expect(await move()).toMatchObject({ new: 0, same: 1, changed: 1 });
    const [old, main] = await keysHere(first);
    expect(main).toMatchObject({ isMain: true, key_hint: hint(rekeyed), ends_at: null });
    expect(old).toMatchObject({ isMain: false, replaced_by: main!.id, ends_at: expect.any(String) });
    expect((await eventsHere(main!.license_id)).filter(({ action }) => action === 'rekey')).toMatchObject([
      { before: { key_id: old!.id }, after: { key_id: main!.id } },
    ]);
    for (const key of [first.key, rekeyed.key])
      expect((await call(to, 'validate', key, 'shop.co.uk')).body).toMatchObject({
        data: { valid: true, identifier_activated: true, activations_used: 2 },
      });
    to.service.clock.now = new Date(to.service.clock.now.getTime() + 15 * 86_400 * SECOND);
    expect(await codeOf(call(to, 'activate', first.key, 'late.co.uk'))).toBe('LICENSE_NOT_FOUND');
  });

  it('stay as a rekeying here left them', async () => {
    await move();
    const [license] = (await keysHere(first)).map(({ license_id }) => license_id);
    const rekeyed = await rekey(to.db, license!, {}, undefined, context(to));
    expect(await move()).toMatchObject({ new: 0, same: 2, changed: 0 });
    expect(await keysHere(first)).toMatchObject([
      { isMain: false, replaced_by: rekeyed.stored.id },
      { isMain: true, key_hint: hint(rekeyed) },
    ]);
    expect(await codeOf(call(to, 'validate', first.key, 'shop.co.uk'))).toBe('LICENSE_NOT_FOUND');
  });

  it('get the main key of the file if it is new here, even after a rekeying here', async () => {
    await move();
    const [license] = (await keysHere(first)).map(({ license_id }) => license_id);
    const here = await rekey(to.db, license!, {}, undefined, context(to));
    const there = await rekey(from.db, first.id, {}, undefined, context(from));
    expect(await move()).toMatchObject({ new: 0, same: 1, changed: 1 });
    const keys = await keysHere(first);
    expect(keys).toMatchObject([
      { isMain: false, replaced_by: here.stored.id },
      { isMain: false, replaced_by: null, ends_at: null },
      { isMain: true, key_hint: hint(there) },
    ]);
    expect((await eventsHere(license!)).at(-1)).toMatchObject({
      action: 'import',
      before: { main_key_id: here.stored.id },
      after: { main_key_id: keys[2]!.id },
    });
    for (const { key } of [here, there]) await call(to, 'validate', key, 'shop.co.uk').expect(200);
  });

  it('get the terms of the file, and new keys with everything that belongs to them', async () => {
    const kept = await add(from, first.id, { label: 'Kept', activationLimit: 2 });
    await move();
    const later = new Date(from.service.clock.now.getTime() + 86_400 * SECOND);
    const terms = { label: 'Renamed', activationLimit: 3, endsAt: later };
    await editKey(from.db, first.id, kept.stored.id, terms, context(from));
    await call(from, 'activate', kept.key, 'kept.co.uk').expect(200);
    const added = await add(from, first.id, { label: 'Added', activationLimit: 1 });
    await call(from, 'activate', added.key, 'added.co.uk').expect(200);
    await from.db(table(from.db, 'access_log')).insert({
      ...{ at: '2026-01-01 00:00:00', endpoint: 'download', outcome: 'ok' },
      ...{ license_id: first.id, key_id: added.stored.id },
    });
    expect(await move()).toMatchObject({ new: 0, same: 1, changed: 1 });
    const keys = await keysHere(first);
    expect(keys.map(({ label, activation_limit }) => [label, activation_limit])).toEqual([
      [null, null],
      ['Renamed', 3],
      ['Added', 1],
    ]);
    const [, keptHere, addedHere] = keys.map(({ id }) => id);
    const activations = await rows<{ identifier: string; key_id: number }>(to.db, 'activations');
    expect(activations.map(({ identifier, key_id }) => [identifier, key_id])).toEqual([
      ['kept.co.uk', keptHere],
      ['added.co.uk', addedHere],
    ]);
    expect(await rows(to.db, 'access_log')).toMatchObject([{ key_id: addedHere }]);
    const events = await eventsHere(keys[0]!.license_id);
    expect(events.filter(({ action }) => action === 'add-key').map(({ after }) => after)).toMatchObject([
      { key_id: keptHere },
      { key_id: addedHere },
    ]);
    expect(
      events.filter(({ action }) => action === 'import').map(({ before, after }) => [before, after]),
    ).toEqual([
      [null, expect.objectContaining({ key_id: addedHere, label: 'Added', activation_limit: 1 })],
      [
        expect.objectContaining({ key_id: keptHere, label: 'Kept', activation_limit: 2, ends_at: null }),
        expect.objectContaining({ key_id: keptHere, label: 'Renamed', activation_limit: 3 }),
      ],
    ]);
    // The limit of the key also applies here.
    expect(await codeOf(call(to, 'activate', added.key, 'more.co.uk'))).toBe('ACTIVATION_LIMIT_REACHED');
  });

  it('take over the activations here of the key that they replaced', async () => {
    const client = await add(from, first.id, { label: 'Client', activationLimit: 2 });
    await call(from, 'activate', client.key, 'client.co.uk').expect(200);
    await move();
    const rekeyed = await rekey(
      from.db,
      first.id,
      { keyId: client.stored.id, overlap: '1d' },
      undefined,
      context(from),
    );
    await move();
    const [, old, key] = await keysHere(first);
    expect([old!.replaced_by, key!.key_hint]).toEqual([key!.id, hint(rekeyed)]);
    expect(await rows(to.db, 'activations')).toMatchObject([{ identifier: 'client.co.uk', key_id: key!.id }]);
    await call(to, 'activate', client.key, 'second.co.uk').expect(200);
    expect(await codeOf(call(to, 'activate', rekeyed.key, 'third.co.uk'))).toBe('ACTIVATION_LIMIT_REACHED');
  });

  it('stay ended when they have ended here', async () => {
    const client = await add(from, first.id, { label: 'Client' });
    await move();
    const [, key] = await keysHere(first);
    await endKey(to.db, key!.license_id, key!.id, { free: false }, context(to));
    expect(await move()).toMatchObject({ same: 2, changed: 0 });
    expect(await codeOf(call(to, 'validate', client.key, 'shop.co.uk'))).toBe('LICENSE_NOT_FOUND');
  });

  it('end here if they have ended at their source', async () => {
    const client = await add(from, first.id, { label: 'Client' });
    await move();
    await endKey(from.db, first.id, client.stored.id, { free: false }, context(from));
    expect(await move()).toMatchObject({ same: 1, changed: 1 });
    expect(await codeOf(call(to, 'validate', client.key, 'shop.co.uk'))).toBe('LICENSE_NOT_FOUND');
  });

  it('free the slots of staging sites whose production site has been added since', async () => {
    await call(from, 'activate', first.key, 'staging.shop.co.uk').expect(200);
    await move();
    await call(from, 'activate', first.key, 'shop.co.uk').expect(200);
    const lines = await exported(from);
    const file = write(lines);
    expect(
      (await to.operator.json<{ records: Record<RecordType, Counts> }>(['import', file])).records.activation,
    ).toMatchObject({ new: 1, changed: 1 });
    await move(lines);
    expect(await rows(to.db, 'activations')).toMatchObject([
      { identifier: 'staging.shop.co.uk', free: 1, site: 'shop.co.uk' },
      { identifier: 'shop.co.uk', free: 0 },
    ]);
  });

  it('are refused if they belong to another licence here', async () => {
    await move();
    const lines = await exported(from);
    const [one, two] = lines.filter(({ type }) => type === 'license');
    const [keyOfOne] = one!.keys as KeyRecord[];
    const [keyOfTwo] = two!.keys as KeyRecord[];
    const changed = (change: (line: Line) => Line | []) => lines.flatMap((line) => change(line));
    const [hereOne, hereTwo] = [await keysHere(first), await keysHere(second)].map(
      ([key]) => key!.license_id,
    );
    const line = lines.indexOf(one!) + 1;

    const both = { ...one!, keys: [keyOfOne!, { ...keyOfTwo!, id: 900 }] };
    expect(
      await refused(
        changed((each) => (each === one ? both : each === two || each.license_id === two!.id ? [] : each)),
      ),
    ).toContain(`line ${line}: its keys belong to several licences here: ${hereOne}, ${hereTwo}`);

    const added = await add(to, hereOne!, {});
    const { key_digest } = (await rows<KeyRecord>(to.db, 'license_keys')).at(-1)!;
    expect(added.stored.keyDigest).toBe(key_digest);
    const twice = { ...two!, keys: [{ ...keyOfTwo!, key_digest }] };
    expect(await refused(changed((each) => (each === two ? twice : each)))).toContain(
      `line ${line + 1}: licence ${hereOne} here has its key and the key of an earlier line`,
    );

    const unknown = { ...one!, keys: [{ ...keyOfOne!, key_digest: 'a'.repeat(64) }] };
    expect(await refused(changed((each) => (each === one ? unknown : each)))).toContain(
      `line ${line}: its reference belongs to licence ${hereOne} here, which has another key`,
    );
  });

  it('are refused if they are inconsistent', async () => {
    const client = await add(from, first.id, { label: 'Client', activationLimit: 2 });
    await call(from, 'activate', client.key, 'client.co.uk').expect(200);
    const lines = await exported(from);
    const license = lines.find(({ type }) => type === 'license')!;
    const [main, other] = license.keys as [KeyRecord, KeyRecord];
    const withLicense = (changes: object) =>
      lines.map((one) => (one === license ? { ...one, ...changes } : one));
    const withKeys = (...keys: object[]) => withLicense({ keys });
    const cases: [Line[], string][] = [
      [withLicense({ main_key_id: 900 }), 'the main key of this licence is not among its keys'],
      [
        withKeys({ ...main, activation_limit: 3 }, other),
        'the main key of a licence has no limit and no end',
      ],
      [withKeys(main, { ...other, ends_at: 'soon' }), '"keys" of the license must be a list of keys'],
      [withKeys(main, { ...other, note: '' }), '"keys" of the license must be a list of keys'],
      [withKeys(), '"keys" of the license must be a list of keys'],
      [withKeys(other, main), "a licence's keys must be sorted by id, without duplicates"],
      [
        withKeys(main, { ...other, replaced_by: other.id }),
        `key ${other.id} was replaced by a key that is missing`,
      ],
      [
        withKeys(main, { ...other, replaced_by: 900 }),
        `key ${other.id} was replaced by a key that is missing`,
      ],
      [
        withKeys(main, { ...other, key_digest: main.key_digest }),
        'this licence has the same key as that of line',
      ],
      [
        lines.map((one) => (one.type === 'activation' ? { ...one, key_id: main.id } : one)),
        `its licence has no key ${main.id} besides the main key`,
      ],
      [
        lines.map((one) => (one.type === 'plan' ? { ...one, activation_type: 'device' } : one)),
        'staging sites are free only on plans that count domains',
      ],
    ];
    for (const [damaged, message] of cases) expect(await refused(damaged)).toContain(message);
  });
});
