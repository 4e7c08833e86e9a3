import type { Command } from 'commander';
import { manifestSnippets } from '../joomla/manifest';
import { requireProduct } from '../licensing/find-or-throw';
import { positiveInteger } from './arguments';
import { withSession } from './command';

export function addManifestCommand(program: Command): void {
  program
    .command('manifest')
    .description("What to paste into the extension's manifest, and what to tell customers.")
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--update-xml-url <url>', 'the address the update XML is hosted at')
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
            "Right below <extension> in the manifest (of a package, in the package's own manifest alone):",
            '',
            xml,
            '',
            'Without <dlid>, Joomla 4 and later show no Download Key field. Sites have it from the first version on that holds it.',
            '',
            'For customers:',
            '',
            forCustomers,
          ].join('\n'),
        );
      }),
    );
}
