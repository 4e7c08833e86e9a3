import type { Connection } from 'mysql2/promise';
import { addPlan, addProduct } from '../src/licensing/catalogue';
import {
  listActivationPage,
  listEventPage,
  listKeyPage,
  listLicensePage,
  listPlanPage,
  listProductPage,
  listRequestPage,
  type Page,
} from '../src/licensing/lists';
import type { Db } from '../src/store/engine/database';
import { migrate } from '../src/setup/database';
import { toSqlTime } from '../src/store/engine/time';
import type { MariaDb } from '../test/support/servers';
import { testConfig } from '../test/support/service';
import { openMigrated } from '../test/support/service-process';
import { cpuTime, quantile } from './measure';

/**
 * The operator's lists with many licences. The data are deliberately unfavourable: ends and first customers follow the
 * ids, so that the rows of a filter are often all at the far end, and some filters match five.
 */

const CHUNK = 100_000;
const PLANS: Record<number, number> = { 42: 3, 43: 40, 44: 1, 45: 1 };
/** Product 42's second plan */
const OTHER_PLAN = 2;

/** The period with the two requests of each licence, in the order of ids */
const HISTORY_SECONDS = 20_000_000;

/** `:first` and `:last` are ids, `:n` is the number of licences, `:start` begins the history, `:now` halves the ends */
const INSERTS = [
  // The older half has ended. Five are revoked, five are on plan 3. The other plans have equal shares.
  `INSERT INTO licensing_licenses
     (id, main_key_id, plan_id, status, activation_limit, activations_used, customer, reference, expires_at, created_at)
   SELECT seq, seq,
     CASE WHEN seq * 7 % (:n DIV 5) = 1 THEN 3 WHEN seq % 10 = 0 THEN 4 + seq % 42 WHEN seq % 2 THEN 1 ELSE 2 END,
     CASE WHEN seq % (:n DIV 5) = 3 THEN 'revoked' WHEN seq % 20 = 0 THEN 'suspended' WHEN seq % 21 = 0 THEN 'cancelled'
       ELSE 'active' END,
     3, 1,
     CASE WHEN seq < :n * 0.3 THEN CONCAT(CHAR(97 + seq * 26 DIV :n USING utf8mb4), seq, '@example.com')
       WHEN seq % 1000 = 5 THEN 'agency@example.org' ELSE CONCAT(LEFT(MD5(seq), 12), '@example.com') END,
     CONCAT('order-', seq),
     CASE WHEN seq % 10 = 1 THEN NULL
       ELSE ':now' + INTERVAL CAST(seq * 730.0 / :n AS SIGNED) - 365 DAY + INTERVAL seq % 80000 SECOND END,
     '2026-01-01'
   FROM seq_:first_to_:last`,
  `UPDATE licensing_licenses SET customer_digest = LEFT(SHA2(customer, 256), 32) WHERE id BETWEEN :first AND :last`,
  // 400 names. One in 400 licences has each.
  `INSERT INTO licensing_customers (digest, address, name)
   SELECT customer_digest, customer, CONCAT(
     ELT(1 + id % 20, 'Anna', 'Ben', 'Carla', 'David', 'Eva', 'Felix', 'Gül', 'Hans', 'Ida', 'Jan', 'Karin', 'Luis', 'Maria',
       'Nina', 'Otto', 'Paul', 'Rosa', 'Sven', 'Thomas', 'Uwe'), ' ',
     ELT(1 + id DIV 20 % 20, 'Müller', 'Schmidt', 'Weber', 'Meyer', 'Wagner', 'Becker', 'Schulz', 'Hoffmann', 'Smith', 'Jones',
       'Taylor', 'Brown', 'Garcia', 'Lopez', 'Rossi', 'Ferrari', 'Dubois', 'Moreau', 'Novak', 'Kim'))
   FROM licensing_licenses WHERE id BETWEEN :first AND :last AND customer <> 'agency@example.org'`,
  `INSERT INTO licensing_license_keys (id, license_id, key_digest, key_hint, created_at)
   SELECT seq, seq, SHA2(CONCAT('BE9C0000-00000000-00000000-', LPAD(HEX(seq), 8, '0')), 256), IF(seq % 20, LPAD(HEX(seq), 8, '0'), '2024'), '2026-01-01' FROM seq_:first_to_:last`,
  `INSERT INTO licensing_activations (license_id, identifier, ip, site, activated_at)
   SELECT seq, IF(seq % 50, CONCAT('site-', seq, '.example.com'), 'localhost'), '10.0.0.1', 'example.com', '2026-01-01'
   FROM seq_:first_to_:last`,
  // Half of all licences were refused once; only old ones recently.
  `INSERT INTO licensing_license_refusals (license_id, at)
   SELECT seq, ':now' - INTERVAL IF(seq < :n * 0.05, seq % 10, 20 + seq % 300) DAY
   FROM seq_:first_to_:last WHERE seq % 2`,
  `INSERT INTO licensing_events (license_id, at, actor, action, after_json, unsummed)
   SELECT IF(seq % 50, seq, 7), ':start' + INTERVAL seq * ${HISTORY_SECONDS} DIV :n SECOND, 'operator:bench', 'issue',
     '{"status":"active"}', 0
   FROM seq_:first_to_:last`,
  // Each licence has two entries; one licence and one address have very many.
  `INSERT INTO licensing_access_log (at, endpoint, outcome, license_id, key_hint, product_id, version, identifier, ip, user_agent, unsummed)
   SELECT ':start' + INTERVAL (seq * 2 - half) * ${HISTORY_SECONDS} DIV 2 DIV :n SECOND, 'download',
     CASE WHEN seq % (:n DIV 5) = 9 THEN 'IDENTIFIER_REQUIRED' WHEN seq % 10 = 9 THEN 'LICENSE_EXPIRED' ELSE 'ok' END,
     IF(seq % 50, seq, 7), LPAD(HEX(seq), 8, '0'), IF(seq % 10 = 9, 43, 42), '2.1.0', NULL,
     IF(seq % 5, CONCAT('10.', seq DIV 65536 % 256, '.', seq DIV 256 % 256, '.', seq % 256), '192.0.2.1'), 'Joomla/5.3', 0
   FROM seq_:first_to_:last JOIN (SELECT 0 AS half UNION ALL SELECT 1) halves`,
  // The sums of these entries, of each product and of all products.
  `INSERT INTO licensing_refused_licenses (day, product_id, code, license_id)
   SELECT DISTINCT LEFT(at, 10), IF(one, product_id, 0), outcome, license_id
   FROM licensing_access_log JOIN (SELECT 0 AS one UNION ALL SELECT 1) ones
   WHERE outcome <> 'ok' AND license_id BETWEEN :first AND :last`,
  `INSERT INTO licensing_daily_sums (product_id, day, kind, name, times, licenses)
   SELECT IF(one, product_id, 0) AS product, LEFT(at, 10) AS day, IF(outcome = 'ok', 'download', 'refused') AS kind,
     IF(outcome = 'ok', version, outcome) AS name, COUNT(*), IF(outcome = 'ok', 0, COUNT(DISTINCT license_id))
   FROM licensing_access_log JOIN (SELECT 0 AS one UNION ALL SELECT 1) ones
   WHERE license_id BETWEEN :first AND :last GROUP BY product, day, kind, name
   ON DUPLICATE KEY UPDATE times = times + VALUES(times), licenses = licenses + VALUES(licenses)`,
  `INSERT INTO licensing_daily_sums (product_id, day, kind, name, times, licenses)
   SELECT IF(one, p.product_id, 0) AS product, LEFT(e.at, 10) AS day, 'issued', '', COUNT(*), 0
   FROM licensing_events e JOIN licensing_licenses l ON l.id = e.license_id JOIN licensing_plans p ON p.id = l.plan_id
     JOIN (SELECT 0 AS one UNION ALL SELECT 1) ones
   WHERE e.license_id BETWEEN :first AND :last GROUP BY product, day
   ON DUPLICATE KEY UPDATE times = times + VALUES(times)`,
  // A third of the sites report their version, and each licence has the months of its requests.
  `INSERT INTO licensing_told_sites (license_id, product_id, site, version, first_at, at)
   SELECT seq, 42, CONCAT('site-', seq, '.example.com'), ELT(1 + seq % 6, '2.1.0', '2.0.9', '2.0.8', '1.9.0', '1.8.3', '1.8.0'),
     ':now' - INTERVAL seq % 170 DAY, ':now' - INTERVAL seq % 90 DAY
   FROM seq_:first_to_:last WHERE seq % 3 = 0`,
  `INSERT INTO licensing_license_months (license_id, month, downloads, refused)
   SELECT license_id, LEFT(at, 7) AS month, SUM(outcome = 'ok'), SUM(outcome <> 'ok')
   FROM licensing_access_log WHERE license_id BETWEEN :first AND :last GROUP BY license_id, month
   ON DUPLICATE KEY UPDATE downloads = downloads + VALUES(downloads)`,
  // Two years of ends, with an earlier renewal of each licence, and states as if all were sold in this time.
  `INSERT INTO licensing_end_sums (day, plan_id, outcome, licenses)
   SELECT LEFT(expires_at - INTERVAL before_days DAY, 10) AS day, plan_id,
     IF(before_days, ELT(1 + id % 3, 'in_time', 'in_time', 'late'), IF(id % 5, 'open', 'renewing')) AS outcome, COUNT(*)
   FROM licensing_licenses JOIN (SELECT 0 AS before_days UNION ALL SELECT 200) renewals
   WHERE expires_at IS NOT NULL AND id BETWEEN :first AND :last GROUP BY day, plan_id, outcome
   ON DUPLICATE KEY UPDATE licenses = licenses + VALUES(licenses)`,
  `INSERT INTO licensing_state_sums (month, plan_id, status, licenses)
   SELECT LEFT(COALESCE(expires_at, created_at) - INTERVAL 12 - 12 * half MONTH, 7) AS month, plan_id,
     ELT(1 + half, 'active', status) AS state, SUM(IF(half AND status = 'active', -1, 1))
   FROM licensing_licenses JOIN (SELECT 0 AS half UNION ALL SELECT 1) halves
   WHERE id BETWEEN :first AND :last GROUP BY month, plan_id, state
   ON DUPLICATE KEY UPDATE licenses = licenses + VALUES(licenses)`,
];
const NOW = new Date('2026-06-15T12:00:00Z');

/** Creates the data in a new database. @param now the time at which they are listed */
export async function makeListData(mariadb: MariaDb, licences: number, name: string, now = NOW): Promise<Db> {
  const connection = await mariadb.connect();
  try {
    await connection.query(`DROP DATABASE IF EXISTS ${name}`);
    await connection.query(`CREATE DATABASE ${name}`);
    const db = await openMigrated({ LICENSING_DATABASE_URL: mariadb.url(name) });
    await makeCatalogue(db);
    await connection.query(`USE ${name}`);
    await connection.query('SET unique_checks = 0, foreign_key_checks = 0');
    for (const insert of INSERTS) await fill(connection, insert, licences, now);
    // Fill the words of the search as an upgrade does.
    await db('licensing_migrations').where({ name: '002_search_words' }).delete();
    await migrate(db, testConfig({ LICENSING_DATABASE_URL: mariadb.url(name) }).database);
    // Skip ANALYZE, because lists must not depend on statistics.
    return db;
  } finally {
    await connection.end();
  }
}

async function fill(connection: Connection, insert: string, licences: number, now: Date): Promise<void> {
  const start = new Date(now.getTime() - HISTORY_SECONDS * 1000);
  for (let first = 1; first <= licences; first += CHUNK)
    await connection.query(
      insert
        .replaceAll(':first', String(first))
        .replaceAll(':last', String(Math.min(first + CHUNK - 1, licences)))
        .replaceAll(':now', toSqlTime(now))
        .replaceAll(':start', toSqlTime(start))
        .replaceAll(':n', String(licences)),
    );
}

async function makeCatalogue(db: Db): Promise<void> {
  for (const [id, plans] of Object.entries(PLANS)) {
    const includes = id === '44' ? [42] : id === '45' ? ('all' as const) : undefined;
    await addProduct(db, { id: Number(id), name: `Product ${id}`, includes }, NOW);
    for (let i = 1; i <= plans; i++)
      await addPlan(
        db,
        {
          productId: Number(id),
          name: `Plan ${i}`,
          activationType: 'domain',
          activationLimit: 3,
          duration: null,
        },
        NOW,
      );
  }
}

/** The lists and look-ups by their routes below `manage`, with the filters of each. */
const LISTS: Record<string, Query[]> = {
  licenses: [
    {},
    ...['active', 'expired', 'suspended', 'revoked', 'cancelled'].map((status) => ({ status })),
    ...[42, 43, 45].map((product_id) => ({ product_id })),
    ...[42, 43].map((covers) => ({ covers })),
    ...[OTHER_PLAN, 3].map((plan_id) => ({ plan_id })),
    { customer: 'agency@example.org' },
    { reference: 'order-5000' },
    ...['00001388', '2024'].map((hint) => ({ hint })),
    ...['30d', '1y'].map((expiring) => ({ expiring })),
    ...['7d', '1y'].map((refused) => ({ refused })),
    ...[
      'a',
      'b1',
      'f',
      'order-77',
      '77',
      '0000004D',
      'https://site-77.example.com/',
      'localhost',
      'none',
      'müller',
      'maria sch',
      'example.org',
    ].map((q) => ({ q })),
    { product_id: 42, status: 'expired' },
    { product_id: 43, status: 'expired' },
    { product_id: 43, status: 'revoked' },
    { plan_id: 1, status: 'suspended' },
    { plan_id: OTHER_PLAN, status: 'active' },
    { covers: 42, expiring: '30d' },
    { product_id: 43, expiring: '30d' },
    { plan_id: 1, refused: '7d' },
    { status: 'expired', refused: '7d' },
    { status: 'active', refused: '1y' },
    { status: 'active', q: 'a' },
    { status: 'expired', q: 'localhost' },
    { plan_id: OTHER_PLAN, q: 'f' },
    { customer: 'agency@example.org', status: 'active' },
    { refused: '1y', q: 'c' },
    { expiring: '1y', refused: '7d' },
    { expiring: '1y', q: 'a' },
    { status: 'suspended', hint: '2024' },
    ...['customer', '-customer', 'expires_at', '-expires_at', 'id'].map((sort) => ({ sort })),
    { status: 'expired', sort: '-expires_at' },
    { status: 'suspended', sort: 'customer' },
    { product_id: 43, status: 'revoked', sort: 'customer' },
    { plan_id: OTHER_PLAN, status: 'active', sort: 'expires_at' },
    { q: 'f', sort: 'expires_at' },
  ],
  requests: [
    {},
    ...['ok', 'IDENTIFIER_REQUIRED'].map((outcome) => ({ outcome })),
    { product_id: 43 },
    { product_id: 42, outcome: 'LICENSE_EXPIRED' },
    { product_id: 43, outcome: 'ok' },
    { hint: '00001388' },
    ...['192.0.2.1', '10.0.19.136'].map((ip) => ({ ip })),
    { ip: '192.0.2.1', outcome: 'IDENTIFIER_REQUIRED' },
    { since: '2026-04-01T00:00:00Z' },
    { since: '2026-04-01T00:00:00Z', product_id: 43 },
  ],
  'licenses/7/requests': [{}],
  'licenses/7/events': [{}],
  'licenses/5001/events': [{}],
  'licenses/5001/activations': [{}],
  'licenses/5001/keys': [{}],
  products: [{}],
  plans: [{ product_id: 43 }],
};

type Query = Record<string, string | number>;

/** Reads a page of a list. */
export type ReadList = (route: string, query: Query, after: string | undefined) => Promise<Page<unknown>>;

/** Returns a reader of lists that does not use HTTP. */
export function readListsOf(db: Db): ReadList {
  return (route, query, after) => {
    const {
      product_id: productId,
      plan_id: planId,
      since,
      ...others
    } = query as Partial<Record<'product_id' | 'plan_id', number> & { since: string }>;
    const page = { limit: 50, after };
    const [list, id, part] = route.split('/');
    if (part === 'events') return listEventPage(db, Number(id), page);
    if (part === 'activations') return listActivationPage(db, Number(id), page);
    if (part === 'keys') return listKeyPage(db, Number(id), page);
    if (list === 'products') return listProductPage(db, page);
    if (list === 'plans') return listPlanPage(db, productId, page);
    if (list === 'licenses' && id === undefined)
      return listLicensePage(db, { ...others, productId, planId }, page, NOW);
    const from = since === undefined ? undefined : new Date(since);
    const licenseId = id === undefined ? undefined : Number(id);
    return listRequestPage(db, { ...others, productId, licenseId, since: from }, page);
  };
}

export interface Timing {
  name: string;
  /** the number of rows on the first page */
  rows: number;
  /** in ms */
  p50: number;
  p95: number;
  /** the CPU time of a page, of the server and this process, in ms */
  cpu: number;
}

/** Reads each list's first five pages one after the other, and starts again. */
export async function timeLists(read: ReadList, serverPid: number, rounds: number): Promise<Timing[]> {
  const timings: Timing[] = [];
  const cpu = () => cpuTime(serverPid) + cpuTime(process.pid);
  for (const [route, queries] of Object.entries(LISTS))
    for (const query of queries) {
      const first = await read(route, query, undefined);
      const durations: number[] = [];
      const before = cpu();
      let after: string | undefined;
      for (let i = 0; i < rounds; i++) {
        const started = performance.now();
        const { next } = await read(route, query, after);
        durations.push(performance.now() - started);
        after = i % 5 === 4 ? undefined : (next ?? undefined);
      }
      const filters = Object.entries(query).map(([field, value]) => `${field}=${value}`);
      timings.push({
        name: [route, ...filters].join(' '),
        rows: first.items.length,
        p50: quantile(durations, 0.5),
        p95: quantile(durations, 0.95),
        cpu: (cpu() - before) / rounds,
      });
    }
  return timings;
}
