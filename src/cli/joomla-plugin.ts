import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { saveBaseUrl } from '../joomla/update-xml/saved-options';
import { refuseProtected } from '../packages/replace-file';
import { joomlaPluginOperations } from '../operations/joomla-plugin';
import { productOperations } from '../operations/products';
import { positiveInteger } from './arguments';
import { withSession } from './command';
import { operate, type DataOf } from './operate';
import { ownFiles, writeZip } from './output-file';

interface Options {
  product: number;
  vendor: string;
  out: string;
  baseUrl?: string;
}

export function addJoomlaPluginCommand(program: Command): void {
  program
    .command('joomla-plugin')
    .description(
      "Writes a Joomla package for customers' sites. It shows why an update was refused, and keeps the Download Key. For Joomla 4.4, 5 and 6.",
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption(
      '--vendor <name>',
      'letters and digits, such as Acme; the names of the plugins begin with it',
    )
    .requiredOption('--out <folder>', 'the folder to write the zip to')
    .option(
      '--base-url <url>',
      'the site that the product is downloaded from, such as https://shop.example. Default: LICENSING_PUBLIC_URL or the site of the update XML. It is remembered for the update XML.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  licensing joomla-plugin --product 42 --vendor Acme --out /var/lib/licensing',
    )
    .action(({ product: productId, vendor, out, baseUrl }: Options, command: Command) =>
      withSession(command, async (session) => {
        const { db, config, output } = session;
        const path = { id: productId };
        const query = { vendor, base_url: baseUrl };
        const made = await operate(session, joomlaPluginOperations.getProductJoomlaPlugin, { path, query });
        const { name } = await operate(session, productOperations.getProduct, { path });
        const { element, address, version } = made;
        const file = join(resolve(out), made.file_name);
        await writeZip(file, Buffer.from(made.zip, 'base64'), (place) =>
          refuseProtected(place, ownFiles(config)),
        );
        if (baseUrl !== undefined) await saveBaseUrl(db, productId, baseUrl);
        if (made.xml_site !== null)
          output.note(
            `note: the update XML sends sites to ${made.xml_site}, where these plugins do nothing. Give the same address for both with --base-url`,
          );
        output.print({ product_id: productId, file, element, address, version }, describe(name, made, file));
      }),
    );
}

function describe(
  product: string,
  { element, address, file_name: fileName }: DataOf<typeof joomlaPluginOperations.getProductJoomlaPlugin>,
  file: string,
): string {
  return [
    `${file} is a Joomla package for ${product}. It works for downloads from ${address}.`,
    '',
    'Give it to customers in one of two ways:',
    '- in your own package: put the zip next to its other files, and add this line to <files> in its manifest:',
    `    <file type="package" id="${element}">${fileName}</file>`,
    '- as a separate download: System > Install > Extensions > Upload Package File.',
    '',
    'Both plugins are enabled after the installation. Try the package on a site of your own first.',
  ].join('\n');
}
