import type { Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { countOf } from '../base/count-of';
import { releaseNoticeOperations } from '../operations/release-notice';
import { requireRelease } from '../packages/releases';
import { positiveInteger } from './arguments';
import { withSession } from './command';
import { operate } from './operate';
import { askYesOrNo } from './standard-input';

interface NotifyOptions {
  product: number;
  version: string;
  dryRun?: true;
  yes?: true;
}

/** Adds `release notify`, which mails a security release to the customers. */
export function addNotify(release: Command): void {
  release
    .command('notify')
    .description(
      'Mails all customers who may have a security release and may still run an older version. The mail names what the release fixes, and where to get it. You can send it once per version. At most 300 mails a minute are sent.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .option('--dry-run', 'print the mail and the number of recipients, and send nothing')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing release notify --product 42 --version 2.1.0 --dry-run\n  licensing release notify --product 42 --version 2.1.0',
    )
    .action(({ product, version, dryRun, yes }: NotifyOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        const { id } = await requireRelease(db, product, version.trim());
        const path = { id };
        const preview = await operate(session, releaseNoticeOperations.previewReleaseNotice, { path });
        const { mails, subject, text, notified_at: notifiedAt } = preview;
        if (dryRun) {
          const sent = notifiedAt === null ? '' : `, sent since ${notifiedAt}`;
          output.print(preview, `${countOf(mails, 'mail')}${sent}:\n\n${subject}\n\n${text}`);
          return;
        }
        if (!yes && notifiedAt === null) {
          output.note(`${subject}\n\n${text}`);
          const answer = await askYesOrNo(`Send it to ${countOf(mails, 'customer')}? [y/N] `);
          if (answer === undefined)
            throw new OperatorError(
              'Nothing was sent: there is no terminal to ask on. --yes sends without asking.',
            );
          if (!answer) throw new OperatorError('Nothing was sent.');
        }
        const sent = await operate(session, releaseNoticeOperations.sendReleaseNotice, {
          path,
          onProgress: (done) => output.progress(`Queued: ${countOf(done, 'mail')}`),
        });
        output.print(sent, `${countOf(sent.mails, 'mail')} will be sent, at most 300 a minute.`);
      }),
    );
}
