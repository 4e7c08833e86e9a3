import type { Command } from 'commander';
import { readConfig } from '../config';
import {
  describePrefixes,
  findOtherPrefixes,
  migrate,
  readSchemaState,
  refuseNewerSchema,
  refuseOtherPrefix,
} from '../store/migrate';
import { createOutput, type Output } from './command';
import { withDatabase } from './database';

interface MigrateOptions {
  status?: boolean;
  finish?: boolean;
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('bring the database up to date')
    .description(
      "Creates the service's tables, or brings them up to this version. Safe to run at any time and by several processes at once.",
    )
    .option('--status', 'only tell what would be done')
    .option(
      '--finish',
      'also remove what only earlier versions read: after every instance and command has been upgraded and restarted',
    )
    .addHelpText('after', '\nExample:\n  licensing migrate --status')
    .action(async ({ status = false, finish = false }: MigrateOptions, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
      await withDatabase(config, async (db) => {
        if (!config.tablePrefixChosen) await refuseOtherPrefix(db);
        if (status) {
          const state = await readSchemaState(db);
          refuseNewerSchema(state);
          const { pending, contracting, completed } = state;
          output.print({ pending, contracting, completed }, () =>
            pending.length > 0
              ? `To be run: ${pending.join(', ')}.`
              : contracting.length === 0
                ? 'The database is up to date.'
                : 'The database serves this version, and still the earlier one.',
          );
          // Until then, the call that runs the others says so, or runs these too.
          if (pending.length === 0) noteUnfinished(output, contracting);
          return;
        }
        const isFirst = (await readSchemaState(db)).completed.length === 0;
        const run = await migrate(db, config.database, { finish });
        const others = config.tablePrefixChosen && isFirst ? await findOtherPrefixes(db) : [];
        if (others.length > 0)
          output.note(
            `note: this database has tables of this program under another prefix too (${describePrefixes(others)}). If those are meant, correct LICENSING_TABLE_PREFIX.`,
          );
        output.print({ run }, () =>
          run.length === 0 ? 'The database was up to date already.' : `Done: ${run.join(', ')}.`,
        );
        noteUnfinished(output, (await readSchemaState(db)).contracting);
      });
    });
}

/** Says how to finish an upgrade whose earlier version may still be running. */
export function noteUnfinished(output: Output, contracting: string[]): void {
  if (contracting.length > 0)
    output.note(
      `Restart every instance now. Then run "licensing migrate --finish": it removes what only the earlier version read (${contracting.join(', ')}).`,
    );
}
