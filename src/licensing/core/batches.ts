import { CodedError } from '../../base/errors';

/**
 * Batching by group commit: the items that arrive while a batch runs form the next batch. Under load, batches grow and
 * share the cost of a statement. If one batch took all waiting callers, this process would be idle while the batch
 * runs. So a batch takes only half of them, which answers 10 % more calls a second.
 */
export interface BatchOptions {
  maxItems: number;
  /** the maximum number of waiting items; further items are refused at once */
  maxWaiting: number;
}

/** Limits that suit most batches: larger ones gain little and delay the answer to their first item. */
const DEFAULTS: BatchOptions = { maxItems: 200, maxWaiting: 5_000 };

/** The smallest size to which a batch is halved, because a statement for fewer items costs about as much. */
const MIN_HALF = 16;

/** The answer to an item, or a promise of it. The next batch starts without waiting for such a promise. */
export type BatchReply<Answer> = Answer | Promise<Answer>;

/**
 * Load shedding. Returns the error for an item that arrives while too many wait: a quick refusal is better than a late
 * answer.
 */
export function overloadedError(): CodedError {
  return new CodedError('BUSY', 'Too many requests are waiting for the database.');
}

/**
 * Returns a function that adds an item to the next batch, and resolves to its answer.
 * @param work answers a batch in the order of its items. If it throws, the whole batch fails.
 */
export function createBatches<Item, Answer>(
  work: (items: Item[]) => Promise<BatchReply<Answer>[]>,
  { maxItems, maxWaiting }: BatchOptions = DEFAULTS,
): (item: Item) => Promise<Answer> {
  const waiting: {
    item: Item;
    resolve: (reply: BatchReply<Answer>) => void;
    reject: (error: unknown) => void;
  }[] = [];
  let working = false;
  /** The sizes of the last two batches with the items left waiting. A client just answered sends again a batch later. */
  let crowds: [number, number] = [0, 0];

  function takeBatch(): typeof waiting {
    const half = Math.ceil(Math.max(...crowds, waiting.length) / 2);
    return waiting.splice(0, Math.min(maxItems, Math.max(half, MIN_HALF)));
  }

  async function run(): Promise<void> {
    working = true;
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        const replies = await work(batch.map(({ item }) => item));
        const answer = () => batch.forEach(({ resolve }, i) => resolve(replies[i] as BatchReply<Answer>));
        if (waiting.length > 0) {
          // Send the next batch before answering, so that the database works meanwhile. Handle rejections here, because
          // a rejected promise that nothing awaits yet would end the process.
          for (const one of replies) if (one instanceof Promise) one.catch(() => undefined);
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
        reject(overloadedError());
        return;
      }
      waiting.push({ item, resolve, reject });
      // Let the event loop read the other sockets of this turn first: their requests belong to the same batch.
      if (!working) {
        working = true;
        setImmediate(() => void run());
      }
    });
}

/** Returns work for `createBatches` that looks up items of the same `name` only once in a batch. */
export function dedupeInBatch<Item, Answer>(
  name: (item: Item) => string,
  lookUp: (item: Item) => Promise<Answer>,
): (items: Item[]) => Promise<Answer[]> {
  return (items) => {
    const answers = new Map<string, Promise<Answer>>();
    return Promise.all(
      items.map((item) => {
        const answer = answers.get(name(item)) ?? lookUp(item);
        answers.set(name(item), answer);
        return answer;
      }),
    );
  };
}
