import { createClientHistory } from '../../src/licensing/client-history';
import { createLedger } from '../../src/licensing/core/ledger';
import type { Claim, SlotAnswer } from '../../src/licensing/core/slot-changes';
import { isRefusal, type Refusal } from '../../src/licensing/core/verdict';
import type { Db } from '../../src/store/database';

/** What happens in the shop, each at its time, which the rules get as `now`. */
export interface Diary {
  /** @param work is called when everything before `at` has happened */
  note(at: Date, work: (at: Date) => Promise<unknown>): void;
  /** A licence is sold, which changes nothing of others: sites that activate themselves on those may do so a little later. */
  sale(at: Date, work: (at: Date) => Promise<unknown>): void;
  /** A site activates itself. Those of one time are one batch, as at the service. */
  claim(at: Date, claim: () => Omit<Claim, 'now'>, answered?: (answer: SlotAnswer | Refusal) => void): void;
  /** Does all that was noted, also what is noted meanwhile for a later time. */
  live(): Promise<void>;
}

interface Entry {
  at: Date;
  /** keeps the order of what happens at the same moment */
  n: number;
  work?: (at: Date) => Promise<unknown>;
  isSale?: boolean;
  claim?: () => Omit<Claim, 'now'>;
  answered?: ((answer: SlotAnswer | Refusal) => void) | undefined;
}

/** A batch locks its licences by one statement. */
const CLAIMS_AT_ONCE = 50;

/** @param now nothing later happens */
export function createDiary(db: Db, now: Date): Diary {
  const entries: Entry[] = [];
  let count = 0;
  let isSorted = false;
  const ledger = createLedger(db, undefined, createClientHistory());

  function add(entry: Omit<Entry, 'n'>): void {
    if (entry.at > now) return;
    entries.push({ ...entry, at: toSecond(entry.at), n: count++ });
    isSorted = false;
  }

  async function claimAll(batch: Entry[]): Promise<void> {
    const answers = await Promise.all(
      batch.map(({ at, claim }) => ledger.activate({ ...(claim as () => Omit<Claim, 'now'>)(), now: at })),
    );
    for (const [i, answer] of answers.entries()) batch[i]?.answered?.(answer);
  }

  return {
    note: (at, work) => add({ at, work }),
    sale: (at, work) => add({ at, work, isSale: true }),
    claim: (at, claim, answered) => add({ at, claim, answered }),
    async live() {
      let claims: Entry[] = [];
      while (entries.length > 0) {
        if (!isSorted) entries.sort((a, b) => a.at.getTime() - b.at.getTime() || a.n - b.n);
        isSorted = true;
        const first = entries.shift() as Entry;
        if (first.work === undefined) claims.push(first);
        if ((first.work && !first.isSale) || claims.length === CLAIMS_AT_ONCE) {
          await claimAll(claims);
          claims = [];
        }
        await first.work?.(first.at);
      }
      await claimAll(claims);
    },
  };
}

/** As times are stored. */
function toSecond(at: Date): Date {
  return new Date(Math.floor(at.getTime() / 1000) * 1000);
}

export { isRefusal };
