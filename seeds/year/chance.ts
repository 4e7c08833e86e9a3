/** Pseudorandom numbers, the same for the same seed (mulberry32). */
export interface Chance {
  /** a number from 0 up to, but not including, 1 */
  next(): number;
  /** a whole number from 0 up to, but not including, `count` */
  below(count: number): number;
  between(least: number, most: number): number;
  pick<T>(list: readonly T[]): T;
  happens(probability: number): boolean;
  /** a time, mostly much shorter than the mean and rarely much longer */
  wait(mean: number): number;
}

export function createChance(seed: number): Chance {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(next() * count);
  return {
    next,
    below,
    between: (least, most) => least + next() * (most - least),
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    happens: (probability) => next() < probability,
    wait: (mean) => -mean * Math.log(1 - next()),
  };
}
