import type { Command } from 'commander';
import { unmatchedOperations } from '../operations/unmatched';
import { UNMATCHED_STATES, type Unmatched } from '../orders/unmatched-views';
import { oneOf, positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { operate, operatePage } from './operate';
import { formatTable } from './tables';

export function addUnmatchedCommands(program: Command): void {
  const unmatched = program
    .command('unmatched')
    .description(
      'Events about money that match no known order, line or payment. You can assign one to a licence, issue a licence for it, or leave it.',
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
    .description('Lists unmatched events, newest first, a page at a time.')
    .option('--shop <name>', 'only of this shop')
    .option('--state <state>', `one of ${UNMATCHED_STATES.join(', ')}`, oneOf(UNMATCHED_STATES), 'open')
    .option('--limit <n>', 'how many to list', upTo(500), 100)
    .option('--after <cursor>', 'the cursor of the next page, which is printed at the end of this one')
    .addHelpText(
      'after',
      '\nIf the missing order or payment arrives later, the event runs automatically and leaves this list.\n\nExample:\n  licensing unmatched list --shop stripe',
    )
    .action(({ shop, state, limit, after }: ListOptions, command: Command) =>
      withSession(command, async (session) => {
        const query = { shop, state, limit, after };
        const { items, next } = await operatePage(session, unmatchedOperations.listUnmatched, { query });
        session.output.printList(
          items,
          () =>
            formatTable(
              ['ID', 'HAPPENED', 'SHOP', 'EVENT', 'OF', 'CUSTOMER', 'REASON', 'LICENCE'],
              items.map((one) => [
                one.id,
                one.at,
                one.shop,
                one.event,
                one.names,
                one.customer,
                one.reason,
                one.license_id,
              ]),
              'Nothing is unmatched.',
            ),
          next === null ? [] : [`There are more: --after ${next}`],
        );
      }),
    );
}

function addAssign(unmatched: Command): void {
  unmatched
    .command('assign')
    .description('Assigns it to a licence. Its order or subscription renews that licence from now on.')
    .argument('<id>', ID, positiveInteger)
    .requiredOption('--license <id>', 'the licence', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched assign 3 --license 12')
    .action((id: number, { license }: { license: number }, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { id }, body: { license_id: license } };
        session.output.print(
          await operate(session, unmatchedOperations.assignUnmatched, wanted),
          `It is assigned to licence ${license}, and has run. To see the licence: licensing license show ${license}`,
        );
      }),
    );
}

function addIssue(unmatched: Command): void {
  unmatched
    .command('issue')
    .description(
      'Issues a licence for it, to the customer that the shop named. The key is mailed by the rule of the shop.',
    )
    .argument('<id>', ID, positiveInteger)
    .requiredOption('--plan <id>', 'the plan: "licensing plan list" shows them', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched issue 3 --plan 7')
    .action((id: number, { plan }: { plan: number }, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { id }, body: { plan_id: plan } };
        const done = await operate(session, unmatchedOperations.issueUnmatched, wanted);
        session.output.print(done, `Licence ${done.license_id} is issued for it.`);
      }),
    );
}

function addLeave(unmatched: Command): void {
  unmatched
    .command('leave')
    .description('Settles it without a change. It is no longer listed as open.')
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing unmatched leave 3')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const left = await operate(session, unmatchedOperations.leaveUnmatched, { path: { id } });
        session.output.print(left, 'It is settled, and nothing was changed.');
      }),
    );
}
