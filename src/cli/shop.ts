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
  upTo,
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
    .description(
      'Shops that report orders: the plans for their articles, and the effects of their events on licences.',
    )
    .addHelpText(
      'after',
      '\nA shop posts orders with a token ("licensing token add --scope issue"), and is added with its first order. Add Stripe, Paddle, Digistore24 and senders of Standard Webhooks with their kind, and set the secret that they sign with. docs/shop.md and docs/shop-receivers.md show how.',
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

const TEST_PLAN_HELP = 'the plan that test orders issue, by its id or name; default: they issue nothing';

/** The maximum number of messages in a list. */
const MAX_PAGE = 1_000;
const MAIL_HELP =
  'key: this service mails customers the keys of their orders; none: the shop delivers the keys itself. The default depends on the kind';
const API_KEY_HELP =
  'a file with a read-only API key for catching up (stripe, paddle, woocommerce); - reads standard input, none removes the key';
const SITE_HELP = 'the site of a woocommerce shop, such as https://shop.example; none removes it';
const GRACE_HELP =
  'the grace period of subscriptions, such as 3d: how long a licence keeps working while its renewal is awaited; 0d: no grace period; default: LICENSING_GRACE_DAYS';
const BILLING_HELP =
  'https address where customers change their payment method; customers get it by mail when a payment fails';
const SECRET_HELP = 'a file with the secret that its messages are signed with; - reads standard input';

function addAdd(shop: Command): void {
  shop
    .command('add')
    .description(
      'Adds a shop. Do this to map its articles or set its rules before the first order, or to receive its messages.',
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
    .option('--test', 'everything that it sends is for testing')
    .option('--test-plan <plan>', TEST_PLAN_HELP, label)
    .addHelpText(
      'after',
      "\nExamples:\n  licensing shop add hikashop\n  licensing shop add stripe --kind stripe\n  licensing shop edit stripe --secret-file stripe-secret.txt\n\nMost senders show their secret only after you enter the address of the shop's messages, so add the shop first.",
    )
    .action((name: string, given: AddOptions, command: Command) =>
      withSession(command, async (session) => {
        const { output, config } = session;
        const { kind, test, mail, grace, billingUrl } = given;
        // The sender creates the secret for this address, and shows it.
        if (!isPosting(kind))
          output.note(
            `Enter this address for its messages at the sender: ${config.publicUrl ?? 'https://YOUR.SITE'}${API_PATH}/hooks/${name}`,
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
            'This service should mail the keys to its customers, but mail is not set up (docs/mail.md). To let the shop deliver the keys: --mail none',
          );
        if (!isPosting(kind) && !added.verifies)
          output.note(
            `Every message is refused until you set the secret that the sender shows for this address: licensing shop edit ${name} --secret-file FILE`,
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
      `Changes a shop's secret, mails, grace period or test mode. "licensing shop rules" changes the effects of its events.`,
    )
    .argument('<name>', 'the shop')
    .option('--secret-file <file>', SECRET_HELP, fileOrInput)
    .option('--mail <what>', MAIL_HELP, oneOf(SHOP_MAILS))
    .option('--api-key-file <file>', API_KEY_HELP, noneOr(fileOrInput))
    .option('--site-url <url>', SITE_HELP, noneOr(webAddress))
    .option('--grace <days>', GRACE_HELP, graceDays)
    .option('--billing-url <url>', `${BILLING_HELP}; none removes it`, noneOr(webAddress))
    .option('--test <on|off>', 'on: everything that it sends is for testing', oneOf(['on', 'off']))
    .option('--test-plan <plan>', 'the plan that test orders issue, or none', noneOr(label))
    .option('--token <name>', 'assign the shop and its orders to the issue tokens with this name', label)
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
    .description('Lists shops, with the number of their waiting orders.')
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
            'No shops. A shop is listed once it is added, or has posted an order.',
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
      'Maps an article of a shop to a plan, and runs the orders that waited for it. Without an article, it shows the map.',
    )
    .argument('<shop>', 'the shop')
    .argument('[sku]', "the article's name in the shop's orders")
    .option(
      '--plan <plan>',
      "the plan's id or name; a second plan for the same article issues a second licence",
      label,
    )
    .option(
      '--quantity <what>',
      'what a quantity of three gives: licenses, three licences; slots, one licence with the slots of three',
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
          output.print(mapped, `"${mapped.sku}" has plan ${plan.id}, ${plan.name}.`);
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
      `No article of ${name} has a plan.`,
    ),
  );
}

function ranText({ done, waiting, failed, orders }: DataOf<typeof shopOperations.runShop>): string {
  const ran = countOf(done, 'order that waited has run', 'orders that waited have run');
  if (waiting + failed === 0) return `${ran}; no order waits.`;
  const failing = failed === 0 ? '' : `; ${failed} failed, and will be tried again`;
  const others = orders
    .filter(({ state }) => state !== 'done')
    .map(({ id, order, state, reason }) => [
      id,
      order,
      state,
      state === 'failed' ? reason : describeWait(failures, reason ?? ''),
    ]);
  const list = formatTable(['ID', 'ORDER', 'STATE', 'REASON'], others);
  return `${ran}; ${countOf(waiting, 'order still waits', 'orders still wait')}${failing}.\n${list}`;
}

function addUnmap(shop: Command): void {
  shop
    .command('unmap')
    .description('Removes the plans of an article. Its licences stay, and its next orders wait.')
    .argument('<shop>', 'the shop')
    .argument('<sku>', 'the article')
    .addHelpText('after', '\nExample:\n  licensing shop unmap hikashop PRO-1Y')
    .action((name: string, sku: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const unmapped = await operate(session, shopOperations.unmapShopSku, { path: { name, sku } });
        session.output.print(unmapped, `"${sku}" no longer has a plan.`);
      }),
    );
}

function addRules(shop: Command): void {
  shop
    .command('rules')
    .description(
      "Shows the effects of a shop's events, or changes them for future events. A cancelled licence cannot be reinstated.",
    )
    .argument('<shop>', 'the shop')
    .option('--on <event=effect>', 'such as refunded=cancel; may be repeated', rule)
    .addHelpText(
      'after',
      `\nEvents and their possible effects, the default first:\n${RULES.map((rule) => `  ${rule.padEnd(20)}${[...new Set([DEFAULT_RULES[rule], ...effectsOf(rule)])].join(', ')}`).join('\n')}\n  (reduced: an upgrade to fewer licences)\n\nExamples:\n  licensing shop rules hikashop\n  licensing shop rules hikashop --on refunded=cancel --on subscription_ended=suspend`,
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
    .description('Runs the orders of a shop that wait or failed. Mapping an article does this as well.')
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
    .description('Lists the messages that a receiver got, newest first, with the result of each.')
    .argument('<shop>', 'the shop')
    .option(
      '--result <result>',
      `only those with this result: ${MESSAGE_RESULTS.join(', ')}`,
      oneOf(MESSAGE_RESULTS),
    )
    .option('--limit <n>', `how many to list, at most ${MAX_PAGE}`, upTo(MAX_PAGE), 50)
    .addHelpText(
      'after',
      '\nunmatched: for example, a refund of a payment that no message has reported. It runs automatically once one does.\nunreadable: it contains no order, for the reason in the list.\nqueued: it will be processed within a minute.\n\nExample:\n  licensing shop messages stripe --result unmatched',
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
      "Reads the shop's own list of messages, and takes those that did not arrive. The service does this every night.",
    )
    .argument('<shop>', 'the shop')
    .option(
      '--since <duration>',
      'how far back to read, such as 3d; default: since the last run (stripe lists 30 days, paddle 90)',
      duration,
    )
    .option('--api-url <url>', 'ask a test server on this machine instead of the shop', testApi)
    .addHelpText(
      'after',
      '\nIt needs a read-only API key: licensing shop edit SHOP --api-key-file FILE (docs/shop-catch-up.md). Messages that arrived before change nothing.\n\nExamples:\n  licensing shop catch-up stripe\n  licensing shop catch-up stripe --since 3d',
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
            `The list of ${name} could not be read to its end: ${ran.message ?? ''}. Messages that were taken stay, and the next run continues from there.`,
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
  const had = countOf(messages, 'message that had not arrived', 'messages that had not arrived');
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
