import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { table, type Db } from '../../src/store/engine/database';
import { runs } from '../support/extent';
import {
  historiesTimeout,
  hotLimits,
  judge,
  judgeRounds,
  recordRound,
  requireExplained,
  type HotLicense,
  type Judgement,
  type Round,
} from '../support/history-load';
import { eventually } from '../support/processes';
import { DATABASE_KINDS, newPlace, startTestService, type TestService } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/**
 * Linearizability: whole histories of calls on hot licences have an order that explains every answer, without faults.
 * test/faults/histories.test.ts does the same under every fault. Ten minutes of it: TEST_HISTORIES_MINUTES=10 npx jest
 * test/concurrency/histories -t explains
 */

const OPERATIONS = runs(600, 10_000);
/** The number of calls, for at least two rounds: every other one has other limits. */
const CALLS = runs(300, 2_500);

describe.each(DATABASE_KINDS)('%s', (kind) => {
  let db: Db;
  let services: ServiceProcess[];
  let urls: string[];

  beforeAll(async () => {
    const settings: Settings = await newPlace(kind);
    db = await openMigrated(settings);
    const instances = kind === 'SQLite' ? 1 : 2;
    services = await Promise.all(Array.from({ length: instances }, () => startServiceProcess(settings)));
    urls = services.map(({ url }) => url);
  });

  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await db.destroy();
  });

  test(
    'an order explains every history',
    async () => {
      const { calls, unknown } = await judgeRounds(
        (round) => recordRound({ urls, db, limits: hotLimits(round), calls: CALLS }),
        OPERATIONS,
      );
      // Allow some: clients with a shorter patience than the service's deadline also meet a busy machine.
      expect(unknown).toBeLessThan(calls / 100);
    },
    historiesTimeout(OPERATIONS),
  );
});

describe('a planted mistake is found', () => {
  let service: TestService;
  let db: Db;

  beforeAll(async () => {
    service = await startTestService();
    ({ db } = service);
  });

  afterAll(() => service.stop());

  /** Lets clients call while a mistake is made on their licence, and checks the history. */
  async function plant(mistake: {
    plant?: (license: HotLicense) => Promise<unknown>;
    tamper?: Round['tamper'];
  }): Promise<Judgement> {
    const meanwhile = async ([license]: HotLicense[]) => {
      await mistake.plant?.(license!);
      await waitForCalls(license!, 80);
    };
    const { tamper } = mistake;
    const round: Round = {
      urls: [service.url],
      db,
      limits: [3],
      clients: 3,
      meanwhile,
      ...(tamper && { tamper }),
    };
    return judge(await recordRound(round));
  }

  const waitForCalls = ({ calls }: HotLicense, more: number) => {
    const enough = calls.length + more;
    return eventually(() => expect(calls.length).toBeGreaterThan(enough));
  };
  const license = ({ id }: HotLicense) => db(table(db, 'licenses')).where({ id });
  const activations = ({ id }: HotLicense) => db(table(db, 'activations')).where({ license_id: id });

  async function expectFound(mistake: Parameters<typeof plant>[0]): Promise<void> {
    const judgement = await plant(mistake);
    expect(() => requireExplained(judgement)).toThrow(
      /1 have no order that explains them, and 0 were not decided[^]*\n> /,
    );
  }

  test('but not where there is none', async () => {
    requireExplained(await plant({}));
  });

  test('a counter read apart from the identifier', () =>
    expectFound({
      tamper(call) {
        if (Math.random() < 0.5) call.answer = call.answer.replace(', activated, ', ', not activated, ');
      },
    }));

  test('a limit overrun by one', () =>
    expectFound({
      // Clients activate and deactivate at random, so wait until they have taken the fourth slot.
      async plant(hot) {
        await license(hot).increment('activation_limit', 1);
        await eventually(() => expect(hot.calls.map(({ answer }) => answer).join('\n')).toContain('4 of 3'));
      },
      // A service that exceeds its limit still reports it.
      tamper(call) {
        call.answer = call.answer.replace(' of 4', ' of 3');
      },
    }));

  test('a lost activation', () =>
    expectFound({
      // Repeat it, because a call in progress at this moment may explain one.
      async plant(hot) {
        for (let lost = 0; lost < 5; lost++) {
          await waitForCalls(hot, 20);
          const id = await eventually(async () => {
            const [one] = await activations(hot).pluck<number[]>('id');
            expect(one).toBeDefined();
            return one!;
          });
          await activations(hot).where({ id }).delete();
          await license(hot).decrement('activations_used', 1);
        }
      },
    }));

  test('a doubled activation', () =>
    expectFound({
      async plant(hot) {
        await waitForCalls(hot, 20);
        await license(hot).increment('activations_used', 1);
      },
    }));
});
