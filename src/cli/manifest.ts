import type { Command } from 'commander';
import { manifestSnippets } from '../joomla/manifest';
import { requireProduct } from '../licensing/find-or-throw';
import { positiveInteger } from './arguments';
import { withSession } from './command';

export function addManifestCommand(program: Command): void {
  program
    .command('manifest')
    .description("Prints the lines for the extension's manifest, and instructions for customers.")
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--update-xml-url <url>', 'the address of the update XML')
    .addHelpText(
      'after',
      '\nExample:\n  licensing manifest --product 42 --update-xml-url https://shop.example/updates/pkg_example.xml',
    )
    .action(({ product, updateXmlUrl }: { product: number; updateXmlUrl: string }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const { xml, forCustomers } = manifestSnippets(await requireProduct(db, product), updateXmlUrl);
        output.print(
          { xml, for_customers: forCustomers },
          [
            'Paste this right below <extension> in the manifest (for a package, only in the manifest of the package itself):',
            '',
            xml,
            '',
            'Without <dlid>, Joomla 4 and later show no Download Key field. Sites show it once they have installed a version with <dlid>.',
            '',
            'For customers:',
            '',
            forCustomers,
          ].join('\n'),
        );
      }),
    );
}
