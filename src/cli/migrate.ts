import type { Command } from 'commander';
import { readConfig } from '../settings/config';
import { countOf } from '../base/count-of';
import { createOutput } from './command';
import { bringUpToDate, readMigrations, withDatabase } from '../setup/database';

interface MigrateOptions {
  status?: boolean;
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('bring the database up to date')
    .description(
      "Creates the service's tables, or brings them up to this version. You can run it at any time, and several processes can run it at once.",
    )
    .option('--status', 'only print what would be done')
    .addHelpText('after', '\nExample:\n  licensing migrate --status')
    .action(async ({ status = false }: MigrateOptions, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
      await withDatabase(config, async (db) => {
        const state = await readMigrations(db, config);
        if (status) {
          const { pending, completed } = state;
          output.print({ pending, completed }, () =>
            pending.length > 0 ? `Pending: ${pending.join(', ')}.` : 'The database is up to date.',
          );
          return;
        }
        const { run, others } = await bringUpToDate(db, config, state, (done, all) =>
          output.progress(`${done} of ${countOf(all, 'licence')}`),
        );
        if (others !== '')
          output.note(
            `note: this database also has tables of this program with another prefix (${others}). If you want to use those, correct LICENSING_TABLE_PREFIX.`,
          );
        output.print({ run }, () =>
          run.length === 0 ? 'The database was already up to date.' : `Done: ${run.join(', ')}.`,
        );
      });
    });
}
