import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { failures } from '../texts/operators/en/failures';
import { describeStored } from '../texts/operators/failures';
import { webhookOperations } from '../operations/webhooks';
import { deliveryJson, MAX_COUNTED, requireDelivery, deliveryStateOf } from '../webhooks/receivers';
import { positiveInteger, requireChange } from './arguments';
import { withSession, type Session } from './command';
import { operate, operateAll, type DataOf } from './operate';
import { printable } from './printable';
import { formatFields, formatTable } from './tables';

type Webhook = DataOf<typeof webhookOperations.updateWebhook>;

const ID = 'id of the webhook: "licensing webhook list" shows it';
const EVENTS =
  'the events that it receives, separated by commas: types, all of a kind such as license.*, or *';

export function addWebhookCommands(program: Command): void {
  const webhook = program
    .command('webhook')
    .description('Webhooks: notify other programs when licences, sites and releases change.');
  addAdd(webhook);
  addList(webhook);
  addShow(webhook);
  addEdit(webhook);
  addTest(webhook);
  addDeliveries(webhook);
  addReplay(webhook);
  addRotate(webhook);
  addSwitch(webhook, 'disable');
  addSwitch(webhook, 'enable');
  addRemove(webhook);
}

const eventList = (text: string) => text.split(',');

function addAdd(webhook: Command): void {
  webhook
    .command('add')
    .description('Adds a receiver and prints its secret, which is shown only now.')
    .argument('<url>', 'the address that webhooks are posted to: https, and public')
    .requiredOption('--events <events>', EVENTS, eventList)
    .option('--description <text>', 'a description for yourself')
    .addHelpText(
      'after',
      "\nExample:\n  licensing webhook add https://crm.example/hook --events 'license.*,release.published'",
    )
    .action(
      (url: string, { events, description }: { events: string[]; description?: string }, command: Command) =>
        withSession(command, async (session) => {
          const body = { url, events, description };
          const added = await operate(session, webhookOperations.addWebhook, { body });
          session.output.print(added, added.secret);
          session.output.note(
            `Enter it at the receiver now: it cannot be shown again. This is webhook ${added.id}. To test it: licensing webhook test ${added.id}`,
          );
        }),
    );
}

function addList(webhook: Command): void {
  webhook
    .command('list')
    .description('Lists the receivers, without their secrets.')
    .addHelpText('after', '\nExample:\n  licensing webhook list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const webhooks = await operateAll(session, webhookOperations.listWebhooks);
        session.output.print(webhooks, () =>
          formatTable(
            ['ID', 'URL', 'EVENTS', 'STATE', 'DESCRIPTION'],
            webhooks.map((one) => [one.id, one.url, one.events.join(' '), stateText(one), one.description]),
            'No webhooks.',
          ),
        );
      }),
    );
}

function stateText({ enabled, disabled_reason: reason }: Webhook): string {
  return enabled ? 'enabled' : `disabled (${reason ?? 'operator'})`;
}

function addShow(webhook: Command): void {
  webhook
    .command('show')
    .description('Shows a receiver, with the number of its waiting deliveries.')
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing webhook show 1')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const one = await operate(session, webhookOperations.getWebhook, { path: { id } });
        const { waiting, previous_secret_until: until } = one;
        session.output.print(one, () =>
          formatFields([
            ['id', id],
            ['url', one.url],
            ['events', one.events.join(' ')],
            ['description', one.description],
            ['state', stateText(one)],
            ['disabled since', one.disabled_at],
            ['waiting', waiting === MAX_COUNTED ? `${waiting} or more` : waiting],
            ['old secret until', until !== null && new Date(until) > session.now ? until : null],
          ]),
        );
      }),
    );
}

interface Edited {
  url?: string;
  events?: string[];
  description?: string;
}

function addEdit(webhook: Command): void {
  webhook
    .command('edit')
    .description('Changes the address, the events or the description of a receiver.')
    .argument('<id>', ID, positiveInteger)
    .option('--url <url>', 'the address that webhooks are posted to')
    .option('--events <events>', EVENTS, eventList)
    .option('--description <text>', 'a description for yourself; an empty text removes it')
    .addHelpText('after', '\nExample:\n  licensing webhook edit 1 --events license.expired')
    .action((id: number, { url, events, description }: Edited, command: Command) => {
      requireChange(command, url, events, description);
      return withSession(command, async (session) => {
        const wanted = { path: { id }, body: { url, events, description } };
        const edited = await operate(session, webhookOperations.updateWebhook, wanted);
        session.output.print(edited, `Webhook ${id} is changed.`);
      });
    });
}

function addTest(webhook: Command): void {
  webhook
    .command('test')
    .description("Lets the service send webhook.test, and prints the receiver's answer.")
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing webhook test 1')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const queued = await operate(session, webhookOperations.testWebhook, { path: { id } });
        await printSent(session, id, queued.id);
      }),
    );
}

/** The maximum wait: an attempt takes up to 15 s. */
const WAIT_MS = 20_000;
const ASK_EVERY_MS = 200;

/** Waits until the service has sent a delivery. @throws OperatorError if it was not accepted */
async function printSent({ db, output }: Session, webhookId: number, id: number): Promise<void> {
  let sent = await requireDelivery(db, webhookId, id);
  for (const until = Date.now() + WAIT_MS; sent.kind === 'webhook_now' && Date.now() < until;) {
    await sleep(ASK_EVERY_MS);
    sent = await requireDelivery(db, webhookId, id);
  }
  if (sent.kind === 'webhook_now')
    throw new OperatorError(
      `Delivery ${id} is queued, but the service has not sent it yet. Is it running? "licensing webhook deliveries ${webhookId}" shows its state.`,
    );
  const said = sent.answer === null ? '' : ` Its answer: ${printable(sent.answer)}`;
  if (deliveryStateOf(sent) !== 'delivered')
    throw new OperatorError(
      `It was not delivered: ${describeStored(failures.webhook, sent.lastError ?? '')}.${said}`,
    );
  output.print(deliveryJson(sent), `Delivered: the receiver answered ${sent.answerStatus ?? '-'}.${said}`);
}

function addDeliveries(webhook: Command): void {
  webhook
    .command('deliveries')
    .description('Lists the deliveries to a receiver, newest first.')
    .argument('<id>', ID, positiveInteger)
    .option('--waiting', 'only waiting deliveries, the next one first')
    .option('--limit <n>', 'how many to list', positiveInteger, 50)
    .addHelpText('after', '\nExample:\n  licensing webhook deliveries 1 --waiting')
    .action(
      (id: number, { waiting = false, limit }: { waiting?: boolean; limit: number }, command: Command) =>
        withSession(command, async (session) => {
          const wanted = { path: { id }, query: { state: waiting ? ('waiting' as const) : undefined } };
          const { listWebhookDeliveries } = webhookOperations;
          const deliveries = await operateAll(session, listWebhookDeliveries, wanted, limit);
          session.output.print(deliveries, () =>
            formatTable(
              ['ID', 'TYPE', 'LICENCE', 'STATE', 'QUEUED', 'ATTEMPTS', 'NEXT ATTEMPT', 'WHY NOT'],
              deliveries.map((row) => [
                ...[row.id, row.type, row.license_id, row.state, row.created_at, row.attempts],
                ...[
                  row.next_attempt_at,
                  row.error === null ? null : describeStored(failures.webhook, row.error),
                ],
              ]),
              'No deliveries.',
            ),
          );
        }),
    );
}

function addReplay(webhook: Command): void {
  webhook
    .command('replay')
    .description('Sends a delivery again with the same webhook-id, even to a disabled receiver.')
    .argument('<id>', ID, positiveInteger)
    .argument('<delivery>', 'id of the delivery: "licensing webhook deliveries" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing webhook replay 1 12')
    .action((id: number, delivery: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const path = { id, delivery_id: delivery };
        await operate(session, webhookOperations.replayWebhookDelivery, { path });
        await printSent(session, id, delivery);
      }),
    );
}

function addRotate(webhook: Command): void {
  webhook
    .command('rotate')
    .description(
      'Makes a new secret and prints it, which is shown only now. For 24 hours, webhooks are also signed with the old one.',
    )
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing webhook rotate 1')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const rotated = await operate(session, webhookOperations.rotateWebhook, { path: { id } });
        session.output.print(rotated, rotated.secret);
        const until = rotated.previous_secret_until;
        session.output.note(
          `Enter it at the receiver now: it cannot be shown again. ${until === null ? 'The old one can no longer be read.' : `The old one is valid until ${until}.`}`,
        );
      }),
    );
}

function addSwitch(webhook: Command, verb: 'disable' | 'enable'): void {
  webhook
    .command(verb)
    .description(
      verb === 'disable'
        ? 'Disables a receiver. Its waiting and future deliveries are kept.'
        : 'Enables a receiver again, and sends all its waiting deliveries at once.',
    )
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', `\nExample:\n  licensing webhook ${verb} 1`)
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { id }, body: { enabled: verb === 'enable' } };
        const edited = await operate(session, webhookOperations.updateWebhook, wanted);
        session.output.print(edited, `Webhook ${id} is ${verb}d.`);
      }),
    );
}

function addRemove(webhook: Command): void {
  webhook
    .command('remove')
    .description('Removes a receiver and its waiting deliveries.')
    .argument('<id>', ID, positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing webhook remove 1')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const removed = await operate(session, webhookOperations.removeWebhook, { path: { id } });
        session.output.print(removed, `Webhook ${id} is removed.`);
      }),
    );
}
