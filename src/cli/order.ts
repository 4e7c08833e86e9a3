import type { Command } from 'commander';
import { asDecimal } from '../base/currency';
import { failures } from '../texts/operators/en/failures';
import { describeStored, describeWait, type NoMailReason } from '../texts/operators/failures';
import { orderOperations } from '../operations/orders';
import { readOrder } from '../orders/views';
import { emailAddress, label, positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { operate, operatePage, type DataOf } from './operate';
import { formatFields, formatTable } from './tables';

type Order = DataOf<typeof orderOperations.listOrders>[number];
type Details = DataOf<typeof orderOperations.getOrder>;

export function addOrderCommands(program: Command): void {
  const order = program.command('order').description('The orders of shops, with their licences and mails.');
  addList(order);
  addShow(order);
  addMail(order);
  addConfirm(order);
  addSetCustomer(order);
}

interface ListOptions {
  shop?: string;
  order?: string;
  waiting?: boolean;
  withoutAddress?: boolean;
  limit: number;
  after?: string;
}

function addMail(order: Command): void {
  order
    .command('mail')
    .description("Mails an order's keys to its customer, even if they were mailed before.")
    .argument('<id>', 'the id of the order', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing order mail 12')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const path = { id };
        const { order: number } = await operate(session, orderOperations.getOrder, { path });
        const queued = await operate(session, orderOperations.addOrderMail, { path });
        session.output.print(
          queued,
          `The keys of order ${number} will be mailed to ${queued.to ?? '-'} as soon as the service runs.`,
        );
      }),
    );
}

function addConfirm(order: Command): void {
  order
    .command('confirm')
    .description('Confirms an order with more than 100 lines, which waits for this, and runs it.')
    .argument('<id>', 'the id of the order', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing order confirm 12')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const done = await operate(session, orderOperations.confirmOrder, { path: { id } });
        session.output.print(done, `Order ${done.order} is confirmed: ${done.state}.`);
      }),
    );
}

function addSetCustomer(order: Command): void {
  order
    .command('set-customer')
    .description(
      "Sets the customer's address of an order. If the order had no address, its keys are mailed to the new one.",
    )
    .argument('<id>', 'the id of the order', positiveInteger)
    .argument('<email>', "the customer's e-mail address", emailAddress)
    .addHelpText('after', '\nExample:\n  licensing order set-customer 12 jane@example.com')
    .action((id: number, email: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const body = { customer: { email } };
        const changed = await operate(session, orderOperations.updateOrder, { path: { id }, body });
        session.output.print(
          changed,
          `The customer of order ${changed.order} is ${changed.customer ?? '-'}. Keys mailed: ${describeMail(changed.mail)}.`,
        );
      }),
    );
}

/** Describes an order's mail on one line. */
function describeMail({ state, to, at, reason }: Details['mail']): string {
  if (state === 'none') {
    const why = reason as NoMailReason;
    return `no: ${failures.keysNotMailed[why]}${HINTS[why] ?? ''}`;
  }
  const why = reason === null ? '' : `: ${describeStored(failures.mail, reason)}`;
  return `${state} ${at ?? ''} to ${to ?? '-'}${why}`;
}

const HINTS: Partial<Record<NoMailReason, string>> = {
  off: ' (licensing shop edit SHOP --mail key)',
  not_sent: ' (licensing order mail ID)',
};

function addList(order: Command): void {
  order
    .command('list')
    .description('Lists orders, newest first, a page at a time.')
    .option('--shop <name>', 'only of this shop')
    .option('--order <number>', 'only orders with this number in the shop', label)
    .option('--waiting', 'only orders that wait, for example until an article has a plan')
    .option('--without-address', 'only paid orders without an e-mail address, whose keys could not be mailed')
    .option('--limit <n>', 'how many to list', upTo(500), 100)
    .option('--after <cursor>', 'the cursor of the next page, which is printed at the end of this one')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing order list --waiting\n  licensing order list --order 1001',
    )
    .action(({ shop, order: number, waiting, withoutAddress, limit, after }: ListOptions, command: Command) =>
      withSession(command, async (session) => {
        const query = {
          shop,
          order: number,
          state: waiting ? ('waiting' as const) : undefined,
          without_address: withoutAddress ? ('true' as const) : undefined,
          limit,
          after,
        };
        const { items, next } = await operatePage(session, orderOperations.listOrders, { query });
        session.output.printList(
          items,
          () =>
            formatTable(
              ['ID', 'SHOP', 'ORDER', 'STATE', 'CUSTOMER', 'PAID', 'LICENCES', 'WAITS FOR'],
              items.map((one) => [
                ...[one.id, one.shop, one.order, stateOf(one), one.customer],
                ...[amountsOf(one, 'paid'), licensesOf(one), waitsOf(one)],
              ]),
              'No orders.',
            ),
          next === null ? [] : [`There are more: --after ${next}`],
        );
      }),
    );
}

function stateOf({ state, test }: Pick<Order, 'state' | 'test'>): string {
  return test ? `${state}, test` : state;
}

/** Formats amounts by currency, such as `49.00 EUR`. */
function amountsOf({ amounts }: Pick<Order, 'amounts'>, which: 'paid' | 'refunded'): string | null {
  const some = amounts.filter((one) => one[which] !== 0);
  return some.map((one) => `${asDecimal(one[which], one.currency)} ${one.currency}`).join(', ') || null;
}

function licensesOf({ lines }: Order): string | null {
  return lines.flatMap(({ licenses }) => licenses.map(({ id }) => id)).join(', ') || null;
}

function waitsOf({ lines, state, failure, retry_at: retry }: Order): string | null {
  if (state === 'failed') return `${failure ?? ''}, next attempt at ${retry ?? ''}`;
  if (failure === 'too_many') return 'more than 100 lines: licensing order confirm ID';
  const waits = lines.flatMap(({ waits_for: what, sku }) =>
    what === null ? [] : [what === 'not_mapped' ? `${sku ?? ''} has no plan` : describeWait(failures, what)],
  );
  return [...new Set(waits)].join(', ') || null;
}

function paidOf({ paid_until: until, renews_itself: renews }: Details['lines'][number]): string | null {
  return until !== null && renews ? `${until}, renews automatically` : until;
}

function addShow(order: Command): void {
  order
    .command('show')
    .description('Shows an order: its lines, their licences, and its events with their effects.')
    .argument('<id>', 'its id here: "licensing order list --order NUMBER" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing order show 12')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const shown = await operate(session, orderOperations.getOrder, { path: { id } });
        const owner = (await readOrder(session.db, id))?.order.owner ?? null;
        session.output.print(shown, () =>
          [
            formatFields([
              ['id', shown.id],
              ['shop', shown.shop],
              ['order', shown.order],
              ['state', stateOf(shown)],
              ['failed', shown.failed_at && `${shown.failed_at}: ${waitsOf(shown) ?? ''}`],
              ['customer', shown.customer],
              ['paid', amountsOf(shown, 'paid')],
              ['refunded', amountsOf(shown, 'refunded')],
              ['posted by', owner],
              ['keys mailed', describeMail(shown.mail)],
            ]),
            '',
            formatTable(
              ['LINE', 'ARTICLE', 'QUANTITY', 'LICENCES', 'PAID UNTIL', 'WAITS FOR'],
              shown.lines.map((line) => [
                line.line,
                line.sku ?? (line.plan_id === null ? null : `plan ${line.plan_id}`),
                line.quantity,
                line.licenses.map((license) => license.id).join(', ') || null,
                paidOf(line),
                line.waits_for,
              ]),
              'It has no lines yet, because no payment of it has been received.',
            ),
            '',
            formatTable(
              ['AT', 'EVENT', 'AMOUNT', 'DID'],
              shown.events.map(({ at, event, partial, amount, currency, outcomes }) => [
                at,
                partial ? `${event} (partial)` : event,
                amount === null || currency === null ? null : `${asDecimal(amount, currency)} ${currency}`,
                outcomes
                  .map(({ line, action, reason }) =>
                    reason === null ? `${line}: ${action}` : `${line}: ${action} (${reason})`,
                  )
                  .join(', ') || null,
              ]),
            ),
            '',
            `First posted at ${shown.created_at}.`,
          ].join('\n'),
        );
      }),
    );
}
