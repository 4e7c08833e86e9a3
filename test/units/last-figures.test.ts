import { describe, expect, it } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { countOrLast, FRESH_MS, type Figure } from '../../src/http/pages/load-optional';

const COUNTED = new Date('2026-11-24T12:00:00Z');

describe('the last figures of the overview', () => {
  it.each([
    ['keeps a slow figure that is current', { isSlow: true, age: FRESH_MS - 1 }, false, 'last'],
    ['counts a slow figure that is no longer current', { isSlow: true, age: FRESH_MS }, false, 'new'],
    ['counts a slow figure for a seller who waits', { isSlow: true, age: 0 }, true, 'new'],
    ['counts a quick figure each time', { isSlow: false, age: 0 }, false, 'new'],
  ])('%s', async (_, { isSlow, age }, waits, value) => {
    const kept = new LRUCache<string, Figure<unknown>>({ max: 1 });
    kept.set('figure', { value: 'last', at: COUNTED, isSlow });
    const call = {
      db: undefined as never,
      settings: { timeoutFactor: 10 },
      at: new Date(COUNTED.getTime() + age),
      lastFigures: { kept, running: new Map() },
    };
    const figure = await countOrLast(call, 'figure', () => Promise.resolve('new'), waits);
    expect(figure?.value).toBe(value);
  });

  it('keeps a figure whose value says that it is slow to count', async () => {
    const call = {
      db: undefined as never,
      settings: { timeoutFactor: 10 },
      at: COUNTED,
      lastFigures: { kept: new LRUCache<string, Figure<unknown>>({ max: 2 }), running: new Map() },
    };
    for (const [name, first, again] of [
      ['many', 7, 7],
      ['few', 5, 6],
    ] as const) {
      let next: number = first;
      const ask = () =>
        countOrLast(
          call,
          name,
          () => Promise.resolve(next++),
          false,
          (count) => count > 6,
        );
      expect((await ask())?.value).toBe(first);
      expect((await ask())?.value).toBe(again);
    }
  });
});
