import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { anyCsv, readCsvMap } from '../../src/transfer/moving/any-csv';
import { readPlanMap } from '../../src/transfer/moving/plan-map';
import { moveLicensesIn } from '../../src/transfer/moving/run';
import { IS_WHOLE } from '../support/extent';
import { givePlan, startTestService, type TestService } from '../support/service';

/** Tables built to be slow: the process that reads one must keep answering customers. */

let service: TestService;
let planId: number;
beforeAll(async () => {
  service = await startTestService({});
  planId = await givePlan(service.db);
});
afterAll(() => service.stop());

const HEADING = 'key,plan,status,sites';
const row = (i: number, more: string) => `LONG-KEY-${10_000 + i},${planId},active,${more}`;
const rows = (count: number, more: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => more(i)).join('\n');

const TABLES: [what: string, table: () => string, said: string][] = [
  ['a row of ten million cells', () => '"",'.repeat(10_000_000), 'long-row'],
  ['thirty million line ends', () => '\r'.repeat(30_000_000), 'many-lines'],
  ['rows of 40,000 cells', () => rows(300, () => '1,'.repeat(40_000)), 'many-cells'],
  ['licences with 60,000 sites', () => rows(20, (i) => row(i, `"${'a.b,'.repeat(60_000)}"`)), 'many-sites'],
  [
    'licences with 2,000 sites',
    () => rows(20, (i) => row(i, `"${rows(1_900, (j) => `s${j}.example`)}"`)),
    'over-limit',
  ],
  [
    'ten thousand plans',
    () => rows(10_000, (i) => `PLAN-KEY-${10_000 + i},Plan ${i} ${'x'.repeat(70)},active,`),
    'many-plans',
  ],
  [
    'plans with long names',
    () => rows(30, (i) => `PLAN-KEY-${i},${'x'.repeat(900_000)},active,`),
    'long-plan',
  ],
];

async function* oneChunk(text: string): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(`${HEADING}\n${text}\n`));
}

/** The first table once blocked the process for 13.9 s. On a busy machine, the process itself waits seconds for the CPU. */
const MAX_MS = IS_WHOLE ? 400 : 5_000;

test.each(TABLES)('%s do not stop the process', async (_, table, said) => {
  const file = oneChunk(table());
  const delay = monitorEventLoopDelay({ resolution: 5 });
  await new Promise((resolve) => setImmediate(resolve));
  delay.enable();
  const report = await moveLicensesIn(service.db, {
    ...{ source: anyCsv, file, dryRun: true, secret: undefined, actor: 'operator:test', now: new Date() },
  }).then(
    ({ leftOut, warnings }) => [...leftOut, ...warnings].map(({ code }): string => code),
    (error: unknown) => [(error as { facts?: { code: string } }).facts?.code ?? String(error)],
  );
  delay.disable();
  expect(report).toContain(said);
  if (process.env.SHOW_STALLS) process.stderr.write(`${said}: ${(delay.max / 1e6).toFixed(0)} ms\n`);
  expect(delay.max / 1e6).toBeLessThan(MAX_MS);
});

const BLANKS = ' '.repeat(100_000);
const move = async (table: string) => {
  const file = (async function* () {
    yield await Promise.resolve(Buffer.from(table));
  })();
  const options = { source: anyCsv, file, dryRun: true, secret: undefined, actor: 'operator:test' };
  return moveLicensesIn(service.db, { ...options, makePlans: true, now: new Date() });
};
const refused = (read: () => unknown) => expect(read).toThrow();

test.each<[what: string, read: () => unknown]>([
  ['a customer', () => move(`Key,Customer\nBLANK-KEY-0001,a${BLANKS}b\n`)],
  ['a date and a number', () => move(`Key,Expires,Limit\nBLANK-KEY-0001,2030-01-01${BLANKS}b,1${BLANKS}b\n`)],
  ['sites', () => move(`Key,Sites\nBLANK-KEY-0001,a.example${BLANKS}b.example\n`)],
  ['a column of the options', () => readCsvMap(`name=a${BLANKS}b`)],
  ['a field of the options', () => refused(() => readCsvMap(`a${BLANKS}b`))],
  ['a plan of the options', () => refused(() => readPlanMap(`a${BLANKS}b`))],
  ['a target of the options', () => refused(() => readPlanMap(`a=${BLANKS}=1${BLANKS}b`))],
])('%s with 100,000 blanks does not stop the process', async (_, read) => {
  const before = process.cpuUsage();
  await read();
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});
