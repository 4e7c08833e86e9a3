import { setTimeout as sleep } from 'node:timers/promises';
import { changeState } from '../../src/licensing/lifecycle';
import { OperatorError } from '../../src/licensing/operator-error';
import { table, type Db } from '../../src/store/engine/database';
import {
  describeAnswer,
  describeStored,
  identifierName,
  isRead,
  storedAnswer,
  type Call,
  type History,
  type Kind,
} from './license-history';
import { note } from './faults';
import { describeViolation, explain } from './linearizable';
import { eventually } from './processes';
import { openRaw, type RawConnection } from './raw-http';
import { giveLicense, givePlan, PREFIX, TIMEOUTS, type TestLicense } from './service';

/** Clients that record their calls on a few hot licences, and the check of these records. */

export interface HotLicense extends TestLicense, History {}

export interface Round {
  /** the service's instances, which the clients share */
  urls: string[];
  db: Db;
  /** a limit for each licence; 0 for unlimited */
  limits: number[];
  /** the total number of calls; by default the round ends with `meanwhile` */
  calls?: number;
  clients?: number;
  /** runs during the calls: a fault, or a deliberate error */
  meanwhile?: (licenses: HotLicense[]) => unknown;
  /** falsifies an answer before it is recorded */
  tamper?: (call: Call) => void;
}

const CLIENTS = 16;
/** The numbers of the two recorders that are not clients of the service. */
const OPERATOR = 28;
const READER = 29;
/** The clients' time-outs. The service answers within 4 s (more on a busy machine): shorter ones miss outcomes. */
const PATIENCES_MS = [1_000, 2_000, 8_000].map((ms) => ms * Number(TIMEOUTS.LICENSING_TIMEOUT_FACTOR));
/** The maximum number of unknown outcomes, because the search tries every possible effect of these calls. */
const MAX_UNKNOWN = 16;

/** Returns the limits of few licences, so that many calls meet; in every other round only of few slots. */
export function hotLimits(round: number): number[] {
  return round % 2 === 0 ? [1, 2, 3, 5] : [1, 2, 4, 7, 10, 0];
}

/** Runs clients on new licences. Returns their records and the stored state at the end. */
export async function recordRound(round: Round): Promise<HotLicense[]> {
  const { urls, db, limits, clients = CLIENTS, meanwhile = () => undefined } = round;
  const planId = await givePlan(db);
  const licenses: HotLicense[] = [];
  for (const limit of limits)
    licenses.push({ ...(await giveLicense(db, planId, { activationLimit: limit })), limit, calls: [] });
  const began = performance.now();
  const now = () => performance.now() - began;
  let running = true;
  let noted = 0;

  function add(license: HotLicense, call: Call): void {
    round.tamper?.(call);
    license.calls.push(call);
    noted++;
  }

  async function client(number: number): Promise<void> {
    const connection = createConnection(
      urls[number % urls.length]!,
      PATIENCES_MS[number % PATIENCES_MS.length]!,
    );
    const isHasty = number % 2 === 0;
    let isAnswered = true;
    while (running && (round.calls === undefined || noted < round.calls)) {
      const license = pick(licenses);
      const doubts = license.calls.filter((call) => !call.known && !isRead(call)).length;
      // After an unknown outcome a client only reads until it gets an answer, to keep the unknown calls few.
      const kind = isAnswered && doubts < MAX_UNKNOWN ? pickKind() : 'validate';
      const names = license.limit === 0 ? 6 : license.limit + 2;
      const identifier =
        kind === 'validate' && Math.random() < 0.3 ? undefined : Math.floor(Math.random() * names);
      const startedAt = now();
      const { answer, known } = await connection.call(kind, license, identifier);
      add(license, { client: number, kind, identifier, startedAt, endedAt: now(), answer, known });
      isAnswered = known;
      if (!known) await sleep(50);
      else if (!isHasty) await sleep(Math.random() * 4);
    }
    connection.close();
  }

  /** Suspends licences briefly, one after the other. */
  async function operator(): Promise<void> {
    while (running && (round.calls === undefined || noted < round.calls)) {
      const license = pick(licenses);
      for (const kind of ['suspend', 'reinstate'] as const) {
        const startedAt = now();
        const { answer, known } = await change(license, kind);
        add(license, {
          client: OPERATOR,
          kind,
          identifier: undefined,
          startedAt,
          endedAt: now(),
          answer,
          known,
        });
        await sleep(kind === 'suspend' ? 10 : 100);
      }
    }
  }

  async function change({ id }: TestLicense, kind: 'suspend' | 'reinstate'): Promise<Seen> {
    try {
      await changeState(db, id, kind, { actor: 'operator:test', now: new Date() });
      return { answer: 'done', known: true };
    } catch (error) {
      return error instanceof OperatorError
        ? { answer: 'refused', known: true }
        : { answer: (error as Error).message, known: false };
    }
  }

  const all = [operator(), ...Array.from({ length: clients }, (_, number) => client(number))];
  try {
    await meanwhile(licenses);
  } finally {
    if (round.calls === undefined) running = false;
    await Promise.all(all);
    running = false;
  }
  for (const license of licenses) {
    const startedAt = now();
    // Wait, because the last calls may still be queued for a lock.
    const answer = await eventually(() => readStored(db, license));
    license.calls.push({
      client: READER,
      kind: 'stored',
      identifier: undefined,
      startedAt,
      endedAt: now(),
      answer,
      known: true,
    });
  }
  return licenses;
}

/** Picks a kind of call, mostly one that changes or shows slots. */
function pickKind(): Kind {
  return pick(['activate', 'activate', 'activate', 'deactivate', 'deactivate', 'validate', 'validate']);
}

function pick<T>(from: T[]): T {
  return from[Math.floor(Math.random() * from.length)] as T;
}

interface StoredRow {
  status: string;
  activations_used: number;
  identifier: string | null;
}

/** Reads a licence with one statement, for a consistent state. */
async function readStored(db: Db, { id }: TestLicense): Promise<string> {
  const rows = await db({ l: table(db, 'licenses') })
    .leftJoin({ a: table(db, 'activations') }, 'a.license_id', 'l.id')
    .where('l.id', id)
    .select<StoredRow[]>('l.status', 'l.activations_used', 'a.identifier');
  const { status, activations_used } = rows[0]!;
  const identifiers = rows.flatMap(({ identifier }) => identifier ?? []);
  return storedAnswer(describeStored(status, identifiers), activations_used);
}

type Seen = Pick<Call, 'answer' | 'known'>;

/** Returns a client's connection, which reopens after it is cut. */
function createConnection(url: string, patience: number) {
  let connection: RawConnection | undefined;
  return {
    async call(kind: Kind, { key }: TestLicense, identifier: number | undefined): Promise<Seen> {
      if (!connection?.isOpen()) connection = openRaw(url);
      const body = JSON.stringify({
        license_key: key,
        ...(identifier === undefined ? {} : { identifier: identifierName(identifier) }),
        // Change the label, so that a repeated activation writes too.
        ...(kind === 'activate' && Math.random() < 0.3 ? { name: pick(['Desk', 'Shop']) } : {}),
      });
      let failure = 'cut';
      const late = setTimeout(() => {
        failure = 'timed out';
        connection?.close();
      }, patience);
      const answer = await connection.send(
        `POST ${PREFIX}/licenses/${kind} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      clearTimeout(late);
      if (answer === undefined) return { answer: failure, known: false };
      const text = describeAnswer(kind, answer.status, answer.body.toString());
      return { answer: text, known: answer.status !== 503 };
    },
    close: () => connection?.close(),
  };
}

export interface Judgement {
  calls: number;
  /** the number of calls with an unknown outcome that may have written */
  unknown: number;
  histories: number;
  undecided: string[];
  /** tables of the calls around each unexplained answer */
  violations: string[];
  /** the ms of the longest search for one history */
  slowest: number;
}

/**
 * Records and checks rounds until there are enough calls or the time is up.
 *
 * @param usual the number of calls, unless TEST_HISTORIES_MINUTES or TEST_HISTORIES_OPERATIONS is set
 * @throws Error like `requireExplained`
 */
export async function judgeRounds(
  record: (round: number) => Promise<HotLicense[]>,
  usual: number,
): Promise<Judgement> {
  const judgement = newJudgement();
  const { minutes, operations } = lengthOfRun(usual);
  const began = performance.now();
  const isEnough = () =>
    minutes === undefined ? judgement.calls >= operations : performance.now() - began > minutes * 60_000;
  for (let round = 0; !isEnough(); round++) judge(await record(round), judgement);
  const { violations, undecided, ...counts } = judgement;
  note({
    ...counts,
    violations: violations.length,
    undecided: undecided.length,
    seconds: Math.round((performance.now() - began) / 1_000),
  });
  requireExplained(judgement);
  return judgement;
}

/** Returns the time-out of tests that call `judgeRounds`, in ms. A service slower than 100 calls a second hangs. */
export function historiesTimeout(operations: number): number {
  const run = lengthOfRun(operations);
  return 120_000 + (run.minutes === undefined ? run.operations * 10 : run.minutes * 60_000);
}

function lengthOfRun(usual: number): { minutes: number | undefined; operations: number } {
  const { TEST_HISTORIES_MINUTES: minutes, TEST_HISTORIES_OPERATIONS: operations = usual } = process.env;
  return { minutes: minutes === undefined ? undefined : Number(minutes), operations: Number(operations) };
}

function newJudgement(): Judgement {
  return { calls: 0, unknown: 0, histories: 0, undecided: [], violations: [], slowest: 0 };
}

/** Checks histories. @returns the judgement with the results for these histories */
export function judge(histories: History[], judgement = newJudgement()): Judgement {
  for (const history of histories) {
    const began = performance.now();
    const verdict = explain(history);
    judgement.slowest = Math.max(judgement.slowest, performance.now() - began);
    judgement.histories++;
    judgement.calls += history.calls.length;
    judgement.unknown += history.calls.filter((call) => !call.known && !isRead(call)).length;
    if (verdict.explained === undefined) judgement.undecided.push(verdict.why);
    else if (!verdict.explained)
      judgement.violations.push(describeViolation(history, verdict.call, verdict.states));
  }
  return judgement;
}

/** Requires valid histories. @throws Error with the first tables if one has no valid order or was not decided */
export function requireExplained(judgement: Judgement): void {
  const { violations, undecided, histories, calls } = judgement;
  if (violations.length + undecided.length === 0) return;
  throw new Error(
    [
      `Of ${histories} histories (${calls} calls), ${violations.length} have no order that explains them, ` +
        `and ${undecided.length} were not decided.`,
      ...violations.slice(0, 3),
      ...new Set(undecided),
    ].join('\n\n'),
  );
}
