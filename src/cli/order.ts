import type { Command } from 'commander';
import { formatTimestamp } from '../licensing/timestamps';
import { failures } from '../texts/operators/en/failures';
import { describeStored, describeWait } from '../texts/operators/failures';
import { mailingOf } from '../mail/queue';
import { orderMailJson, readOrderMail, sendOrderKeys, type NoMailReason } from '../orders/key-mails';
import { noOrder } from '../orders/record';
import { listOrderPage, orderJson, readOrder, shownOrderJson, type OrderView } from '../orders/views';
import { label, positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { formatFields, formatTable } from './tables';

export function addOrderCommands(program: Command): void {
  const order = program
    .command('order')
    .description('Orders that shops have posted, and what became of them.');
  addList(order);
  addShow(order);
  addMail(order);
}

interface ListOptions {
  shop?: string;
  order?: string;
  waiting?: boolean;
  limit: number;
  after?: string;
}

function addMail(order: Command): void {
  order
    .command('mail')
    .description("Mails an order's keys to its customer, again too.")
    .argument('<id>', 'the id of the order', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing order mail 12')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const found = await readOrder(db, id);
        if (found === undefined) throw noOrder();
        const context = { mailing: mailingOf(config), secret: config.keySecret, now };
        const queued = await sendOrderKeys(db, found.order, context);
        output.print(
          orderMailJson(queued),
          `The keys of order ${found.order.number} are mailed to ${queued.to ?? '-'} as soon as the service runs.`,
        );
      }),
    );
}

/** In words, for a line. */
function describeMail({ state, to, at, reason }: ReturnType<typeof orderMailJson>): string {
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
    .description('Lists orders, the newest first, a page at a time.')
    .option('--shop <name>', 'only of this shop')
    .option('--order <number>', "only with this number of the shop's", label)
    .option('--waiting', 'only those that wait, such as for an article to be mapped')
    .option('--limit <n>', 'how many at the most', upTo(500), 100)
    .option('--after <cursor>', 'the next page, as this one names it at its end')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing order list --waiting\n  licensing order list --order 1001',
    )
    .action(({ shop, order: number, waiting, limit, after }: ListOptions, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const filter = { shop, number, state: waiting ? 'waiting' : undefined };
        const { items, next } = await listOrderPage(db, filter, { limit, after });
        output.printList(
          items.map((one) => orderJson(one, now)),
          () =>
            formatTable(
              ['ID', 'SHOP', 'ORDER', 'STATE', 'CUSTOMER', 'LICENCES', 'WAITS FOR'],
              items.map((one) => [
                one.order.id,
                one.order.shop,
                one.order.number,
                one.order.isTest ? `${one.order.state}, test` : one.order.state,
                one.order.customer,
                licensesOf(one),
                waitsOf(one),
              ]),
              'No orders.',
            ),
          next === null ? [] : [`There are more: --after ${next}`],
        );
      }),
    );
}

function licensesOf({ lines }: OrderView): string | null {
  const ids = lines.flatMap(({ licenses }) => licenses.map(({ id }) => id));
  return ids.length === 0 ? null : ids.join(', ');
}

function waitsOf({ lines }: OrderView): string | null {
  const waits = lines.flatMap(({ line: { waitsFor, sku } }) =>
    waitsFor === null
      ? []
      : [waitsFor === 'not_mapped' ? `${sku ?? ''} is not mapped` : describeWait(failures, waitsFor)],
  );
  return waits.length === 0 ? null : [...new Set(waits)].join(', ');
}

function paidOf(line: { paid_until: string | null; renews_itself: boolean } | undefined): string | null {
  if (line === undefined || line.paid_until === null) return null;
  return line.renews_itself ? `${line.paid_until}, renews itself` : line.paid_until;
}

function addShow(order: Command): void {
  order
    .command('show')
    .description('Shows an order: its lines, their licences, and its events with what each did.')
    .argument('<id>', 'its id here: "licensing order list --order NUMBER" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing order show 12')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, now, config, output }) => {
        const found = await readOrder(db, id);
        if (found === undefined) throw noOrder();
        const { order: stored, lines } = found;
        const mail = await readOrderMail(db, stored, mailingOf(config) !== undefined);
        const json = await shownOrderJson(db, found, mail, now);
        output.print(json, () =>
          [
            formatFields([
              ['id', stored.id],
              ['shop', stored.shop],
              ['order', stored.number],
              ['state', stored.isTest ? `${stored.state}, test` : stored.state],
              ['customer', stored.customer],
              ['posted by', stored.owner],
              ['keys mailed', describeMail(json.mail)],
            ]),
            '',
            formatTable(
              ['LINE', 'ARTICLE', 'QUANTITY', 'LICENCES', 'PAID UNTIL', 'WAITS FOR'],
              lines.map(({ line, licenses }, i) => [
                line.line,
                line.sku ?? (line.planId === null ? null : `plan ${line.planId}`),
                line.quantity,
                licenses.map((license) => license.id).join(', ') || null,
                paidOf(json.lines[i]),
                line.waitsFor,
              ]),
              'It has no lines yet: no payment of it is known here.',
            ),
            '',
            formatTable(
              ['AT', 'EVENT', 'DID'],
              json.events.map(({ at, event, partial, outcomes }) => [
                at,
                partial ? `${event}, a part` : event,
                outcomes
                  .map(({ line, action, reason }) =>
                    reason === null ? `${line}: ${action}` : `${line}: ${action} (${reason})`,
                  )
                  .join(', ') || null,
              ]),
            ),
            '',
            `Posted first on ${formatTimestamp(stored.createdAt)}.`,
          ].join('\n'),
        );
      }),
    );
}
