import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { customerDigest } from '../../src/store/customer-digest';
import { table, tablePrefix, type Db } from '../../src/store/engine/database';
import { fillTable, makeMembershipPro, MEMBERSHIP_PRO_TABLES } from '../support/membership-pro';
import { addPlan, operator, type Operator } from '../support/operator';
import { newPlace, PREFIX, rows, startTestService, type TestService } from '../support/service';

/** A move from Membership Pro, from its tables on MariaDB. */

interface Moved {
  id: number | null;
  plans: {
    key: string;
    licenses: number;
    left_out: boolean;
    target: { plan: string; new: boolean } | null;
  }[];
  counts: { product: string; plan: string; state: string; licenses: number }[];
  new: number;
  changed: number;
  same: number;
  kept: number;
  kept_licenses: { license: number; reference: string; fields: string[] }[];
  left_out: { reason: string; count: number; rows: number[] }[];
  warnings: { code: string; message: string; count: number; rows: number[]; customers: string[] }[];
  samples: { before: { id: string; key_hints: string[] }; after: { reference: string } }[];
  made: { products: number; plans: number };
}

interface License {
  id: number;
  plan_id: number;
  status: string;
  customer: string | null;
  reference: string;
  expires_at: string | null;
  activations_used: number;
  activation_limit: number;
}

const hex = () => randomBytes(16).toString('hex').toUpperCase();
const KEYS = Array.from({ length: 14 }, hex);
const key = (i: number) => KEYS[i] as string;

const main = (id: number, plan: number, user: number, status: number, to: string | null, more = {}) => ({
  ...{
    id,
    plan_id: plan,
    user_id: user,
    email: user === 0 ? `guest${id}@example.com` : `user${user}@example.com`,
  },
  ...{ first_name: 'Jo', last_name: `User ${user}`, plan_main_record: 1, plan_subscription_status: status },
  ...{ plan_subscription_from_date: '2026-01-01 00:00:00', plan_subscription_to_date: to, published: status },
  ...more,
});
const LATER = '2030-05-01 23:59:59';
const BEFORE = '2026-02-01 23:59:59';

/** Plans: 3 and 4 have one document, 8 has another, 9 is a club of both, and 7 has no licences. */
const SHOP = {
  osmembership_plans: [
    ...[3, 4, 8, 9, 7].map((id) => ({
      id,
      title: { 3: 'Pro 1 year', 4: 'Pro for life', 8: 'Forms 1 year', 9: 'Club', 7: 'Old' }[id],
      ...{ subscription_length: 1, subscription_length_unit: 'Y', lifetime_membership: id === 4 ? 1 : 0 },
    })),
  ],
  osmembership_documents: [
    { id: 1, title: 'Pro', update_package: 'pro.zip' },
    { id: 2, title: 'Forms', update_package: 'forms.zip' },
  ],
  osmembership_plan_documents: [
    ...[3, 4, 9].map((plan_id) => ({ plan_id, document_id: 1 })),
    ...[8, 9].map((plan_id) => ({ plan_id, document_id: 2 })),
  ],
  osmembership_subscribers: [
    main(1, 3, 101, 1, LATER),
    { ...main(2, 3, 101, 1, LATER), plan_main_record: 0 },
    main(3, 4, 102, 1, '2099-12-31 23:59:59'),
    main(4, 3, 103, 2, BEFORE),
    main(5, 3, 104, 0, LATER),
    main(6, 3, 105, 3, LATER),
    main(7, 3, 106, 4, LATER),
    // Two plans, neither of which covers the other.
    main(8, 3, 107, 1, LATER),
    main(9, 8, 107, 1, '2031-01-01 00:00:00'),
    // The club covers the other plan.
    main(10, 3, 108, 1, '2032-01-01 00:00:00'),
    main(11, 9, 108, 1, LATER),
    // Guests have no user and no key.
    main(12, 3, 0, 1, LATER),
    main(13, 3, 0, 1, LATER),
    // A second main row of the same plan.
    main(14, 3, 109, 2, BEFORE),
    main(15, 3, 109, 1, LATER),
    main(16, 99, 110, 1, LATER),
    main(17, 3, 111, 1, '0000-00-00 00:00:00', { email: 'no address' }),
    // This user has only keys for single sites.
    main(18, 3, 112, 1, LATER),
  ],
  osmembership_downloadids: [
    { id: 1, user_id: 101, download_id: key(0), published: 1, domain: null },
    { id: 2, user_id: 101, download_id: key(1), published: 1, domain: 'www.client.example' },
    { id: 3, user_id: 101, download_id: key(2).toLowerCase(), published: 0, domain: 'bad domain' },
    { id: 4, user_id: 102, download_id: key(3), published: 1, domain: '' },
    { id: 5, user_id: 103, download_id: key(4), published: 1, domain: null },
    { id: 6, user_id: 107, download_id: key(5), published: 1, domain: null },
    { id: 7, user_id: 108, download_id: key(6), published: 1, domain: null },
    { id: 8, user_id: 112, download_id: key(7), published: 1, domain: 'only.example' },
    { id: 9, user_id: 999, download_id: key(8), published: 1, domain: null },
    { id: 10, user_id: 106, download_id: key(9), published: 1, domain: null },
    { id: 11, user_id: 101, download_id: '', published: 1, domain: null },
  ],
};

describe('moving in from Membership Pro', () => {
  let settings: Settings;
  let service: TestService;
  let db: Db;
  let seller: Operator;
  let prefix: string;
  let first: number;
  const move = (...args: string[]) => seller.json<Moved>(['import', '--from', 'membershippro', ...args]);
  const codes = ({ warnings }: Moved) => Object.fromEntries(warnings.map(({ code, count }) => [code, count]));
  const reasons = ({ left_out }: Moved) =>
    Object.fromEntries(left_out.map(({ reason, count }) => [reason, count]));
  const licenseOf = async (id: number) =>
    (await rows<License>(db, 'licenses')).find(
      ({ reference }) => reference === `membershippro:${id}`,
    ) as License;
  const keysOf = (license: License) =>
    db(table(db, 'license_keys')).where({ license_id: license.id }).orderBy('id');
  const validate = async (license_key: string) => {
    const answer = await request(service.url).post(`${PREFIX}/licenses/validate`).send({ license_key });
    return (answer.body as { data: object }).data;
  };
  const checksums = async () => {
    const names = MEMBERSHIP_PRO_TABLES.map((name) => `${prefix}${name}`).join(', ');
    return JSON.stringify(((await db.raw(`CHECKSUM TABLE ${names}`)) as [unknown])[0]);
  };

  beforeAll(async () => {
    settings = {
      ...(await newPlace('MariaDB')),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    };
    service = await startTestService(settings);
    ({ db } = service);
    prefix = tablePrefix(db);
    seller = operator(settings);
    await seller.json(['product', 'add', '--name', 'Pro', '--id', '42']);
    await addPlan(seller, '42', 'One year', 'domain', '3', '--duration', '1y');
    await makeMembershipPro(db, prefix);
    await db.raw(`SET sql_mode = ''`);
    await fillTable(db, prefix, SHOP);
    const known = (user: number, more: object) => {
      const address = `user${user}@example.com`;
      return { digest: customerDigest(address), address, ...more };
    };
    await db(table(db, 'customers')).insert(known(102, { chosen_name: 'Chosen' }));
    await db(table(db, 'customers')).insert(known(109, { language: 'de' }));
    await db(table(db, 'customers')).insert(known(106, { name: 'Told', told_at: '2026-01-01 00:00:00' }));
  });
  afterAll(() => service.stop());

  it('shows in a dry run what would be imported, and asks for plans without a target', async () => {
    const before = await checksums();
    const dry = await move('--dry-run');
    expect(dry.plans).toMatchObject([
      { key: '3', licenses: 10, target: null },
      { key: '4', licenses: 1, target: null },
      { key: '8', licenses: 1, target: null },
      { key: '9', licenses: 1, target: null },
    ]);
    expect(dry).toMatchObject({ id: null, new: 0, counts: [], samples: [] });
    const refused = await seller.run(['import', '--from', 'membershippro', '--plans', '3=1,4=1']);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toMatch(
      /assign these plans, which have licences: 8 \(Forms 1 year\): 1, 9 \(Club\): 1/,
    );
    expect(await rows(db, 'licenses')).toEqual([]);
    expect(await rows(db, 'imports')).toEqual([]);
    expect(await checksums()).toBe(before);
  });

  it('counts, warns and shows examples without a whole key', async () => {
    const dry = await move('--dry-run', '--plans', '3=1,4=1', '--make-plans');
    expect(dry.new).toBe(13);
    expect(dry.counts).toEqual([
      { product: 'Club', plan: 'Club', state: 'active', licenses: 1 },
      { product: 'Forms', plan: 'Forms 1 year', state: 'active', licenses: 1 },
      { product: 'Pro', plan: 'One year', state: 'active', licenses: 9 },
      { product: 'Pro', plan: 'One year', state: 'cancelled', licenses: 1 },
      { product: 'Pro', plan: 'One year', state: 'expired', licenses: 1 },
    ]);
    expect(reasons(dry)).toEqual({
      'a renewal, which the main row of its plan has': 1,
      'it was never paid (pending)': 1,
      'it was cancelled before it was paid': 1,
      'its plan no longer exists': 1,
      'the user has another main row of the same plan, which ends later': 1,
      'a Download ID whose user has no subscription that is moved': 1,
    });
    expect(codes(dry)).toMatchObject({
      'unpublished-key': 1,
      'no-cover': 1,
      'bad-customer': 1,
      'bad-site': 1,
    });
    const asked = dry.warnings.find(({ code }) => code === 'no-cover');
    expect(asked).toMatchObject({ customers: ['user107@example.com'] });
    expect(asked?.message).toContain('"3+8=PLAN"');
    expect(dry.samples.length).toBe(10);
    for (const one of KEYS) expect(JSON.stringify(dry).toUpperCase()).not.toContain(one);
    // One plan of this service for both.
    const together = await move('--dry-run', '--plans', '3=1,4=1,8 + 3=1', '--make-plans');
    expect(together.plans.find(({ key: one }) => one === '3+8')).toMatchObject({ licenses: 1 });
    expect(codes(together)['no-cover']).toBeUndefined();
    expect(await rows(db, 'licenses')).toEqual([]);
    expect(await rows(db, 'products')).toHaveLength(1);
    const printed = await seller.run([
      'import',
      '--from',
      'membershippro',
      '--plans',
      '3=1,4=1',
      '--make-plans',
      '--dry-run',
    ]);
    expect(printed.stdout).toContain(
      'Next: licensing import --from membershippro --plans "3=1,4=1,8=new:0:1y:\\"Forms 1 year\\",9=new:0:1y:\\"Club\\""',
    );
  });

  it('moves in, and the old keys work in all their old spellings', async () => {
    const before = await checksums();
    const moved = await move('--plans', '3=1,4=1', '--make-plans');
    first = moved.id as number;
    expect(moved).toMatchObject({ new: 13, made: { products: 2, plans: 2 } });
    expect(await checksums()).toBe(before);
    const one = await licenseOf(1);
    expect(one).toMatchObject({
      ...{ customer: 'user101@example.com', status: 'active', expires_at: '2030-05-01 23:59:59' },
      ...{ activation_limit: 3, activations_used: 1 },
    });
    expect((await keysOf(one)).map((row) => row.activation_limit)).toEqual([null, 1, 1]);
    expect(await db(table(db, 'activations')).where({ license_id: one.id })).toMatchObject([
      { identifier: 'client.example', key_id: (await keysOf(one))[1]!.id },
    ]);
    expect(await licenseOf(3)).toMatchObject({ expires_at: null });
    expect(await licenseOf(7)).toMatchObject({ status: 'cancelled' });
    // Without an end at the source, the plan's period counts from the start.
    expect(await licenseOf(17)).toMatchObject({ customer: null, expires_at: '2027-01-01 00:00:00' });
    for (const text of [key(0), key(0).toLowerCase(), `12345:${key(0)}`, ` ${key(0)} `, key(2)])
      expect(await validate(text)).toMatchObject({ valid: true });
    expect(await validate(key(4))).toMatchObject({ valid: false, status: 'expired' });
    // A customer's keys move to the plan that covers most, or to the licence that ends last.
    expect(await keysOf(await licenseOf(11))).toHaveLength(1);
    expect(await validate(key(6))).toMatchObject({ plan: 'Club' });
    expect(await validate(key(5))).toMatchObject({ plan: 'Forms 1 year' });
    // A key for a single site cannot be the main key.
    const sites = await keysOf(await licenseOf(18));
    expect(sites.map((row) => row.activation_limit)).toEqual([null, 1]);
  });

  it('changes nothing when it is run again', async () => {
    const before = JSON.stringify([
      await rows(db, 'licenses'),
      await rows(db, 'events'),
      await rows(db, 'license_keys'),
    ]);
    expect(await move()).toMatchObject({ new: 0, changed: 0, kept: 0, same: 13 });
    expect(
      JSON.stringify([await rows(db, 'licenses'), await rows(db, 'events'), await rows(db, 'license_keys')]),
    ).toBe(before);
  });

  it('takes new and changed rows, keeps changes made here, and moves a key to another licence', async () => {
    const [one, ended] = [await licenseOf(1), await licenseOf(4)];
    await seller.json(['license', 'set-limit', String(one.id), '9']);
    await seller.json(['license', 'set-customer', String(one.id), 'new@example.com']);
    await seller.json(['license', 'revoke', String(ended.id)]);
    await seller.json(['activation', 'remove', String(one.id), 'client.example']);
    const subscribers = () => db(`${prefix}osmembership_subscribers`);
    await subscribers()
      .where({ id: 1 })
      .update({ plan_subscription_to_date: '2033-01-01 00:00:00', email: 'other@example.com' });
    await subscribers()
      .where({ id: 4 })
      .update({ plan_subscription_status: 1, plan_subscription_to_date: LATER });
    // This customer bought the club, so the key moves to it.
    await fillTable(db, prefix, {
      osmembership_subscribers: [main(20, 9, 102, 1, LATER), main(21, 3, 120, 1, LATER)],
      osmembership_downloadids: [
        { id: 20, user_id: 120, download_id: key(10), published: 1, domain: 'new.example' },
        { id: 21, user_id: 101, download_id: key(11), published: 1, domain: 'late.example' },
      ],
    });
    const dry = await move('--dry-run');
    expect(dry).toMatchObject({ new: 2, changed: 2, kept: 2 });
    expect(await move()).toMatchObject({ new: 2, changed: 2, kept: 2, same: 11 });
    expect(await licenseOf(1)).toMatchObject({
      ...{
        expires_at: '2033-01-01 00:00:00',
        customer: 'new@example.com',
        activation_limit: 9,
        activations_used: 1,
      },
    });
    // The seller removed the old site, so it is not imported again. A new one is.
    expect(
      (await db(table(db, 'activations')).where({ license_id: one.id })).map((row) => row.identifier),
    ).toEqual(['late.example']);
    expect(await licenseOf(4)).toMatchObject({ status: 'revoked', expires_at: '2030-05-01 23:59:59' });
    expect((await keysOf(await licenseOf(20))).map((row) => row.activation_limit)).toEqual([null, null]);
    expect(await validate(key(3))).toMatchObject({ valid: true, plan: 'Club' });
    expect(await keysOf(await licenseOf(3))).toHaveLength(1);
    const again = await move();
    expect(again).toMatchObject({ new: 0, changed: 0, kept: 2, same: 13 });
    expect(again.kept_licenses.map(({ reference, fields }) => [reference, fields])).toEqual([
      ['membershippro:1', ['customer']],
      ['membershippro:4', ['status']],
    ]);
  });

  const names = async () =>
    Object.fromEntries(
      (await rows<{ address: string; name: string | null; chosen_name: string | null }>(db, 'customers')).map(
        ({ address, name, chosen_name }) => [address.replace('@example.com', ''), chosen_name ?? name],
      ),
    );

  it('names customers who have no name yet', async () => {
    expect(await names()).toMatchObject({
      ...{ user101: 'Jo User 101', guest12: 'Jo User 0', user109: 'Jo User 109' },
      ...{ user102: 'Chosen', user106: 'Told' },
    });
  });

  it('warns of a site that two licences of one product have', async () => {
    const users = [130, 131, 132];
    await fillTable(db, prefix, {
      osmembership_subscribers: users.map((user) => main(user, user === 132 ? 8 : 3, user, 1, LATER)),
      osmembership_downloadids: users.map((user) => ({
        ...{ id: user, user_id: user, download_id: hex(), published: 1, domain: 'twice.example' },
      })),
    });
    const dry = await move('--dry-run');
    expect(dry.warnings.find(({ code }) => code === 'site-twice')).toMatchObject({ count: 1, rows: [131] });
    await db(`${prefix}osmembership_subscribers`).whereIn('user_id', users).delete();
    await db(`${prefix}osmembership_downloadids`).whereIn('user_id', users).delete();
  });

  it('gives a customer of two plans the covering plan that the map names, and other customers their plan', async () => {
    const users = [140, 141];
    const club = (await rows<{ id: number; name: string }>(db, 'plans')).find(
      ({ name }) => name === 'Club',
    )!.id;
    await fillTable(db, prefix, {
      osmembership_subscribers: [
        main(40, 3, 140, 1, LATER),
        main(41, 8, 140, 1, '2031-01-01 00:00:00'),
        main(42, 3, 141, 1, LATER),
      ],
      osmembership_downloadids: users.map((user) => ({
        ...{ id: user, user_id: user, download_id: key(user - 128), published: 1, domain: null },
      })),
    });
    const asked = await move('--dry-run');
    expect(asked.warnings).toContainEqual(
      expect.objectContaining({
        code: 'no-cover',
        customers: expect.arrayContaining(['user140@example.com']),
      }),
    );
    const moved = await move('--plans', `8+3=${club}`);
    expect(codes(moved)).not.toHaveProperty('no-cover');
    expect(await validate(key(12))).toMatchObject({ valid: true, plan: 'Club' });
    expect(await validate(key(12).toLowerCase())).toMatchObject({ valid: true, plan: 'Club' });
    expect(await validate(key(13))).toMatchObject({ valid: true, plan: 'One year' });
    // The next run remembers the map.
    expect(await move()).toMatchObject({ new: 0, changed: 0 });
  });

  it('undoes a run, except for licences that were used or changed', async () => {
    const second = await licenseOf(21);
    await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .send({ license_key: key(10), identifier: 'new.example' })
      .expect(200);
    await db(table(db, 'customers'))
      .where({ address: 'guest13@example.com' })
      .update({ note: 'Rings on Fridays' });
    const undone = await seller.json(['import', '--undo', String(first)]);
    expect(undone).toMatchObject({
      removed: { licenses: 10, products: 1, plans: 1 },
      left: expect.arrayContaining([
        expect.objectContaining({ kind: 'license', id: (await licenseOf(9)).id, code: 'later-run' }),
        { kind: 'license', id: (await licenseOf(1)).id, code: 'changed', reason: 'it was changed' },
      ]),
    });
    expect(await seller.run(['import', '--undo', String(first)])).toMatchObject({ code: 1 });
    // Licence 21 belongs to the second run. Its site was activated before the call, which changed nothing.
    expect(await licenseOf(21)).toMatchObject({ id: second.id });
    const listed = await seller.json<{ id: number; undone_at: string | null }[]>(['import', '--list']);
    expect(listed.map(({ undone_at }) => undone_at !== null)).toEqual([
      ...listed.slice(1).map(() => false),
      true,
    ]);
    expect((await rows(db, 'products')).length).toBe(2);
    const left = await names();
    expect(left).toMatchObject({ user102: 'Chosen', user106: 'Told', user109: null });
    // A customer who keeps a licence keeps their name.
    expect(left).toMatchObject({ user103: 'Jo User 103' });
    expect(Object.keys(left)).not.toContain('guest12');
    // The seller's note stays, but not the name.
    expect(left).toMatchObject({ guest13: null });
  });
});
