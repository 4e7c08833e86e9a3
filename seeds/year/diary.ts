import { createClientHistory } from '../../src/licensing/client-history';
import { createLedger } from '../../src/licensing/core/ledger';
import type { SlotRequest, SlotResult } from '../../src/licensing/core/slot-changes';
import type { Refusal } from '../../src/licensing/core/verdict';
import type { Db } from '../../src/store/engine/database';

/**
 * The events of the shop in chronological order; the rules receive each event's time as `now`. Equal work on many
 * licences is done together, as late as the order allows.
 */
export interface Diary<Licence, Sale> {
  /** Adds an event. @param about the licence whose sale and sites must come first; undefined without a licence */
  note(at: Date, work: (at: Date) => Promise<unknown>, about?: Licence | 'all'): void;
  /** Adds a sale, which may be processed together with others. */
  sale(at: Date, sale: Sale, licence: Licence): void;
  /** Adds the activation of a site. */
  claim(
    at: Date,
    licence: Licence,
    claim: () => Omit<SlotRequest, 'now'>,
    answered?: (answer: SlotResult | Refusal) => void,
  ): void;
  /** Runs all events, including those that are added meanwhile for a later time. */
  live(): Promise<void>;
}

interface Entry<Licence, Sale> {
  at: Date;
  /** keeps the order of simultaneous events */
  n: number;
  about: Licence | 'all' | undefined;
  work?: (at: Date) => Promise<unknown>;
  sale?: Sale;
  claim?: () => Omit<SlotRequest, 'now'>;
  answered?: ((answer: SlotResult | Refusal) => void) | undefined;
}

/** Creates a diary. @param now the time after which no event runs @param sellAll processes sales in order of time */
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
    // Round down to seconds, as times are stored.
    const at = new Date(Math.floor(entry.at.getTime() / 1000) * 1000);
    entries.push({ ...entry, at, n: count++ });
    isSorted = false;
  }

  /** Processes the waiting sales, and then the sites of the sold licences. */
  async function catchUp(): Promise<void> {
    const [sales, claims] = [waiting.flatMap(({ sale }) => sale ?? []), waiting.filter(({ claim }) => claim)];
    waiting = [];
    if (sales.length > 0) await sellAll(sales);
    // Activate the sites of a licence in sequence, so that their ids follow the order of time.
    for (let left = claims; left.length > 0;) {
      const seen = new Set<unknown>();
      const next = left.filter(({ about }) => !seen.has(about) && seen.add(about));
      left = left.filter((one) => !next.includes(one));
      const answers = await Promise.all(
        next.map(({ at, claim }) =>
          ledger.activate({ ...(claim as () => Omit<SlotRequest, 'now'>)(), now: at }),
        ),
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
