import { join, resolve } from 'node:path';
import { Argument, type Command } from 'commander';
import { packageRoot } from '../settings/config';
import { makeShopPlugin, SHOP_TITLES } from '../joomla/shop-plugin';
import { PLUGIN_KINDS, type PluginKind } from '../orders/shop-kinds';
import { refuseProtected } from '../packages/replace-file';
import { withSession } from './command';
import { ownFiles, writeZip } from './output-file';

export function addPlugin(shop: Command): void {
  shop
    .command('plugin')
    .description(
      "Writes a Joomla plugin for the site of your shop. It posts the shop's orders, and puts the licence keys into the mails to customers. For Joomla 4.4, 5 and 6.",
    )
    .addArgument(new Argument('<kind>', 'the shop').choices(PLUGIN_KINDS))
    .requiredOption('--out <folder>', 'the folder to write the zip to')
    .addHelpText(
      'after',
      '\nExample:\n  licensing shop plugin hikashop --out /var/lib/licensing\n\ndocs/joomla-shops.md shows how to set it up and try it with one order.',
    )
    .action((kind: PluginKind, { out }: { out: string }, command: Command) =>
      withSession(command, async ({ config, output }) => {
        const made = await makeShopPlugin({ kind }, config.operatorUrl, packageRoot);
        const file = join(resolve(out), made.fileName);
        await writeZip(file, made.zip, (place) => refuseProtected(place, ownFiles(config)));
        const address = config.operatorUrl ?? null;
        output.print(
          { kind, file, element: made.element, version: made.version, address },
          describe(kind, file),
        );
      }),
    );
}

function describe(kind: PluginKind, file: string): string {
  return [
    `${file} is a Joomla plugin for ${SHOP_TITLES[kind]}.`,
    '',
    `1. Make a token for it:       licensing token add --name ${kind} --scope issue`,
    "2. On the shop's site:        System > Install > Extensions > Upload Package File",
    `3. System > Manage > Plugins: open "System - Licences for ${SHOP_TITLES[kind]}", paste the token, set it to Enabled, save`,
    `4. Map the shop's articles:   licensing shop add ${kind} --kind ${kind}, then licensing shop map ${kind} SKU --plan PLAN`,
  ].join('\n');
}
