import type { Command } from 'commander';
import { mailingOf } from '../mail/queue';
import { assignUnmatched, issueForUnmatched, leaveUnmatched } from '../orders/unmatched-acts';
import {
  listUnmatchedPage,
  UNMATCHED_STATES,
  unmatchedJson,
  viewUnmatched,
  type Unmatched,
} from '../orders/unmatched-views';
import { oneOf, positiveInteger, upTo } from './arguments';
import { withSession, type Session } from './command';
import { formatTable } from './tables';

export function addUnmatchedCommands(program: Command): void {
  const unmatched = program
    .command('unmatched')
    .description(
      'What shops told of money that belongs to no order, line or payment that is known: it is assigned to a licence, a licence is issued for it, or it is left.',
    );
  addList(unmatched);
  addAssign(unmatched);
  addIssue(unmatched);
  addLeave(unmatched);
}

const ID = 'its id: "licensing unmatched list" shows it';

interface ListOptions {
  shop?: string;
  state: Unmatched['state'];
  limit: number;
  after?: string;
}

function addList(unmatched: Command): void {
  unmatched
    .command('list')
    .description('Lists it, the newest first, a page at a time.')
    .option('--shop <name>', 'only of this shop')
    .option('--state <state>', `one of ${UNMATCHED_STATES.join(', ')}`, oneOf(UNMATCHED_STATES), 'open')
    .option('--limit <n>', 'how many at the most', upTo(500), 100)
    .option('--after <cursor>', 'the next page, as this one names it at its end')
    .addHelpText(
      'after',
      '\nWhat it lacks may come yet: then it counts, and is listed no more.\n\nExample:\n  licensing unmatched list --shop stripe',
    )
    .action(({ shop, state, limit, after }: ListOptions, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const { items, next } = await listUnmatchedPage(db, { shop, state }, { limit, after });
        output.printList(
          items.map(unmatchedJson),
          () =>
            formatTable(
              ['ID', 'HAPPENED', 'SHOP', 'EVENT', 'OF', 'CUSTOMER', 'REASON', 'LICENCE'],
              items.map((one) => {
                const { id, at, event, names, customer, reason, license_id } = unmatchedJson(one);
                return [id, at, one.shop, event, names, customer, reason, license_id];
              }),
              'Nothing is unmatched.',
            ),
          next === null ? [] : [`There are more: --after ${next}`],
        );
      }),
    );
}

const contextOf = ({ actor, now, config }: Session) => ({
  ...{ actor, now, secret: config.keySecret, mailing: mailingOf(config) },
});

async function print({ db, output }: Session, done: Unmatched, said: string): Promise<void> {
  output.print(unmatchedJson(await viewUnmatched(db, done)), said);
}

function addAssign(unmatched: Command): void {
  unmatched
    .command('assign')
    .description('Says which licence it is about. Its order or subscription renews that licence from now on.')
    .argument('<id>', ID, positiveInteger)
    .requiredOption('--license <id>', 'the licence', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched assign 3 --license 12')
    .action((id: number, { license }: { license: number }, command: Command) =>
      withSession(command, async (session) =>
        print(
          session,
          await assignUnmatched(session.db, id, license, contextOf(session)),
          `It belongs to licence ${license}, and has run: "licensing license show ${license}" shows what it did.`,
        ),
      ),
    );
}

function addIssue(unmatched: Command): void {
  unmatched
    .command('issue')
    .description(
      "Issues a licence for it, to the customer that the shop told. The key is mailed as the shop's are.",
    )
    .argument('<id>', ID, positiveInteger)
    .requiredOption('--plan <id>', 'the plan: "licensing plan list" shows them', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched issue 3 --plan 7')
    .action((id: number, { plan }: { plan: number }, command: Command) =>
      withSession(command, async (session) => {
        const done = await issueForUnmatched(session.db, id, plan, contextOf(session));
        await print(session, done, `Licence ${done.licenseId} is issued for it.`);
      }),
    );
}

function addLeave(unmatched: Command): void {
  unmatched
    .command('leave')
    .description('Settles it without a change. It is counted no more.')
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched leave 3')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) =>
        print(session, await leaveUnmatched(session.db, id, contextOf(session)), 'It is left as it is.'),
      ),
    );
}
