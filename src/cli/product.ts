import type { Command } from 'commander';
import { includesNone, namesOf } from '../licensing/bundles';
import {
  addProduct,
  editProduct,
  listProducts,
  readProduct,
  removeProduct,
  type Includes,
  type ProductFields,
} from '../licensing/catalogue';
import { elementName, label, positiveInteger, productIds, requireChange, webAddress } from './arguments';
import { withSession } from './command';
import { planJson, productJson } from '../licensing/views';
import { formatFields, formatTable } from './tables';
import { followXml } from './update-xml';

interface Options {
  name?: string;
  element?: string;
  includes?: string;
  renewUrl?: string;
  supportUrl?: string;
  reminders?: boolean;
}

const INCLUDES_HELP =
  'products that its licences cover too: their ids, such as 43,44; all (those without any of their own); or none';
const RENEW_HELP = 'https address where a customer renews; none removes it';
const REMINDERS_HELP = 'mail customers 30 and 7 days before the end and at it; off by default';
const SUPPORT_HELP = 'https address where a customer gets help; none removes it';

/** The options as the catalogue takes them. They stay words in commander, which makes a null an empty text. */
function readFields({ name, element, includes, renewUrl, supportUrl, reminders }: Options): ProductFields {
  const orNone = (text: string | undefined) => (text === NONE ? null : text);
  return {
    name,
    element: element === undefined ? undefined : element || null,
    includes: includes === undefined ? undefined : readIncludes(includes),
    renewUrl: orNone(renewUrl),
    supportUrl: orNone(supportUrl),
    reminders,
  };
}

const NONE = 'none';

function readIncludes(text: string): Includes {
  if (text === 'all') return text;
  return text === NONE ? [] : productIds(text);
}

function includesOption(text: string): string {
  readIncludes(text);
  return text;
}

function addressOrNone(text: string): string {
  return text === NONE ? text : webAddress(text);
}

export function addProductCommands(program: Command): void {
  const product = program
    .command('product')
    .description('What is sold: an extension, or any other software.');
  addAdd(product);
  addEdit(product);
  addRemove(product);
  addList(product);
  addShow(product);
}

function addAdd(product: Command): void {
  product
    .command('add')
    .description('Adds a product. Its id is part of the address its updates are downloaded from.')
    .requiredOption('--name <name>', 'name shown to customers', label)
    .option('--id <id>', 'id of your choice; else the next free one', positiveInteger)
    .option('--element <element>', "Joomla's name of the extension, such as pkg_example", elementName)
    .option('--includes <ids>', INCLUDES_HELP, includesOption)
    .option('--renew-url <url>', RENEW_HELP, addressOrNone)
    .option('--support-url <url>', SUPPORT_HELP, addressOrNone)
    .option('--reminders', REMINDERS_HELP)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing product add --name "Example Shop" --id 42 --element pkg_example\n  licensing product add --name "Club membership" --includes 42,43',
    )
    .action((options: Options & { name: string; id?: number }, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const { id, name } = options;
        const added = await addProduct(db, { ...readFields(options), id, name }, now);
        output.print(productJson(added), `Product ${added.id} is added: ${added.name}.`);
      }),
    );
}

function addEdit(product: Command): void {
  product
    .command('edit')
    .description('Changes a product. Files published before keep the name they were published under.')
    .argument('<id>', 'product id', positiveInteger)
    .option('--name <name>', 'name shown to customers', label)
    .option('--element <element>', "Joomla's name of the extension; an empty text removes it", elementOrNone)
    .option('--includes <ids>', INCLUDES_HELP, includesOption)
    .option('--renew-url <url>', RENEW_HELP, addressOrNone)
    .option('--support-url <url>', SUPPORT_HELP, addressOrNone)
    .option('--reminders', REMINDERS_HELP)
    .option('--no-reminders', 'mail them no more')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing product edit 42 --name "Example Shop Pro"\n  licensing product edit 44 --includes all --renew-url https://shop.example/renew',
    )
    .action((id: number, options: Options, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        requireChange(command, ...(Object.values(options) as unknown[]));
        const edited = await editProduct(db, id, readFields(options));
        const text = `Product ${id} is changed: ${edited.name}.`;
        if (options.name === undefined && options.element === undefined) {
          output.print(productJson(edited), text);
          return;
        }
        const { json, line } = await followXml(
          session,
          id,
          `Product ${id} IS changed, but not in its update XML`,
        );
        output.print({ ...productJson(edited), update_xml: json }, [text, ...line].join('\n'));
      }),
    );
}

function addRemove(product: Command): void {
  product
    .command('remove')
    .description('Removes a product that was added by mistake: one without plans and versions.')
    .argument('<id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing product remove 43')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const removed = await removeProduct(db, id);
        output.print(productJson(removed), `Product ${id} is removed: ${removed.name}.`);
      }),
    );
}

function addList(product: Command): void {
  product
    .command('list')
    .description('Lists all products.')
    .addHelpText('after', '\nExample:\n  licensing product list')
    .action((_options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const products = await listProducts(db);
        // A column without any value would only narrow the others.
        const bundles = products.some((one) => !includesNone(one));
        output.print(products.map(productJson), () =>
          formatTable(
            ['ID', 'NAME', 'ELEMENT', ...(bundles ? ['INCLUDES'] : [])],
            products.map(({ id, name, element, includes }) => [
              ...[id, name, element],
              ...(bundles ? [String(includes) || null] : []),
            ]),
            'No products.',
          ),
        );
      }),
    );
}

function addShow(product: Command): void {
  product
    .command('show')
    .description(
      'Shows a product with its plans and published versions, what it includes, and what includes it.',
    )
    .argument('<id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing product show 42')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const { product: found, included, bundles, plans, versions } = await readProduct(db, id);
        const covered = included.length === 0 ? null : namesOf(included);
        output.print(
          {
            ...productJson(found),
            included_in: bundles.map((bundle) => bundle.id),
            plans: plans.map(planJson),
            published_versions: versions,
          },
          () =>
            formatFields([
              ['id', found.id],
              ['name', found.name],
              ['element', found.element],
              ['includes', found.includes === 'all' ? `all: ${covered ?? 'none yet'}` : covered],
              ['included in', bundles.length === 0 ? null : namesOf(bundles)],
              ['renew at', found.renewUrl],
              ['support at', found.supportUrl],
              ['reminders', found.reminders ? 'by mail, 30 and 7 days before the end and at it' : null],
              ['plans', plans.map(({ id: planId, name }) => `${name} (${planId})`).join(', ') || null],
              ['published', versions.join(', ') || null],
            ]),
        );
      }),
    );
}

function elementOrNone(text: string): string {
  return text.trim() === '' ? '' : elementName(text);
}
