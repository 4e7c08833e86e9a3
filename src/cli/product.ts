import type { Command } from 'commander';
import { includedProducts, namesOf, readCatalogue, type Includes } from '../licensing/bundles';
import type { XmlResult } from '../joomla/regenerate-update-xml';
import { productOperations } from '../operations/products';
import { reportedSiteOperations } from '../operations/reported-sites';
import {
  elementName,
  label,
  month,
  EXPLICIT_NULL,
  positiveInteger,
  productIds,
  requireChange,
  noneOr,
  upTo,
  webAddress,
} from './arguments';
import { withSession } from './command';
import { optionFields, operate, operateAll, parseFieldValue } from './operate';
import { formatFields, formatTable } from './tables';
import { regenerateQuietly, describeXml } from './update-xml';
import { inBothForms } from '../licensing/core/identifiers';

const { addProduct, updateProduct } = productOperations;

const INCLUDES_HELP =
  'products that its licences also cover: their ids, such as 43,44; all (every product that includes no others); or none';
const RENEW_HELP = 'https address where customers renew; none removes it';
const REMINDERS_HELP = 'mail customers 30 days and 7 days before the end, and at the end; off by default';
const UNTIL_HELP = 'the last month with security updates, such as 2031-12; none removes it';
const BRANCH_HELP =
  'the versions among which an expired licence gets security releases: minor (2.4.x), major (2.x) or any';
const SUPPORT_HELP = 'https address where customers get help; none removes it';

function includesOption(text: string): Includes {
  if (text === 'all') return text;
  return text === 'none' ? [] : productIds(text);
}

const addressOrNone = noneOr(webAddress);

export function addProductCommands(program: Command): void {
  const product = program
    .command('product')
    .description('Products: the extensions or other software that you sell.');
  addAdd(product);
  addEdit(product);
  addRemove(product);
  addList(product);
  addShow(product);
  addSites(product);
}

/** Adds the options that set the further fields of a product. */
function addOptions(command: Command): Command {
  return command
    .option('--includes <ids>', INCLUDES_HELP, includesOption)
    .option('--renew-url <url>', RENEW_HELP, addressOrNone)
    .option('--support-url <url>', SUPPORT_HELP, addressOrNone)
    .option('--support-until <month>', UNTIL_HELP, noneOr(month))
    .option('--security-branch <rule>', BRANCH_HELP, parseFieldValue(updateProduct, 'security_branch'))
    .option('--reminders', REMINDERS_HELP);
}

function addAdd(product: Command): void {
  addOptions(
    product
      .command('add')
      .description('Adds a product. Its id is part of the download address of its updates.')
      .requiredOption('--name <name>', 'the name that customers see', label)
      .option('--id <id>', 'an id of your choice; default: the next free one', positiveInteger)
      .option('--element <element>', "Joomla's name of the extension, such as pkg_example", elementName),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  licensing product add --name "Example Shop" --id 42 --element pkg_example\n  licensing product add --name "Club membership" --includes 42,43',
    )
    .action((options: object, command: Command) =>
      withSession(command, async (session) => {
        const added = await operate(session, addProduct, { body: optionFields(addProduct, options) });
        session.output.print(added, `Product ${added.id} is added: ${added.name}.`);
      }),
    );
}

function addEdit(product: Command): void {
  addOptions(
    product
      .command('edit')
      .description('Changes a product. Files that are already published keep their names.')
      .argument('<id>', 'product id', positiveInteger)
      .option('--name <name>', 'the name that customers see', label)
      .option(
        '--element <element>',
        "Joomla's name of the extension; an empty text removes it",
        elementOrNone,
      ),
  )
    .option('--no-reminders', 'stop these mails')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing product edit 42 --name "Example Shop Pro"\n  licensing product edit 44 --includes all --renew-url https://shop.example/renew',
    )
    .action((id: number, options: object, command: Command) =>
      withSession(command, async (session) => {
        const body = optionFields(updateProduct, options);
        requireChange(command, ...Object.values(body));
        const seen: { xml?: XmlResult } = {};
        const followXml = async () => (seen.xml = await regenerateQuietly(session, id));
        const edited = await operate(session, updateProduct, { path: { id }, body, followXml });
        // The update XML contains no other field of a product.
        const isInXml = body.name !== undefined || body.element !== undefined;
        const line =
          seen.xml && isInXml
            ? await describeXml(session, id, `Product ${id} IS changed, but not in its update XML`, seen.xml)
            : [];
        session.output.print(edited, [`Product ${id} is changed: ${edited.name}.`, ...line].join('\n'));
      }),
    );
}

function addRemove(product: Command): void {
  product
    .command('remove')
    .description('Removes a product that was added by mistake. It must have no plans and no versions.')
    .argument('<id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing product remove 43')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const removed = await operate(session, productOperations.removeProduct, { path: { id } });
        session.output.print(removed, `Product ${id} is removed: ${removed.name}.`);
      }),
    );
}

function addList(product: Command): void {
  product
    .command('list')
    .description('Lists all products.')
    .addHelpText('after', '\nExample:\n  licensing product list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const products = await operateAll(session, productOperations.listProducts);
        // Leave out INCLUDES if no product includes another, because an empty column would narrow the others.
        const bundles = products.some(({ includes }) => includes.length > 0);
        session.output.print(products, () =>
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
      withSession(command, async (session) => {
        const found = await operate(session, productOperations.getProduct, { path: { id } });
        const catalogue = await readCatalogue(session.db);
        const covered = namesOf(includedProducts(catalogue, id)) || null;
        const bundles = namesOf(found.included_in.flatMap((by) => catalogue.get(by) ?? [])) || null;
        session.output.print(found, () =>
          formatFields([
            ['id', found.id],
            ['name', found.name],
            ['element', found.element],
            ['includes', found.includes === 'all' ? `all: ${covered ?? 'none yet'}` : covered],
            ['included in', bundles],
            ['renew at', found.renew_url],
            ['support at', found.support_url],
            ['security updates until', found.support_until],
            ['security branch', found.security_branch],
            [
              'reminders',
              found.reminders ? 'by mail, 30 days and 7 days before the end, and at the end' : null,
            ],
            ['plans', found.plans.map(({ id: planId, name }) => `${name} (${planId})`).join(', ') || null],
            ['published', found.published_versions.join(', ') || null],
          ]),
        );
      }),
    );
}

function addSites(product: Command): void {
  product
    .command('sites')
    .description(
      "Shows which versions customers' sites run, as the plugin for Joomla reports them, and lists sites with an older version, a page at a time.",
    )
    .argument('<id>', 'product id', positiveInteger)
    .option('--limit <n>', 'how many sites to list', upTo(500), 100)
    .option('--after <cursor>', 'the cursor of the next page, which is printed at the end of this one')
    .addHelpText(
      'after',
      '\nA site reports its version at each check and download, even if that is refused. Reports are kept for 180 days.\n\nExample:\n  licensing product sites 42',
    )
    .action((id: number, query: { limit: number; after?: string }, command: Command) =>
      withSession(command, async (session) => {
        const found = await operate(session, reportedSiteOperations.listProductSites, {
          path: { id },
          query,
        });
        session.output.print(found, () =>
          [
            formatFields([
              ['newest', found.newest],
              ['sites', found.counted],
              ['have it', found.share === null ? null : `${Math.floor(100 * found.share)} %`],
              ['half had it', found.half_days === null ? null : `after ${found.half_days} days`],
              [
                'versions',
                found.versions.map(({ version, sites }) => `${version}: ${sites}`).join(', ') || null,
              ],
            ]),
            formatTable(
              ['SITE', 'VERSION', 'TOLD', 'LICENCE', 'CUSTOMER', 'MAY UPDATE'],
              found.sites.map((one) => [
                inBothForms(one.site, 'domain'),
                one.version,
                one.at,
                one.license_id,
                one.customer,
                one.code ?? 'yes',
              ]),
              'No site is behind.',
            ),
            ...(found.next === null ? [] : [`There are more: --after ${found.next}`]),
          ].join('\n'),
        );
      }),
    );
}

function elementOrNone(text: string): string | typeof EXPLICIT_NULL {
  return text.trim() === '' ? EXPLICIT_NULL : elementName(text);
}
