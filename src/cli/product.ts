import type { Command } from 'commander';
import { addProduct, editProduct, listProducts, readProduct, removeProduct } from '../licensing/catalogue';
import { elementName, label, positiveInteger, requireChange } from './arguments';
import { withSession } from './command';
import { planJson, productJson } from '../licensing/views';
import { formatFields, formatTable } from './tables';

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
    .addHelpText(
      'after',
      '\nExample:\n  licensing product add --name "Example Shop" --id 42 --element pkg_example',
    )
    .action((options: { name: string; id?: number; element?: string }, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const added = await addProduct(db, { element: undefined, ...options }, now);
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
    .addHelpText('after', '\nExample:\n  licensing product edit 42 --name "Example Shop Pro"')
    .action((id: number, { name, element }: { name?: string; element?: string }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        requireChange(command, name, element);
        const edited = await editProduct(db, id, {
          ...(name === undefined ? {} : { name }),
          ...(element === undefined ? {} : { element: element || null }),
        });
        output.print(productJson(edited), `Product ${id} is changed: ${edited.name}.`);
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
        output.print(products.map(productJson), () =>
          formatTable(
            ['ID', 'NAME', 'ELEMENT'],
            products.map(({ id, name, element }) => [id, name, element]),
            'No products.',
          ),
        );
      }),
    );
}

function addShow(product: Command): void {
  product
    .command('show')
    .description('Shows a product with its plans and published versions.')
    .argument('<id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing product show 42')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const { product: found, plans, versions } = await readProduct(db, id);
        output.print(
          { ...productJson(found), plans: plans.map(planJson), published_versions: versions },
          () =>
            formatFields([
              ['id', found.id],
              ['name', found.name],
              ['element', found.element],
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
