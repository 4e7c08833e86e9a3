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
    .summary('do all due work once, for cron on a host where the service does not always run')
    .description(
      'Does once what a running service does all the time: sends waiting mails and webhooks, runs waiting orders, asks shops for missed messages, ' +
        'queues reminders, sends webhooks about licences that end, and deletes old data. It leaves out work that another process is doing. ' +
        'If Passenger stops idle processes (docs/shared-hosting.md), run it every ten minutes.',
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
