import type { SourceLicense } from './source';

/** The standing of a licence at the source: the lower, the better. */
export const [RUNS, BEGINS_LATER, OVER] = [0, 1, 2] as const;
export type Standing = typeof RUNS | typeof BEGINS_LATER | typeof OVER;

/** The tolerance for tables with the days of another time zone, which is up to 14 hours ahead of UTC. */
const MARGIN_MS = 24 * 3_600_000;

/** Returns whether a licence works, was bought ahead, or does not work. */
export function sourceStandingOf(
  { status, startsAt, expiresAt }: Pick<SourceLicense, 'status' | 'startsAt' | 'expiresAt'>,
  now: Date,
): Standing {
  if (status !== 'active' || (expiresAt && expiresAt <= now)) return OVER;
  return startsAt !== undefined && startsAt.getTime() > now.getTime() + MARGIN_MS ? BEGINS_LATER : RUNS;
}
