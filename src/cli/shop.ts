import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { API_PATH } from '../licensing/api';
import { requirePlanNamed } from '../licensing/find-or-throw';
import { OperatorError } from '../licensing/operator-error';
import { asCaller } from '../process/rights';
import { countOf } from '../base/count-of';
import { isTestApi } from '../orders/catch-up/ask';
import type { Effect } from '../orders/order-events';
import { DEFAULT_RULES, effectsOf, requireRule, RULES } from '../orders/rules';
import { SKU_QUANTITIES, type SkuQuantity } from '../orders/shops';
import {
  isPosting,
  MAX_GRACE_DAYS,
  SHOP_KINDS,
  SHOP_MAILS,
  type ShopKind,
  type ShopMail,
} from '../orders/shop-kinds';
import { mailingOf } from '../mail/queue';
import { planOperations } from '../operations/plans';
import { shopOperations } from '../operations/shops';
import { explainReadFault } from '../packages/file-faults';
import { MESSAGE_RESULTS, type MessageResult } from '../orders/inbox';
import {
  duration,
  fileName,
  label,
  EXPLICIT_NULL,
  oneOf,
  requireChange,
  noneOr,
  integerUpTo,
  asUsageError,
  webAddress,
} from './arguments';
import { failures } from '../texts/operators/en/failures';
import { describeWait } from '../texts/operators/failures';
import { withSession, type Session } from './command';
import { operate, operateAll, type DataOf } from './operate';
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
  addCatchUp(shop);
  addPlugin(shop);
  addRemove(shop);
}

const TEST_PLAN_HELP = 'what test orders issue: a plan by its id or name; without it they issue nothing';

/** The maximum number of messages in a list. */
const MAX_PAGE = 1_000;
const MAIL_HELP =
  'key: customers are mailed the keys of their orders; none: the shop hands them out itself. The default goes by the kind';
const API_KEY_HELP =
  'a file with an API key that may only read, to catch up (stripe, paddle, woocommerce); - reads standard input, none removes it';
const SITE_HELP = 'of a woocommerce shop: its site, such as https://shop.example; none removes it';
const GRACE_HELP =
  'for so many days, such as 3d, a subscription goes on while its renewal is awaited; 0d: for none; default: LICENSING_GRACE_DAYS';
const BILLING_HELP = 'where customers change how they pay, which they are mailed when a payment failed';
const SECRET_HELP = 'a file with the secret that its messages are signed with; - reads standard input';

function addAdd(shop: Command): void {
  shop
    .command('add')
    .description(
      'Adds a shop, to map its articles or set its rules before its first order, or to receive its messages.',
    )
    .argument('<name>', 'its name in orders: 1 to 40 characters of a-z, 0-9, _ and -')
    .option(
      '--kind <kind>',
      `${SHOP_KINDS.join(', ')}. api posts orders with a token; the others send signed messages`,
      oneOf(SHOP_KINDS),
      'api' as ShopKind,
    )
    .option('--secret-file <file>', SECRET_HELP, fileOrInput)
    .option('--mail <what>', MAIL_HELP, oneOf(SHOP_MAILS))
    .option('--api-key-file <file>', API_KEY_HELP, noneOr(fileOrInput))
    .option('--site-url <url>', SITE_HELP, noneOr(webAddress))
    .option('--grace <days>', GRACE_HELP, graceDays)
    .option('--billing-url <url>', BILLING_HELP, webAddress)
    .option('--test', 'everything it sends is for testing')
    .option('--test-plan <plan>', TEST_PLAN_HELP, label)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing shop add hikashop\n  licensing shop add stripe --kind stripe\n  licensing shop edit stripe --secret-file stripe-secret.txt\n\nMost senders show their secret for an address, so the address comes first.',
    )
    .action((name: string, given: AddOptions, command: Command) =>
      withSession(command, async (session) => {
        const { output, config } = session;
        const { kind, test, mail, grace, billingUrl } = given;
        // The sender creates the secret for this address, and shows it.
        if (!isPosting(kind))
          output.note(
            `Its messages go to ${config.publicUrl ?? 'https://YOUR.SITE'}${API_PATH}/hooks/${name}`,
          );
        const secret = await readSecret(given.secretFile);
        const access = await apiAccessOf(given);
        const added = await operate(session, shopOperations.addShop, {
          body: {
            name,
            kind,
            secret,
            test,
            test_plan_id: await planIdOf(session, given.testPlan),
            mail,
            grace,
            billing_url: billingUrl,
            ...access,
          },
        });
        output.print(added, `Shop ${name} is added.`);
        if (added.mail === 'key' && mailingOf(config) === undefined)
          output.note(
            'Its customers are to be mailed their keys, and mail is not set up: docs/mail.md. With --mail none they are not.',
          );
        if (!isPosting(kind) && !added.verifies)
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
  apiKeyFile?: string | typeof EXPLICIT_NULL;
  siteUrl?: string | typeof EXPLICIT_NULL;
  grace?: number | typeof EXPLICIT_NULL;
  billingUrl?: string;
}

/** Reads `3d`, or `default`. */
function graceDays(text: string): number | typeof EXPLICIT_NULL {
  if (text === 'default') return EXPLICIT_NULL;
  const [, days] = /^([0-9]{1,2})d$/.exec(text) ?? [];
  if (days === undefined || Number(days) > MAX_GRACE_DAYS)
    throw new InvalidArgumentError(`It must be 0d to ${MAX_GRACE_DAYS}d, or default.`);
  return Number(days);
}

function fileOrInput(text: string): string {
  return text === '-' ? text : fileName(text);
}

async function readSecret(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  if (file === '-') return readValue('-', 'Secret');
  return asCaller(() => readFile(file, 'utf8')).catch((error: unknown) => {
    throw new OperatorError(`The secret's file ${file} cannot be read: ${explainReadFault(error)}.`);
  });
}

async function apiAccessOf({
  apiKeyFile: file,
  siteUrl,
}: Pick<AddOptions, 'apiKeyFile' | 'siteUrl'>): Promise<{
  api_key?: string | typeof EXPLICIT_NULL | undefined;
  site_url?: string | typeof EXPLICIT_NULL | undefined;
}> {
  return { api_key: file === EXPLICIT_NULL ? EXPLICIT_NULL : await readSecret(file), site_url: siteUrl };
}

async function planIdOf(
  { db }: Session,
  plan: string | typeof EXPLICIT_NULL | undefined,
): Promise<number | null | undefined> {
  if (plan === EXPLICIT_NULL) return null;
  return plan === undefined ? undefined : (await requirePlanNamed(db, plan)).id;
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
    .option('--api-key-file <file>', API_KEY_HELP, noneOr(fileOrInput))
    .option('--site-url <url>', SITE_HELP, noneOr(webAddress))
    .option('--grace <days>', GRACE_HELP, graceDays)
    .option('--billing-url <url>', `${BILLING_HELP}; none: they are not`, noneOr(webAddress))
    .option('--test <on|off>', 'on: everything it sends is for testing', oneOf(['on', 'off']))
    .option('--test-plan <plan>', 'what test orders issue: a plan, or none', noneOr(label))
    .option('--token <name>', 'give the shop and its orders to the issue tokens of this name', label)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing shop edit hikashop --test-plan none\n  licensing shop edit hikashop --token new-shop',
    )
    .action((name: string, given: EditOptions, command: Command) =>
      withSession(command, async (session) => {
        const { test, testPlan, secretFile, token, mail, grace, billingUrl } = given;
        const { apiKeyFile, siteUrl } = given;
        requireChange(
          command,
          test,
          testPlan,
          secretFile,
          token,
          mail,
          apiKeyFile,
          siteUrl,
          grace,
          billingUrl,
        );
        const edited = await operate(session, shopOperations.updateShop, {
          path: { name },
          body: {
            secret: await readSecret(secretFile),
            test: test && test === 'on',
            test_plan_id: await planIdOf(session, testPlan),
            token,
            mail,
            grace,
            billing_url: billingUrl,
            ...(await apiAccessOf(given)),
          },
        });
        session.output.print(edited, `Shop ${name} is changed.`);
      }),
    );
}

interface EditOptions {
  secretFile?: string;
  test?: 'on' | 'off';
  testPlan?: string | typeof EXPLICIT_NULL;
  token?: string;
  mail?: ShopMail;
  apiKeyFile?: string | typeof EXPLICIT_NULL;
  siteUrl?: string | typeof EXPLICIT_NULL;
  grace?: number | typeof EXPLICIT_NULL;
  billingUrl?: string | typeof EXPLICIT_NULL;
}

function addList(shop: Command): void {
  shop
    .command('list')
    .description('Lists shops, and how many of their orders wait.')
    .addHelpText('after', '\nExample:\n  licensing shop list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const shops = await operateAll(session, shopOperations.listShops);
        session.output.print(shops, () =>
          formatTable(
            ['NAME', 'KIND', 'MAIL', 'WAITING', 'TESTS', 'RULES CHANGED'],
            shops.map((one) => [
              ...[one.name, one.kind, one.mail, one.waiting],
              ...[testsOf(one), changedRules(one)],
            ]),
            'No shops. A shop is known once it is added, or has posted an order.',
          ),
        );
      }),
    );
}

type Shop = DataOf<typeof shopOperations.getShop>;

function testsOf({ test, test_plan_id: plan }: Shop): string {
  const issues = plan === null ? 'issue nothing' : `issue plan ${plan}`;
  return test ? `only tests, ${issues}` : issues;
}

function changedRules({ rules }: Shop): string | null {
  const changed = RULES.filter((rule) => rules[rule] !== DEFAULT_RULES[rule]);
  return changed.map((rule) => `${rule}=${rules[rule] ?? ''}`).join(', ') || null;
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
          const { db, output } = session;
          const plan = await requirePlanNamed(db, given.plan ?? '');
          const body = { sku, plan_id: plan.id, quantity: given.quantity };
          const mapped = await operate(session, shopOperations.mapShopSku, { path: { name }, body });
          output.print(mapped, `"${mapped.sku}" means plan ${plan.id}, ${plan.name}.`);
          if (mapped.ran.done + mapped.ran.waiting + mapped.ran.failed > 0) output.note(ranText(mapped.ran));
        }),
    );
}

async function printMap(session: Session, name: string): Promise<void> {
  const entries = await operateAll(session, shopOperations.listShopMap, { path: { name } });
  const plans = await operateAll(session, planOperations.listPlans);
  const names = new Map(plans.map((plan) => [plan.id, plan.name]));
  session.output.print(entries, () =>
    formatTable(
      ['SKU', 'PLAN', 'NAME', 'QUANTITY'],
      entries.map(({ sku, plan_id: plan, quantity: what }) => [sku, plan, names.get(plan) ?? null, what]),
      `No article of ${name} is mapped.`,
    ),
  );
}

function ranText({ done, waiting, failed, orders }: DataOf<typeof shopOperations.runShop>): string {
  const ran = countOf(done, 'order that waited has run', 'orders that waited have run');
  if (waiting + failed === 0) return `${ran}; none waits.`;
  const failing = failed === 0 ? '' : `; ${failed} failed, and ${failed === 1 ? 'is' : 'are'} tried again`;
  const others = orders
    .filter(({ state }) => state !== 'done')
    .map(({ id, order, state, reason }) => [
      id,
      order,
      state,
      state === 'failed' ? reason : describeWait(failures, reason ?? ''),
    ]);
  const list = formatTable(['ID', 'ORDER', 'STATE', 'REASON'], others);
  return `${ran}; ${countOf(waiting, 'waits', 'wait')} still${failing}.\n${list}`;
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
      withSession(command, async (session) => {
        const unmapped = await operate(session, shopOperations.unmapShopSku, { path: { name, sku } });
        session.output.print(unmapped, `"${sku}" means nothing any more.`);
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
      `\nEvents and what they may do, the default first:\n${RULES.map((rule) => `  ${rule.padEnd(20)}${[...new Set([DEFAULT_RULES[rule], ...effectsOf(rule)])].join(', ')}`).join('\n')}\n  (reduced: an upgrade to fewer licences)\n\nExamples:\n  licensing shop rules hikashop\n  licensing shop rules hikashop --on refunded=cancel --on subscription_ended=suspend`,
    )
    .action((name: string, { on }: { on?: Record<string, Effect> }, command: Command) =>
      withSession(command, async (session) => {
        const path = { name };
        const found =
          on === undefined
            ? await operate(session, shopOperations.getShop, { path })
            : await operate(session, shopOperations.updateShop, { path, body: { rules: on } });
        session.output.print(found, () =>
          formatTable(
            ['EVENT', 'EFFECT'],
            RULES.map((rule) => [rule, found.rules[rule] ?? null]),
          ),
        );
      }),
    );
}

function rule(text: string, before: Record<string, Effect> = {}): Record<string, Effect> {
  const [event = '', effect = ''] = text.split('=');
  const [known, allowed] = asUsageError(() => requireRule(event, effect, 'on'));
  return { ...before, [known]: allowed };
}

function addRun(shop: Command): void {
  shop
    .command('run')
    .description('Runs the orders of a shop that wait or failed. Mapping an article does so too.')
    .argument('<shop>', 'the shop')
    .addHelpText('after', '\nExample:\n  licensing shop run hikashop')
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const ran = await operate(session, shopOperations.runShop, { path: { name } });
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
    .option('--limit <n>', `at most so many, ${MAX_PAGE} at the most`, integerUpTo(MAX_PAGE), 50)
    .addHelpText(
      'after',
      '\nunmatched: a refund, say, of a payment that no message has told of. It runs by itself once one does.\nunreadable: there is no order in it; the reason says why.\nqueued: a job works on it within a minute.\n\nExample:\n  licensing shop messages stripe --result unmatched',
    )
    .action((name: string, { result, limit }: { result?: MessageResult; limit: number }, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { name }, query: { result } };
        const messages = await operateAll(session, shopOperations.listShopMessages, wanted, limit);
        session.output.print(messages, () =>
          formatTable(
            ['RECEIVED', 'TYPE', 'RESULT', 'ORDER', 'REASON'],
            messages.map((one) => [one.received_at, one.type, one.result, one.order_id, one.reason]),
            `No messages of ${name}.`,
          ),
        );
      }),
    );
}

/** The maximum number of runs, each of forty seconds. */
const MAX_RUNS = 100;

function addCatchUp(shop: Command): void {
  shop
    .command('catch-up')
    .description(
      "Reads a shop's own list of what it told, and takes what has not come. It runs once a night by itself.",
    )
    .argument('<shop>', 'the shop')
    .option(
      '--since <duration>',
      'how far back, such as 3d; by default since the last run (stripe lists 30 days, paddle 90)',
      duration,
    )
    .option('--api-url <url>', 'asks a test server on this machine instead of the shop', testApi)
    .addHelpText(
      'after',
      '\nIt needs an API key that may only read: licensing shop edit SHOP --api-key-file FILE (docs/shop-catch-up.md). What came before changes nothing.\n\nExamples:\n  licensing shop catch-up stripe\n  licensing shop catch-up stripe --since 3d',
    )
    .action((name: string, { since, apiUrl }: { since?: string; apiUrl?: string }, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const total = { pages: 0, messages: 0, caught_up: 0, refused: 0 };
        let ran: DataOf<typeof shopOperations.catchUpShop>;
        let runs = 0;
        do {
          ran = await operate(session, shopOperations.catchUpShop, {
            path: { name },
            // Continue the next runs where the previous one ended.
            body: { since: runs === 0 ? since : undefined },
            onProgress: (pages, caughtUp) =>
              output.progress(caughtUpText(total.pages + pages, total.caught_up + (caughtUp ?? 0))),
            shopApiUrl: apiUrl,
          });
          for (const field of ['pages', 'messages', 'caught_up', 'refused'] as const)
            total[field] += ran[field];
          if (!ran.done) output.note(`${caughtUpText(total.pages, total.caught_up)} so far.`);
        } while (!ran.done && ran.failure === null && ++runs < MAX_RUNS);
        if (ran.failure !== null)
          throw new OperatorError(
            `The list of ${name} could not be read to its end: ${ran.message ?? ''}. What was taken stays, and the next run goes on there.`,
          );
        output.print({ ...ran, ...total }, () => `${caughtUpText(total.pages, total.caught_up)}.`);
        if (total.refused > 0)
          output.note(
            `${countOf(total.refused, 'message', 'messages')} cannot be stored: licensing shop messages ${name} --result refused`,
          );
      }),
    );
}

function caughtUpText(pages: number, messages: number): string {
  const had = countOf(messages, 'message that had not come', 'messages that had not come');
  return `${countOf(pages, 'page', 'pages')} read, ${had}`;
}

function testApi(text: string): string {
  if (!isTestApi(text))
    throw new InvalidArgumentError('It must be on this machine, such as http://127.0.0.1:8080.');
  return text;
}

function addRemove(shop: Command): void {
  shop
    .command('remove')
    .description('Removes a shop with its map and rules. Its orders and their licences stay.')
    .argument('<name>', 'the shop')
    .addHelpText('after', '\nExample:\n  licensing shop remove oldshop')
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const removed = await operate(session, shopOperations.removeShop, { path: { name } });
        session.output.print(removed, `Shop ${name} is removed. Its orders and licences stay.`);
      }),
    );
}
