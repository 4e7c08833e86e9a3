import { pino, type Logger } from 'pino';
import type { Command } from 'commander';
import { readConfig, type Config } from '../settings/config';
import { createOutput } from './command';

/** The attempts of one run. */
export interface Worked {
  mails: { sent: number; failed: number };
  webhooks: { delivered: number; failed: number };
}

/** Runs the work that is due, once (app/work.ts). */
export type WorkOnce = (config: Config, log: Logger, now: () => Date) => Promise<Worked>;

export function addWorkCommand(program: Command, workOnce: WorkOnce): void {
  program
    .command('work')
    .summary('do once what is due, for a cron of a host where the service does not always run')
    .description(
      'Does once what a running service does by itself: sends mails and webhooks that wait, runs orders that wait, asks shops for what was missed, ' +
        'queues reminders, tells of licences that end, and deletes what is old. What another process is at is left to it. ' +
        'Where Passenger ends processes that nobody asks (docs/shared-hosting.md), run it every ten minutes.',
    )
    .addHelpText('after', '\nExample:\n  licensing work')
    .action(async (_options: object, command: Command) => {
      const output = createOutput(command);
      // Log to stderr, because standard output is for the result.
      const log = pino({ level: 'warn', base: null }, pino.destination({ dest: 2, sync: true }));
      const { mails, webhooks } = await workOnce(readConfig(), log, () => new Date());
      output.print(
        { mails, webhooks },
        `Mails sent: ${mails.sent}, not sent: ${mails.failed}. Webhooks delivered: ${webhooks.delivered}, not delivered: ${webhooks.failed}.`,
      );
    });
}
