/**
 * Group commit: what arrives while a batch is under way forms the next one. Alone, an item starts at once; under
 * load, a batch grows to what the last one's duration let in, and the cost of a statement is shared by all of it.
 *
 * Callers that come back as soon as they are answered would fall into step, all of them in one batch, and this process
 * would have nothing to do until it is through. So of a crowd a batch takes half: while its statements are under way,
 * the other half is answered and comes back. That is a tenth more calls a second.
 */
export interface BatchOptions {
  /** items in one batch at the most */
  maxItems: number;
  /** items that may wait; one more is refused at once */
  maxWaiting: number;
}

/** Larger batches gain little, and make the answer of their first item wait for the last. */
const DEFAULTS: BatchOptions = { maxItems: 200, maxWaiting: 5_000 };

/** A statement for fewer costs about as much. */
const LEAST_HALF = 16;

/** Too many items wait already: a quick refusal is better than an answer nobody waits for any more. */
export class BusyError extends Error {
  constructor() {
    super('Too many requests are waiting for the database.');
  }
}

/**
 * @param work answers a batch: for each item, in order, its answer, or a promise of it, for which the next batch does
 *   not wait. If it throws, all of the batch fail.
 * @returns submits one item and resolves with its answer
 */
export function createBatches<Item, Answer>(
  work: (items: Item[]) => Promise<(Answer | Promise<Answer>)[]>,
  { maxItems, maxWaiting }: BatchOptions = DEFAULTS,
): (item: Item) => Promise<Answer> {
  const waiting: {
    item: Item;
    resolve: (answer: Answer | Promise<Answer>) => void;
    reject: (error: unknown) => void;
  }[] = [];
  let working = false;
  /** How many were in a batch or waiting at its end, for the last two: those who come back are away for one of them. */
  let crowds: [number, number] = [0, 0];

  function takeBatch(): typeof waiting {
    const half = Math.ceil(Math.max(...crowds, waiting.length) / 2);
    return waiting.splice(0, Math.min(maxItems, Math.max(half, LEAST_HALF)));
  }

  async function run(): Promise<void> {
    working = true;
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        const answers = await work(batch.map(({ item }) => item));
        const answer = () =>
          batch.forEach(({ resolve }, i) => resolve(answers[i] as Answer | Promise<Answer>));
        if (waiting.length > 0) {
          // The next batch's statement first: the database works on it while these are answered. A promise that is
          // rejected before would count as one that nobody listens to, which ends the process.
          for (const one of answers) if (one instanceof Promise) one.catch(() => undefined);
          setImmediate(answer);
        } else answer();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      crowds = [crowds[1], batch.length + waiting.length];
    }
    working = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new BusyError());
        return;
      }
      waiting.push({ item, resolve, reject });
      // Not before the other sockets of this turn of the event loop have been read: they belong to the same batch.
      if (!working) {
        working = true;
        setImmediate(() => void run());
      }
    });
}

/**
 * A group's work where many ask the same: each distinct item is looked up once for all of a batch.
 *
 * @param name items of the same name are the same
 */
export function eachOnce<Item, Answer>(
  name: (item: Item) => string,
  lookUp: (item: Item) => Promise<Answer>,
): (items: Item[]) => Promise<Answer[]> {
  return (items) => {
    const answers = new Map<string, Promise<Answer>>();
    return Promise.all(
      items.map((item) => {
        const known = answers.get(name(item)) ?? lookUp(item);
        answers.set(name(item), known);
        return known;
      }),
    );
  };
}
