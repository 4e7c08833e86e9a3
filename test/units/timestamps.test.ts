import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { daysBetween, formatTimestamp } from '../../src/base/days';
import { endWithGrace, paidUntil } from '../../src/licensing/core/states';
import { addDuration } from '../../src/licensing/durations';
import { isStorable, parseMoment } from '../../src/licensing/timestamps';
import { fromSqlTime, toSqlTime } from '../../src/store/engine/time';

/** Random times that can be stored: the years 1000 to 9999. */
const times = fc.date({
  min: new Date('1000-01-01'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

it('a time is written in whole seconds of UTC, truncated and never rounded, and read back unchanged', () => {
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

it('every time is written as one that databases can hold, even after a grace or a duration is added', () => {
  const [first, last] = [Date.parse('1000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')];
  const grace = fc.integer({ min: 0, max: 14 });
  fc.assert(
    fc.property(
      fc.date({ noInvalidDate: true }),
      grace,
      fc.integer({ min: 1, max: 99_999 }),
      (time, days, n) => {
        const nearest = new Date(Math.min(Math.max(time.getTime(), first), last));
        const [seconds] = nearest.toISOString().split('.');
        expect(toSqlTime(time)).toBe(seconds!.replace('T', ' '));
        const end = endWithGrace(time, days);
        expect(end.expiresAt!.getTime()).toBeLessThanOrEqual(last);
        expect(paidUntil(end)).toEqual(nearest);
        for (const unit of ['d', 'm', 'y'])
          expect(addDuration(nearest, `${n}${unit}`).getTime()).toBeLessThanOrEqual(last);
      },
    ),
    {
      numRuns: 1_000,
      examples: [
        [new Date(last), 3, 1],
        [new Date(last + 999), 3, 1],
      ],
    },
  );
});

it('a duration from an invalid time has no end', () => {
  expect(() => addDuration(new Date(NaN), '1y')).toThrow('beyond the year 9999');
});

it.each([
  ['2027-06-30', '2027-06-30T00:00:00Z', '2027-06-30T23:59:59Z'],
  ['2028-02-29', '2028-02-29T00:00:00Z', '2028-02-29T23:59:59Z'],
  ['9999-12-31', '9999-12-31T00:00:00Z', '9999-12-31T23:59:59Z'],
  ['2027-06-30T00:00:00Z', '2027-06-30T00:00:00Z', '2027-06-30T00:00:00Z'],
  ['2027-06-30 12:30', '2027-06-30T12:30:00Z', '2027-06-30T12:30:00Z'],
  ['2027-06-30T01:00:00+0200', '2027-06-29T23:00:00Z', '2027-06-29T23:00:00Z'],
])('a date without a time is the whole day: %s', (text, first, last) => {
  expect(formatTimestamp(parseMoment(text, 'first', 'utc'))).toBe(first);
  expect(formatTimestamp(parseMoment(text, 'last', 'utc'))).toBe(last);
});

it.each([
  ['2027-06-31', /no such day/],
  ['2027-06-30T25:00:00Z', /no such time/],
  ['0999-12-31', /years 1000 to 9999/],
  ['30.06.2027', /such as 2027-01-31 or/],
  ['2027-06-30T12:00:00', /such as 2027-01-31 or/],
])('an invalid date is refused: %s', (text, why) => {
  expect(() => parseMoment(text, 'last', 'refused')).toThrow(why);
});

it('the days between two moments are UTC days, both included', () => {
  const between = (first: string, last: string) => daysBetween(new Date(first), new Date(last));
  expect(between('2028-02-28T23:59:59Z', '2028-03-01T00:00:00Z')).toEqual([
    '2028-02-28',
    '2028-02-29',
    '2028-03-01',
  ]);
  expect(between('2026-01-01T12:00:00Z', '2026-01-01T11:00:00Z')).toEqual(['2026-01-01']);
  expect(between('2026-01-02T00:00:00Z', '2026-01-01T23:00:00Z')).toEqual([]);
});
