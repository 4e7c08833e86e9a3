import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatTimestamp, isStorable } from '../src/licensing/timestamps';
import { fromSqlTime, toSqlTime } from '../src/store/time';

/** All that can be stored: the years 1000 to 9999. */
const times = fc.date({
  min: new Date('1000-01-01'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

it('a time is written in whole seconds of UTC, cut and never rounded, and read back as it was written', () => {
  fc.assert(
    fc.property(times, (time) => {
      expect(isStorable(time)).toBe(true);
      const [seconds] = time.toISOString().split('.');
      expect(formatTimestamp(time)).toBe(`${seconds}Z`);
      expect(toSqlTime(time)).toBe(seconds!.replace('T', ' '));
      expect(fromSqlTime(toSqlTime(time))).toEqual(new Date(`${seconds}Z`));
    }),
    { numRuns: 2_000 },
  );
});
