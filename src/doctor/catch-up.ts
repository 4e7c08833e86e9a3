import { readCatchUps, type CatchUpState } from '../orders/catch-up/standing';
import { failures as german } from '../texts/operators/de/failures';
import { failures } from '../texts/operators/en/failures';
import { describeStored } from '../texts/operators/failures';
import { formatTimestamp } from '../licensing/timestamps';
import { ok, warning, type Check, type Finding } from './finding';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A run each night, and one that was missed. */
const LATE_MS = 2 * DAY_MS;

type Reason = Exclude<CatchUpState, 'ready'>;

const WHY_NOT: Record<Reason, string> = {
  no_key: 'has no API key',
  no_site: 'has no address of its site',
  cannot: 'its sender keeps no list',
};
const WHY_NOT_GERMAN: Record<Reason, string> = {
  no_key: 'ohne API-Schlüssel',
  no_site: 'ohne Adresse seiner Website',
  cannot: 'sein Absender führt keine Liste',
};

/** Tells when what shops told was last caught up, and of which shops it cannot be. */
export const checkCatchUp: Check = async ({ db, now }): Promise<Finding[]> => {
  const shops = await readCatchUps(db);
  const findings: Finding[] = [];
  const fine: string[] = [];
  for (const { state, name, caughtUpAt, catchUpFailure, catchUpTriedAt } of shops) {
    if (state !== 'ready') continue;
    const last = caughtUpAt === null ? undefined : formatTimestamp(caughtUpAt);
    // The first run may still be under way.
    const latest = caughtUpAt ?? catchUpTriedAt;
    const isLate = latest !== null && latest.getTime() < now().getTime() - LATE_MS;
    if (catchUpFailure === null && !isLate) {
      fine.push(`${name} (${last ?? 'not yet'})`);
      continue;
    }
    const why = catchUpFailure ?? undefined;
    findings.push(
      warning(
        'CATCH_UP_FAILED',
        `${name} could not be caught up${why === undefined ? '' : `: ${describeStored(failures.catchUp, why)}`}. It last was: ${last ?? 'never'}.`,
        {
          why: 'What it told while this service did not hear it has not happened to any licence.',
          remedy: `Try it: licensing shop catch-up ${name} (docs/shop-catch-up.md)`,
        },
        {
          what: `${name} ließ sich nicht nachholen${why === undefined ? '' : `: ${describeStored(german.catchUp, why)}`}. Zuletzt: ${last ?? 'nie'}.`,
          why: 'Was er meldete, als dieser Dienst ihn nicht hörte, ist bei keiner Lizenz geschehen.',
          remedy: `Versuchen Sie es: licensing shop catch-up ${name} (docs/shop-catch-up.md)`,
        },
      ),
    );
  }
  if (fine.length > 0)
    findings.push(
      ok(
        'CATCH_UP',
        `Last caught up: ${fine.join(', ')}.`,
        `Zuletzt nachgeholt: ${fine.join(', ').replaceAll('(not yet)', '(noch nicht)')}.`,
      ),
    );
  const others = shops.flatMap(({ name, state }) => (state === 'ready' ? [] : { name, state }));
  const mendable = others.find(({ state }) => state !== 'cannot')?.name;
  const help = mendable && `licensing shop edit ${mendable} --api-key-file FILE (docs/shop-catch-up.md)`;
  if (others.length > 0)
    findings.push(
      ok(
        'CATCH_UP_NOT',
        `What these told while this service did not hear cannot be caught up: ${others.map(({ name, state }) => `${name} (${WHY_NOT[state]})`).join(', ')}.${help === undefined ? '' : ` To change that: ${help}.`}`,
        `Was diese meldeten, als dieser Dienst nicht hörte, lässt sich nicht nachholen: ${others.map(({ name, state }) => `${name} (${WHY_NOT_GERMAN[state]})`).join(', ')}.${help === undefined ? '' : ` So geht es: ${help}.`}`,
      ),
    );
  return findings;
};
