import { createClientHistory } from '../../src/licensing/client-history';
import { createLedger } from '../../src/licensing/core/ledger';
import type { Claim, SlotAnswer } from '../../src/licensing/core/slot-changes';
import type { Refusal } from '../../src/licensing/core/verdict';
import type { Db } from '../../src/store/engine/database';

/**
 * What happens in the shop, in the order of time, and the rules get that time as `now`. What many licences do alike is done
 * for many at once, as late as the order allows.
 */
export interface Diary<Licence, Sale> {
  /** @param about the licence whose sale and sites come first; undefined: no licence is concerned */
  note(at: Date, work: (at: Date) => Promise<unknown>, about?: Licence | 'all'): void;
  /** A sale that can be made together with others. */
  sale(at: Date, sale: Sale, licence: Licence): void;
  /** A site activates itself. */
  claim(
    at: Date,
    licence: Licence,
    claim: () => Omit<Claim, 'now'>,
    answered?: (answer: SlotAnswer | Refusal) => void,
  ): void;
  /** Does all that was noted, also what is noted meanwhile for a later time. */
  live(): Promise<void>;
}

interface Entry<Licence, Sale> {
  at: Date;
  /** keeps the order of what happens at the same moment */
  n: number;
  about: Licence | 'all' | undefined;
  work?: (at: Date) => Promise<unknown>;
  sale?: Sale;
  claim?: () => Omit<Claim, 'now'>;
  answered?: ((answer: SlotAnswer | Refusal) => void) | undefined;
}

/** @param now nothing later happens @param sellAll makes sales, the oldest first */
export function createDiary<Licence extends object, Sale extends object>(
  db: Db,
  now: Date,
  sellAll: (sales: Sale[]) => Promise<void>,
): Diary<Licence, Sale> {
  const entries: Entry<Licence, Sale>[] = [];
  let count = 0;
  let isSorted = false;
  let waiting: Entry<Licence, Sale>[] = [];
  const ledger = createLedger(db, createClientHistory());

  function add(entry: Omit<Entry<Licence, Sale>, 'n'>): void {
    if (entry.at > now) return;
    // As times are stored.
    const at = new Date(Math.floor(entry.at.getTime() / 1000) * 1000);
    entries.push({ ...entry, at, n: count++ });
    isSorted = false;
  }

  /** Sales before the sites of what was sold. */
  async function catchUp(): Promise<void> {
    const [sales, claims] = [waiting.flatMap(({ sale }) => sale ?? []), waiting.filter(({ claim }) => claim)];
    waiting = [];
    if (sales.length > 0) await sellAll(sales);
    // Of a licence one after the other, so that its sites are numbered in the order of time.
    for (let left = claims; left.length > 0;) {
      const seen = new Set<unknown>();
      const next = left.filter(({ about }) => !seen.has(about) && seen.add(about));
      left = left.filter((one) => !next.includes(one));
      const answers = await Promise.all(
        next.map(({ at, claim }) => ledger.activate({ ...(claim as () => Omit<Claim, 'now'>)(), now: at })),
      );
      for (const [i, answer] of answers.entries()) next[i]?.answered?.(answer);
    }
  }

  return {
    note: (at, work, about) => add({ at, work, about }),
    sale: (at, sale, about) => add({ at, sale, about }),
    claim: (at, about, claim, answered) => add({ at, about, claim, answered }),
    async live() {
      while (entries.length > 0) {
        if (!isSorted) entries.sort((a, b) => a.at.getTime() - b.at.getTime() || a.n - b.n);
        isSorted = true;
        const entry = entries.shift() as Entry<Licence, Sale>;
        const { at, work, about } = entry;
        if (work === undefined) {
          waiting.push(entry);
          continue;
        }
        if (about === 'all' || (about && waiting.some((one) => one.about === about))) await catchUp();
        await work(at);
      }
      await catchUp();
    },
  };
}
