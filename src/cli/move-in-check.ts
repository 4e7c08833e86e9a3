import type { Command } from 'commander';
import { moveInOperations } from '../operations/move-in';
import { countOf } from '../base/count-of';
import { withSession } from './command';
import { operate } from './operate';
import { formatTable } from './tables';

const SOURCES = { ars: 'Akeeba Release System', membershippro: 'Membership Pro' };

export function addMoveInCommands(program: Command): void {
  const moveIn = program.command('move-in').description('Checks how a move from another system went.');
  moveIn
    .command('check')
    .description(
      'Shows how many of the sites that sent a request in the last 30 days were answered or refused, the same figures for the last days of the former system, and the unknown keys that sites sent.',
    )
    .addHelpText('after', '\nExample:\n  licensing move-in check')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const found = await operate(session, moveInOperations.getMoveIn);
        session.output.print(found, () => {
          const { now, before, unknown_keys: unknown } = found;
          return [
            formatTable(
              ['WHERE', 'SITES', 'ANSWERED', 'REFUSED', 'WHY'],
              [
                [
                  `here, the last ${found.days} days`,
                  now.more ? `more than ${now.sites}` : now.sites,
                  now.answered,
                  now.refused,
                  now.refusals.map(({ code, sites }) => `${code} ${sites}`).join(', ') || null,
                ],
                ...before.map(({ source, from, to, sites, answered, refused }) => [
                  `${SOURCES[source]}, ${from.slice(0, 10)} to ${to.slice(0, 10)}`,
                  sites,
                  answered,
                  refused,
                  null,
                ]),
              ],
              '',
            ),
            '',
            formatTable(
              ['UNKNOWN KEY', 'SITES', 'REQUESTS', 'LATEST', 'MAY BE MEANT FOR'],
              unknown.map(({ key_hint, sites, times, at, nearest }) => [
                `...${key_hint}`,
                sites,
                times,
                at,
                nearest.map(({ license_id, slip }) => `licence ${license_id} (${slip})`).join(', ') || null,
              ]),
              'No unknown key was sent.',
            ),
            ...(unknown.length === 0
              ? []
              : [`${countOf(unknown.length, 'unknown key')}. For each: licensing why HINT`]),
          ].join('\n');
        });
      }),
    );
}
