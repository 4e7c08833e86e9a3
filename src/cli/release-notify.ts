import { Option, type Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { countOf } from '../base/count-of';
import { plansKeepingBack } from '../licensing/bundles';
import { NOTICE_AUDIENCES, type NoticeAudience } from '../mail/security-release';
import { releaseNoticeOperations } from '../operations/release-notice';
import { requireRelease } from '../packages/releases';
import { positiveInteger } from './arguments';
import { withSession, type Session } from './command';
import { operate } from './operate';
import { askYesOrNo } from './standard-input';

interface NotifyOptions {
  product: number;
  version: string;
  audience?: NoticeAudience;
  dryRun?: true;
  yes?: true;
}

/** Adds `release notify`, which mails a security release to the customers. */
export function addNotify(release: Command): void {
  release
    .command('notify')
    .description(
      'Mails all customers who may have a security release and may still run an older version. The mail names what the release fixes, and where to get it. You can send it once per version and audience; customers who were mailed about a version with the same fix get no second mail. At most 300 mails a minute are sent.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .addOption(
      new Option(
        '--audience <audience>',
        'the customers whose licence covers the version (the default), or also the others, whom the mail warns of the hole',
      ).choices(NOTICE_AUDIENCES),
    )
    .option('--dry-run', 'print the mail and the number of recipients, and send nothing')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing release notify --product 42 --version 2.1.0 --dry-run\n  licensing release notify --product 42 --version 2.1.0',
    )
    .action(({ product, version, audience, dryRun, yes }: NotifyOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        const { id } = await requireRelease(db, product, version.trim());
        const path = { id };
        const query = { audience };
        const preview = await operate(session, releaseNoticeOperations.previewReleaseNotice, { path, query });
        if (audience === 'everybody') await warn(session, product);
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
          body: { audience },
          onProgress: (done) => output.progress(`Queued: ${countOf(done, 'mail')}`),
        });
        output.print(sent, `${countOf(sent.mails, 'mail')} will be sent, at most 300 a minute.`);
      }),
    );
}

/** Warns that the law asks for free security updates, with the commands that give them. */
async function warn({ db, output }: Session, productId: number): Promise<void> {
  const plans = await plansKeepingBack(db, productId);
  if (plans.length === 0) return;
  output.note(
    [
      'From 11 December 2027 the law asks for free security updates, even after the end of a licence (Regulation (EU) 2024/2847, Annex I). To give them:',
      ...plans.map(({ id }) => `  licensing plan edit ${id} --after-expiry security`),
    ].join('\n'),
  );
}
