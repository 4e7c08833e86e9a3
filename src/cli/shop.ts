import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { API_PATH } from '../api';
import { plansOf } from '../licensing/catalogue';
import { requirePlanNamed } from '../licensing/find-or-refuse';
import { OperatorError } from '../licensing/operator-error';
import { quantity } from '../licensing/quantity';
import { runWaiting, type Ran } from '../orders/record';
import { effectsOf, readRules, requireRule, RULES } from '../orders/rules';
import {
  addShop,
  editShop,
  listShops,
  listSkus,
  mapSku,
  removeShop,
  requireShop,
  SHOP_KINDS,
  shopJson,
  SKU_QUANTITIES,
  skuJson,
  unmapSku,
  type Shop,
  type ShopKind,
  type SkuQuantity,
} from '../orders/shops';
import { isPosting, mailOf, SHOP_MAILS, type ShopMail } from '../orders/shop-kinds';
import { mailingOf } from '../mail/queue';
import { explainReadFault } from '../packages/file-faults';
import { MESSAGE_RESULTS, type MessageResult } from '../orders/receive';
import { countWaiting, listMessages, messageJson } from '../orders/views';
import { fileName, label, oneOf, orNull, requireChange, unlessNone, upTo, usage } from './arguments';
import { withSession, type Session } from './command';
import { addPlugin } from './shop-plugin';
import { readValue } from './standard-input';
import { formatTable } from './tables';

export function addShopCommands(program: Command): void {
  const shop = program
    .command('shop')
    .description('Shops that tell of orders: what their articles mean, and what becomes of licences.')
    .addHelpText(
      'after',
      '\nA shop posts orders with a token ("licensing token add --scope issue"), and is known from its first order on. Stripe, Paddle, Digistore24 and senders of Standard Webhooks are added with their kind, and get the secret that they sign with. docs/shop.md and docs/shop-receivers.md show how.',
    );
  addAdd(shop);
  addEdit(shop);
  addList(shop);
  addMap(shop);
  addUnmap(shop);
  addRules(shop);
  addRun(shop);
  addMessages(shop);
  addPlugin(shop);
  addRemove(shop);
}

const TEST_PLAN_HELP = 'what test orders issue: a plan by its id or name; without it they issue nothing';

/** Messages in one list. */
const MAX_PAGE = 1_000;
const MAIL_HELP =
  'key: customers are mailed the keys of their orders; none: the shop hands them out itself. The default goes by the kind';
const SECRET_HELP = 'a file with the secret that its messages are signed with; - reads standard input';

function addAdd(shop: Command): void {
  shop
    .command('add')
    .description(
      'Adds a shop, to map its articles or set its rules before its first order, or to receive its messages.',
    )
    .argument('<name>', 'its name in orders: 1 to 40 of a-z, 0-9, _ and -')
    .option(
      '--kind <kind>',
      `${SHOP_KINDS.join(', ')}. api posts orders with a token; the others send signed messages`,
      oneOf(SHOP_KINDS),
      'api' as ShopKind,
    )
    .option('--secret-file <file>', SECRET_HELP, fileOrInput)
    .option('--mail <what>', MAIL_HELP, oneOf(SHOP_MAILS))
    .option('--test', 'everything it sends is for testing')
    .option('--test-plan <plan>', TEST_PLAN_HELP, label)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing shop add hikashop\n  licensing shop add stripe --kind stripe\n  licensing shop edit stripe --secret-file stripe-secret.txt\n\nMost senders show their secret for an address, so the address comes first.',
    )
    .action((name: string, given: AddOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, output, config } = session;
        const { kind, test, testPlan, mail } = given;
        // The sender shows its secret for the address.
        if (!isPosting(kind))
          output.note(
            `Its messages go to ${config.publicUrl ?? 'https://YOUR.SITE'}${API_PATH}/hooks/${name}`,
          );
        const secret = await readSecret(given.secretFile);
        const testPlanId = testPlan === undefined ? undefined : (await requirePlanNamed(db, testPlan)).id;
        const added = await addShop(db, name, { kind, secret, test, testPlanId, mail }, contextOf(session));
        output.print(shopJson(added), `Shop ${name} is added.`);
        if (mailOf(added) === 'key' && mailingOf(config) === undefined)
          output.note(
            'Its customers are to be mailed their keys, and mail is not set up: docs/mail.md. With --mail none they are not.',
          );
        if (!isPosting(kind) && added.secretSealed === null)
          output.note(
            `It refuses every message until it has the secret that the sender shows for this address: licensing shop edit ${name} --secret-file FILE`,
          );
        output.note(`To map its articles: licensing shop map ${name} SKU --plan ID`);
      }),
    );
}

interface AddOptions {
  kind: ShopKind;
  secretFile?: string;
  test?: boolean;
  testPlan?: string;
  mail?: ShopMail;
}

function fileOrInput(text: string): string {
  return text === '-' ? text : fileName(text);
}

async function readSecret(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  if (file === '-') return readValue('-', 'Secret');
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new OperatorError(`The secret's file ${file} cannot be read: ${explainReadFault(error)}.`);
  });
}

function contextOf({ actor, now, config }: Session) {
  return { actor, now, keySecret: config.keySecret };
}

function addEdit(shop: Command): void {
  shop
    .command('edit')
    .description(
      'Changes how a shop is tested, or the secret of its messages. "licensing shop rules" changes what its events do.',
    )
    .argument('<name>', 'the shop')
    .option('--secret-file <file>', SECRET_HELP, fileOrInput)
    .option('--mail <what>', MAIL_HELP, oneOf(SHOP_MAILS))
    .option('--test <on|off>', 'on: everything it sends is for testing', oneOf(['on', 'off']))
    .option('--test-plan <plan>', 'what test orders issue: a plan, or none', unlessNone(label))
    .option('--token <name>', 'give the shop and its orders to the issue tokens of this name', label)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing shop edit hikashop --test-plan none\n  licensing shop edit hikashop --token new-shop',
    )
    .action((name: string, given: EditOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        requireChange(command, given.test, given.testPlan, given.secretFile, given.token, given.mail);
        const secret = await readSecret(given.secretFile);
        const plan = orNull(given.testPlan);
        const testPlanId = typeof plan === 'string' ? (await requirePlanNamed(db, plan)).id : plan;
        const test = given.test && given.test === 'on';
        const edited = await editShop(
          db,
          name,
          { secret, test, testPlanId, token: given.token, mail: given.mail },
          contextOf(session),
        );
        output.print(shopJson(edited), `Shop ${name} is changed.`);
      }),
    );
}

interface EditOptions {
  secretFile?: string;
  test?: 'on' | 'off';
  testPlan?: string;
  token?: string;
  mail?: ShopMail;
}

function addList(shop: Command): void {
  shop
    .command('list')
    .description('Lists shops, and how many of their orders wait.')
    .addHelpText('after', '\nExample:\n  licensing shop list')
    .action((_options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const shops = await listShops(db);
        const waiting = new Map((await countWaiting(db)).map((one) => [one.shop, one.orders]));
        output.print(
          shops.map((one) => ({ ...shopJson(one), waiting: waiting.get(one.name) ?? 0 })),
          () =>
            formatTable(
              ['NAME', 'KIND', 'MAIL', 'WAITING', 'TESTS', 'RULES CHANGED'],
              shops.map((one) => [
                one.name,
                one.kind,
                mailOf(one),
                waiting.get(one.name) ?? 0,
                testsOf(one),
                changedRules(one),
              ]),
              'No shops. A shop is known once it is added, or has posted an order.',
            ),
        );
      }),
    );
}

function testsOf({ isTest, testPlanId }: Shop): string {
  const issues = testPlanId === null ? 'issue nothing' : `issue plan ${testPlanId}`;
  return isTest ? `only tests, ${issues}` : issues;
}

function changedRules({ rulesJson }: Shop): string | null {
  if (rulesJson === null) return null;
  return Object.entries(JSON.parse(rulesJson) as Record<string, string>)
    .map((rule) => rule.join('='))
    .join(', ');
}

function addMap(shop: Command): void {
  shop
    .command('map')
    .description(
      "Lets a shop's article mean a plan, and runs the orders that waited for it. Without an article, shows the map.",
    )
    .argument('<shop>', 'the shop')
    .argument('[sku]', "the article, as the shop's orders name it")
    .option(
      '--plan <plan>',
      'the plan by its id, or by its name; a second plan for the same article: a second licence',
      label,
    )
    .option(
      '--quantity <what>',
      'what three of it are: licenses, three licences; slots, one licence with the slots of three',
      oneOf(SKU_QUANTITIES),
      'licenses' as SkuQuantity,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  licensing shop map hikashop\n  licensing shop map hikashop PRO-1Y --plan 7 --quantity slots',
    )
    .action(
      (
        name: string,
        sku: string | undefined,
        given: { plan?: string; quantity: SkuQuantity },
        command: Command,
      ) =>
        withSession(command, async (session) => {
          if (sku === undefined) return printMap(session, name);
          if (given.plan === undefined) requireChange(command, given.plan);
          const { db, now, output } = session;
          const plan = await requirePlanNamed(db, given.plan ?? '');
          const wanted = { sku, planId: plan.id, quantity: given.quantity };
          const { entry } = await mapSku(db, name, wanted, { now });
          const ran = await run(session, name);
          output.print({ ...skuJson(entry), ran }, `"${entry.sku}" means plan ${plan.id}, ${plan.name}.`);
          if (ran.done + ran.waiting > 0) output.note(ranText(ran));
        }),
    );
}

async function printMap({ db, output }: Session, name: string): Promise<void> {
  const { name: shop } = await requireShop(db, name);
  const entries = await listSkus(db, shop);
  const plans = new Map((await plansOf(db, undefined)).map((plan) => [plan.id, plan.name]));
  output.print(entries.map(skuJson), () =>
    formatTable(
      ['SKU', 'PLAN', 'NAME', 'QUANTITY'],
      entries.map(({ sku, planId, quantity: what }) => [sku, planId, plans.get(planId) ?? null, what]),
      `No article of ${shop} is mapped.`,
    ),
  );
}

function run({ db, config, ...context }: Session, name: string): Promise<Ran> {
  return runWaiting(db, name, { ...context, secret: config.keySecret, mailing: mailingOf(config) });
}

function ranText({ done, waiting }: Ran): string {
  const ran = quantity(done, 'order that waited has run', 'orders that waited have run');
  return waiting === 0 ? `${ran}; none waits.` : `${ran}; ${quantity(waiting, 'waits', 'wait')} still.`;
}

function addUnmap(shop: Command): void {
  shop
    .command('unmap')
    .description(
      'Lets an article mean nothing from now on. Licences that it issued stay; its next orders wait.',
    )
    .argument('<shop>', 'the shop')
    .argument('<sku>', 'the article')
    .addHelpText('after', '\nExample:\n  licensing shop unmap hikashop PRO-1Y')
    .action((name: string, sku: string, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        await unmapSku(db, name, sku);
        output.print({ shop: name, sku }, `"${sku}" means nothing any more.`);
      }),
    );
}

function addRules(shop: Command): void {
  shop
    .command('rules')
    .description(
      "Shows what the events of a shop's orders do, or changes it for events from now on. Cancelling is final.",
    )
    .argument('<shop>', 'the shop')
    .option('--on <event=effect>', 'such as refunded=cancel; repeat it for more', rule)
    .addHelpText(
      'after',
      `\nEvents and what they may do, the default first:\n${RULES.map((rule) => `  ${rule.padEnd(20)}${effectsOf(rule).join(', ')}`).join('\n')}\n  (reduced: an upgrade to fewer licences)\n\nExamples:\n  licensing shop rules hikashop\n  licensing shop rules hikashop --on refunded=cancel --on subscription_ended=suspend`,
    )
    .action((name: string, { on }: { on?: Record<string, string> }, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        const stored =
          on === undefined
            ? await requireShop(db, name)
            : await editShop(db, name, { rules: on }, contextOf(session));
        const rules = readRules(stored);
        output.print(rules, () =>
          formatTable(
            ['EVENT', 'EFFECT'],
            RULES.map((rule) => [rule, rules[rule]]),
          ),
        );
      }),
    );
}

function rule(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [event = '', effect = ''] = text.split('=');
  const [known, allowed] = usage(() => requireRule(event, effect, 'on'));
  return { ...before, [known]: allowed };
}

function addRun(shop: Command): void {
  shop
    .command('run')
    .description('Runs the orders of a shop that wait. Mapping an article does so too.')
    .argument('<shop>', 'the shop')
    .addHelpText('after', '\nExample:\n  licensing shop run hikashop')
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        await requireShop(session.db, name);
        const ran = await run(session, name);
        session.output.print(ran, ranText(ran));
      }),
    );
}

function addMessages(shop: Command): void {
  shop
    .command('messages')
    .description('Lists the messages that a receiver took, the newest first, and what became of each.')
    .argument('<shop>', 'the shop')
    .option(
      '--result <result>',
      `only those with this result: ${MESSAGE_RESULTS.join(', ')}`,
      oneOf(MESSAGE_RESULTS),
    )
    .option('--limit <n>', `at most so many, ${MAX_PAGE} at the most`, upTo(MAX_PAGE), 50)
    .addHelpText(
      'after',
      '\nunmatched: a refund, say, of a payment that no message has told of. It runs by itself once one does.\nrefused: it cannot be stored; the reason says why.\n\nExample:\n  licensing shop messages stripe --result unmatched',
    )
    .action((name: string, { result, limit }: { result?: MessageResult; limit: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        await requireShop(db, name);
        const messages = await listMessages(db, { shop: name, result, limit });
        output.print(messages.map(messageJson), () =>
          formatTable(
            ['RECEIVED', 'TYPE', 'RESULT', 'ORDER', 'REASON'],
            messages.map((one) => {
              const { received_at, type, result: became, order_id, reason } = messageJson(one);
              return [received_at, type, became, order_id, reason];
            }),
            `No messages of ${name}.`,
          ),
        );
      }),
    );
}

function addRemove(shop: Command): void {
  shop
    .command('remove')
    .description('Removes a shop with its map and rules. Its orders and their licences stay.')
    .argument('<name>', 'the shop')
    .addHelpText('after', '\nExample:\n  licensing shop remove oldshop')
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const removed = await removeShop(db, name);
        output.print(shopJson(removed), `Shop ${name} is removed. Its orders and licences stay.`);
      }),
    );
}
