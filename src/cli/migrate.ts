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
      "Creates the service's tables, or brings them up to this version. Safe to run at any time and by several processes at once.",
    )
    .option('--status', 'only tell what would be done')
    .addHelpText('after', '\nExample:\n  licensing migrate --status')
    .action(async ({ status = false }: MigrateOptions, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
      await withDatabase(config, async (db) => {
        const state = await readMigrations(db, config);
        if (status) {
          const { pending, completed } = state;
          output.print({ pending, completed }, () =>
            pending.length > 0 ? `To be run: ${pending.join(', ')}.` : 'The database is up to date.',
          );
          return;
        }
        const { run, others } = await bringUpToDate(db, config, state, (done, all) =>
          output.progress(`${done} of ${countOf(all, 'licence')}`),
        );
        if (others !== '')
          output.note(
            `note: this database has tables of this program under another prefix too (${others}). If those are meant, correct LICENSING_TABLE_PREFIX.`,
          );
        output.print({ run }, () =>
          run.length === 0 ? 'The database was up to date already.' : `Done: ${run.join(', ')}.`,
        );
      });
    });
}
