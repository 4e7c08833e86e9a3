import type { Command } from 'commander';
import { asDecimal } from '../base/currency';
import { renewalOperations } from '../operations/renewals';
import { positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { operate, operatePage } from './operate';
import { formatTable } from './tables';

interface OfPlans {
  product?: number;
  plan?: number;
}

export function addRenewalsCommand(program: Command): void {
  program
    .command('renewals')
    .description(
      'Shows for each month how many licences ended and how many of those were renewed. It also shows the renewals that are due, and the licences by state.',
    )
    .option('--product <id>', 'only of this product', positiveInteger)
    .option('--plan <id>', 'only on this plan', positiveInteger)
    .addHelpText(
      'after',
      '\nThe figures of a month are final 30 days after its last day. "licensing not-renewed" lists who did not renew.\n\nExample:\n  licensing renewals --product 42',
    )
    .action(({ product, plan }: OfPlans, command: Command) =>
      withSession(command, async (session) => {
        const query = { product_id: product, plan_id: plan };
        const found = await operate(session, renewalOperations.getRenewals, { query });
        session.output.print(found, () =>
          [
            formatTable(
              ['MONTH', 'ENDED', 'IN TIME', 'LATE', 'LOST', 'FINAL'],
              found.months.map((one) => [
                ...[one.month, one.ended, one.in_time, one.late, one.lost],
                one.final ? 'yes' : 'not yet',
              ]),
            ),
            formatTable(
              ['DUE IN', 'WITHOUT SUBSCRIPTION', 'WITH SUBSCRIPTION'],
              found.due.map((one) => [`${one.days} days`, one.without_subscription, one.with_subscription]),
            ),
            formatTable(
              ['MONTH', 'ACTIVE', 'EXPIRED', 'SUSPENDED', 'REVOKED', 'CANCELLED'],
              found.states.map((one) => [
                ...[one.month, one.active, one.expired, one.suspended, one.revoked, one.cancelled],
              ]),
            ),
            ...(found.money.since === null
              ? []
              : [
                  formatTable(
                    ['MONTH', 'PAID', 'REFUNDED', 'CURRENCY'],
                    found.money.sums.map(({ month, paid, refunded, currency }) => [
                      ...[month, asDecimal(paid, currency), asDecimal(refunded, currency), currency],
                    ]),
                  ),
                  `Paid and refunded amounts of all products, as shops have reported them since ${found.money.since}.`,
                ]),
          ].join('\n\n'),
        );
      }),
    );
}

export function addNotRenewedCommand(program: Command): void {
  program
    .command('not-renewed')
    .description(
      'Lists licences that ended and were not renewed, a page at a time. Licences with a refused request since the end come first, latest request first.',
    )
    .option('--product <id>', 'only of this product', positiveInteger)
    .option('--plan <id>', 'only on this plan', positiveInteger)
    .option('--month <month>', 'only licences whose paid end was in this month, such as 2026-11')
    .option('--limit <n>', 'how many to list', upTo(500), 100)
    .option('--after <cursor>', 'the cursor of the next page, which is printed at the end of this one')
    .addHelpText('after', '\nExample:\n  licensing not-renewed --product 42 --month 2026-10')
    .action(
      (
        { product, plan, ...others }: OfPlans & { month?: string; limit: number; after?: string },
        command: Command,
      ) =>
        withSession(command, async (session) => {
          const query = { product_id: product, plan_id: plan, ...others };
          const { items, next } = await operatePage(session, renewalOperations.listNotRenewed, { query });
          session.output.printList(
            items,
            () =>
              formatTable(
                [
                  'LICENCE',
                  'CUSTOMER',
                  'SINCE',
                  'ENDED',
                  'LAST DOWNLOAD',
                  'REFUSED',
                  'LATEST',
                  'ANOTHER WORKS',
                ],
                items.map((one) => [
                  one.license_id,
                  one.customer,
                  one.customer_since?.slice(0, 10) ?? null,
                  one.ended_at.slice(0, 10),
                  one.last_download_at?.slice(0, 10) ?? null,
                  one.refused,
                  one.refused_at,
                  one.has_active ? 'yes' : 'no',
                ]),
                'Every licence that ended was renewed.',
              ),
            next === null ? [] : [`There are more: --after ${next}`],
          );
        }),
    );
}
