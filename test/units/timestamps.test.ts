import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { daysBetween, formatTimestamp, isStorable, parseMoment } from '../../src/licensing/timestamps';
import { fromSqlTime, toSqlTime } from '../../src/store/time';

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
])('a date that is none is refused: %s', (text, why) => {
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
