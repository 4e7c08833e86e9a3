import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setLimit } from '../../src/licensing/amend';
import type { moved } from '../../src/texts/operators/en/moved';
import { anyCsv } from '../../src/transfer/moving/any-csv';
import { eddCsv } from '../../src/transfer/moving/edd-csv';
import { lemonSqueezyCsv } from '../../src/transfer/moving/lemonsqueezy-csv';
import { lmfwcCsv } from '../../src/transfer/moving/lmfwc-csv';
import { moveLicensesIn, type MoveOptions } from '../../src/transfer/moving/run';
import type { MovingSource } from '../../src/transfer/moving/source';
import { SOURCES } from '../../src/transfer/moving/sources';
import {
  DATABASE_KINDS,
  givePlan,
  newPlace,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

/** Runs of a move from files, one after another: the fields that a run changes, and the fields that it leaves unchanged. */

interface Stored {
  id: number;
  plan_id: number;
  customer: string | null;
  expires_at: string | null;
  activation_limit: number;
}

const KEY = 'd41d8cd98f00b204e9800998ecf8427e';
const NOW = new Date('2026-06-01T12:00:00Z');
const LATER = new Date('2026-06-02T12:00:00Z');

async function* bytesOf(file: string | Buffer): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(file));
}

let service: TestService;
const run = (
  source: MovingSource,
  file: string | Buffer | undefined,
  more: Partial<Omit<MoveOptions, 'users'>> & { users?: string } = {},
) => {
  const { users, ...options } = more;
  return moveLicensesIn(service.db, {
    ...{ source, dryRun: false, secret: undefined, actor: 'operator:test', now: NOW },
    ...options,
    file: file === undefined ? undefined : bytesOf(file),
    users: users === undefined ? undefined : bytesOf(users),
  });
};
const licenses = () => rows<Stored>(service.db, 'licenses');

describe.each(DATABASE_KINDS)('runs after each other, on %s', (kind) => {
  let planId: number;
  beforeEach(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    planId = await givePlan(service.db, { limit: 3 });
  });
  afterEach(() => service.stop());

  const edd = (status: string, end: string, more: { sites?: string; limit?: string } = {}) =>
    'License ID,License Key,License Status,Customer Email,Product Name,Expiration Date,Activation Limit,Activated URLs\n' +
    `1,${KEY},${status},jo@example.com,Gallery,${end},${more.limit ?? ''},${more.sites ?? ''}\n`;

  it('renew a licence that the source called expired before its end', async () => {
    const plans = `Gallery=${planId}`;
    await run(eddCsv, edd('expired', '2030-01-01'), { plans });
    expect(await licenses()).toMatchObject([{ expires_at: '2026-06-01 12:00:00' }]);
    await run(eddCsv, edd('expired', '2030-01-01', { sites: 'a.example' }), { now: LATER });
    expect(await licenses()).toMatchObject([{ expires_at: '2026-06-01 12:00:00' }]);
    const renewed = await run(eddCsv, edd('active', '2031-01-01', { sites: 'a.example' }), { now: LATER });
    expect(renewed).toMatchObject({ changed: 1, kept: 0 });
    expect(await licenses()).toMatchObject([{ expires_at: '2031-01-01 23:59:59' }]);
  });

  it('take a changed field after a run that did not state it', async () => {
    const file = (limit: number) =>
      `id,order_id,product_id,user_id,license_key,status,times_activated_max\n1,7,9,5,${KEY},2,${limit}\n`;
    const users = (email: string) => `ID,user_login,user_email\n5,jo,${email}\n6,ends too soon\n`;
    const first = await run(lmfwcCsv, file(1), { plans: `9=${planId}`, users: users('jo@example.com') });
    expect(first.warnings).toMatchObject([{ code: 'users-cells', rows: [3] }]);
    const unsaid = await run(lmfwcCsv, file(2), { users: users('') });
    expect(unsaid).toMatchObject({ changed: 1, kept: 0 });
    expect(unsaid.warnings.map(({ code }) => code)).toContain('no-customer');
    expect(await licenses()).toMatchObject([{ customer: 'jo@example.com', activation_limit: 2 }]);
    expect(await run(lmfwcCsv, file(2), { users: users('new@example.com') })).toMatchObject({ changed: 1 });
    expect(await licenses()).toMatchObject([{ customer: 'new@example.com' }]);
  });

  it('give a licence the limit of its new plan, unless an operator has set a limit here', async () => {
    const other = await givePlan(service.db, { limit: 5 });
    await run(eddCsv, edd('active', 'lifetime'), { plans: `Gallery=${planId}` });
    await run(eddCsv, edd('active', 'lifetime'), { plans: `Gallery=${other}` });
    expect(await licenses()).toMatchObject([{ plan_id: other, activation_limit: 5 }]);
    const [{ id } = { id: 0 }] = await licenses();
    const [event] = (await rows<{ after_json: string | null }>(service.db, 'events')).slice(-1);
    expect(JSON.parse(event?.after_json ?? '{}')).toEqual({ plan_id: other, activation_limit: 5 });
    await setLimit(service.db, id, 9, { actor: 'operator:test', now: NOW });
    await run(eddCsv, edd('active', 'lifetime'), { plans: `Gallery=${planId}` });
    expect(await licenses()).toMatchObject([{ plan_id: planId, activation_limit: 9 }]);
  });

  it('ask again for the plan of a table whose rows name none: it may be another product’s', async () => {
    await run(anyCsv, 'Key\nTABLE-KEY-0001\n', { plans: `*=${planId}` });
    await expect(run(anyCsv, 'Key\nTABLE-KEY-0002\n')).rejects.toMatchObject({
      facts: { code: 'unsaid-plans' },
    });
    await run(anyCsv, 'Key,Plan\nTABLE-KEY-0003,Old\n', { plans: `Old=${planId}` });
    expect(await run(anyCsv, 'Key,Plan\nTABLE-KEY-0004,Old\n')).toMatchObject({ new: 1 });
  });

  it('leave a key with the licence that was brought from another system', async () => {
    await run(eddCsv, edd('active', 'lifetime'), { plans: `Gallery=${planId}` });
    const twice = await run(
      lemonSqueezyCsv,
      `id,key,status,product_name,activation_limit,expires_at\n77,${KEY},active,Gallery,,\n`,
      { plans: `Gallery=${planId}` },
    );
    expect(twice).toMatchObject({ new: 0, leftOut: [{ code: 'keys-elsewhere' }] });
    expect(twice.warnings.map(({ code }) => code)).toContain('key-taken');
    expect(await licenses()).toHaveLength(1);
  });
});

/** A heading and a row of each source. K, E and N are replaced with the key, the end and the customer's name. */
const FILES: Record<string, [heading: string, row: string]> = {
  'edd-csv': [
    'License ID,License Key,License Status,Customer Name,Product Name,Expiration Date',
    '1,K,active,N,Gallery,E',
  ],
  'lmfwc-csv': ['id,order_id,product_id,user_id,user_name,license_key,status,expires_at', '1,7,9,5,N,K,2,E'],
  'freemius-csv': ['id,secret_key,user_name,plugin_id,expiration,quota,is_cancelled', '1,K,N,9,E,3,0'],
  'lemonsqueezy-csv': [
    'id,key,status,user_name,product_name,activation_limit,expires_at',
    '1,K,active,N,Gallery,,E',
  ],
  'gumroad-csv': [
    'Purchase ID,Item Name,Buyer Name,Purchase Email,Fully Refunded?,Disputed?,Dispute Won?,Purchase Date,Subscription End Date,License Key,License Key Enabled?',
    'a1,Gallery,N,jo@example.com,0,0,0,2026-01-01,E,K,1',
  ],
  csv: ['id,license_key,state,customer_name,product,valid until', '1,K,active,N,Gallery,E'],
};

describe('files with mistakes', () => {
  beforeEach(async () => {
    service = await startTestService({}, NOW);
  });
  afterEach(() => service.stop());

  const sources = SOURCES.filter(({ reads }) => reads !== 'tables').map(
    (source) => [source.name, source] as const,
  );

  it('are tried for each source that reads files', () => {
    expect(Object.keys(FILES).sort()).toEqual(sources.map(([name]) => name).sort());
  });

  it.each(sources)('of %s', async (name, source) => {
    const [heading, row] = FILES[name] as [string, string];
    const fill = (key: string, end: string, who = 'Jo') =>
      row.replace('K', key).replace('E', end).replace('N', who);
    const dry = (file: string | Buffer) => run(source, file, { dryRun: true, makePlans: true });
    const refused = async (file: string | Buffer) =>
      (await dry(file).catch((error: unknown) => error)) as { facts: { code: keyof typeof moved.refusals } };
    const codes: string[] = [];
    for (const file of [
      '',
      '\n\n',
      'a,b\n1,2\n',
      fill(KEY, '2030-01-01'),
      Buffer.from([0x50, 0x4b, 3, 4, 0, 0x81, 0xff, 0]),
      `${heading}\n${fill(KEY, '2030-01-01', `"${'x'.repeat(2_000_000)}"`)}\n`,
      `${heading}\n${fill(KEY, '2030-01-01', '"never closed')}\n`,
    ])
      codes.push((await refused(file)).facts.code);
    // The source for any table only needs to recognize the column with the keys.
    const other = name === 'csv' ? 'no-key-column' : 'other-table';
    expect(codes).toEqual(['empty-file', 'empty-file', other, other, 'not-text', 'long-row', 'open-quote']);
    for (const [other, [first, second]] of Object.entries(FILES)) {
      if ([name, other].includes('csv') || other === name) continue;
      const { facts } = await refused(`${first}\n${second}\n`);
      expect([other, ['other-table', 'foreign-column'].includes(facts.code)]).toEqual([other, true]);
    }
    expect(await dry(`${heading}\n`)).toMatchObject({ new: 0, leftOut: [], plans: [] });
    // The same row twice, a row with too few cells, and a row whose end is not a date.
    const odd = await run(
      source,
      `${heading}\r\n${fill(KEY, '2030-01-01')}\r\n${fill(KEY, '2030-01-01')}\r\n1,2\r\n${fill(`${KEY}0`, '2030-13-45').replace(/^\w+/, 'z9')}\r\n`,
      { dryRun: true, makePlans: true, dates: 'iso' },
    );
    expect(odd.new).toBe(1);
    expect(odd.leftOut.map(({ code, rows: lines }) => [code, lines]).sort()).toEqual([
      ['cells', [4]],
      ['no-date', [5]],
      ['other-row', [3]],
    ]);
    // Windows-1252 with semicolons, a "sep=" line and quoted keys, as Excel saves it.
    const windows = `sep=;\r\n${heading.replaceAll(',', ';')}\r\n${fill(`="${KEY}"`, '31.01.2030', 'J\u00fcrgen').replaceAll(',', ';')}\r\n`;
    const taken = await run(source, Buffer.from(windows, 'latin1'), { makePlans: true, confirmed: true });
    expect(taken).toMatchObject({ new: 1, leftOut: [] });
    expect(await licenses()).toMatchObject([{ expires_at: '2030-01-31 23:59:59' }]);
    expect(await run(source, Buffer.from(windows, 'latin1'), { confirmed: true })).toMatchObject({
      ...{ new: 0, changed: 0, same: 1 },
    });
  });
});
