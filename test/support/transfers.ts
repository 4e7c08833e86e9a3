import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../src/settings/config';
import type { Db } from '../../src/store/engine/database';
import {
  FORMAT_VERSION,
  NEW_FIELDS,
  RECORDS,
  type KeyRecord,
  type RecordType,
} from '../../src/transfer/records';
import { operator, type Operator } from './operator';
import { temporaryFolder } from './processes';
import { newPlace, rows, type DatabaseKind } from './service';
import { openMigrated } from './service-process';

/** Databases to export from and import into, and the files between them. */

export const SECRET = Buffer.alloc(32, 7).toString('base64');
export const TYPES = Object.keys(RECORDS) as RecordType[];

/** A migrated database with its operator, and a folder for packages. */
export interface Place {
  settings: Settings;
  db: Db;
  packagesDir: string;
  operator: Operator;
}

const open: Db[] = [];

/** Closes all databases at the end of a test file. */
export async function closePlaces(): Promise<void> {
  await Promise.all(open.map((db) => db.destroy()));
}

export async function place(
  kind: DatabaseKind,
  settings: Settings = { LICENSING_KEY_SECRET: SECRET },
): Promise<Place> {
  const all = { ...(await newPlace(kind)), ...settings };
  const db = await openMigrated(all);
  open.push(db);
  return { settings: all, db, packagesDir: all.LICENSING_PACKAGES_DIR, operator: operator(all) };
}

/** Returns a file with other records and a matching footer. */
export function fileOf(records: Record<string, unknown>[]): string {
  const body = records.filter(({ type }) => type !== 'header' && type !== 'footer');
  const counts = Object.fromEntries(
    TYPES.map((type) => [type, body.filter((one) => one.type === type).length]),
  );
  return writeText(
    [HEADER, ...body, { type: 'footer', records: counts }].map((one) => `${JSON.stringify(one)}\n`).join(''),
  );
}

export const HEADER = { type: 'header', format: 'licensing-gateway export', version: FORMAT_VERSION };

export function writeText(text: string | Buffer): string {
  const file = join(temporaryFolder(), 'in.jsonl');
  writeFileSync(file, text);
  return file;
}

const LISTED = {
  key: 'license_keys',
  order_line: 'order_lines',
  order_event: 'order_events',
  order_license: 'order_licenses',
} as const;
type Contents = Record<RecordType | keyof typeof LISTED, Record<string, unknown>[]>;

/** Returns all rows of all tables. */
export async function contents(db: Db): Promise<Contents> {
  const all = {} as Contents;
  for (const [type, name] of Object.entries(LISTED)) all[type as keyof typeof LISTED] = await rows(db, name);
  for (const type of TYPES) all[type] = await rows(db, RECORDS[type].table);
  return all;
}

export interface Report {
  dry_run: boolean;
  records: Record<RecordType, Record<'new' | 'same' | 'changed' | 'conflicting', number>>;
  conflicts: { line: number; message: string }[];
}

export const importJson = ({ operator: op }: Place, file: string, ...args: string[]) =>
  op.json<Report>(['import', file, ...args]);

/** Returns a key of a file. */
export function newKey(id: number, terms: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id,
    key_digest: randomBytes(32).toString('hex'),
    ...{
      key_hint: null,
      key_start: null,
      key_sealed: null,
      folded_digest: null,
      label: null,
      activation_limit: null,
      ends_at: null,
    },
    ...{ replaced_by: null, created_at: '2026-01-01T00:00:00Z' },
    ...terms,
  };
}

/** Returns a file of many licences, with an activation and an event each. */
export function largeFile(count: number): string {
  const time = '2026-01-01T00:00:00Z';
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  return fileOf([
    {
      type: 'product',
      ...NEW_FIELDS.product,
      id: 1,
      name: 'Large',
      element: null,
      includes: [],
      renew_url: null,
      support_url: null,
      reminders: false,
      update_xml: null,
      created_at: time,
    },
    {
      type: 'plan',
      id: 1,
      product_id: 1,
      name: 'One',
      activation_type: 'domain',
      activation_limit: 2,
      duration: null,
      after_expiry: 'nothing',
      free_staging: false,
      self_service_moves: 3,
      upgrade_url: 'https://shop.example/upgrade',
      created_at: time,
    },
    ...ids.map((id) => ({
      type: 'license',
      ...NEW_FIELDS.license,
      id,
      main_key_id: id,
      keys: [newKey(id)],
      plan_id: 1,
      status: 'active',
      activation_limit: 2,
      customer: `c${id}@example.com`,
      reference: `order-${id}`,
      expires_at: null,
      last_check_at: null,
      last_check_ip: null,
      check_count: 0,
      created_at: time,
      metadata: {},
      revision: 1,
      issued_by: null,
      grace_days: 0,
      renews_itself: false,
    })),
    ...ids.map((id) => ({
      type: 'activation',
      id,
      license_id: id,
      identifier: `site-${id}.example`,
      name: null,
      ip: null,
      key_id: null,
      free: false,
      site: null,
      activated_at: time,
      held_until: null,
    })),
    ...ids.map((id) => ({
      type: 'event',
      id,
      license_id: id,
      at: time,
      actor: 'operator:test',
      action: 'issue',
      before: null,
      after: { status: 'active' },
      times: 1,
      last_at: null,
    })),
  ]);
}
