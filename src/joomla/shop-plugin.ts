import { join } from 'node:path';
import { API_PATH } from '../licensing/api';
import type { PluginKind } from '../store/orders/shops';
import { pack, readFolder, programVersion, type PackedFile, type Placeholders } from './plugin-files';

/** Packs plugins for Joomla shops, which post their orders (docs/joomla-shops.md): php/shops/shared with a shop's files. */

export const SHOP_TITLES: Record<PluginKind, string> = {
  hikashop: 'HikaShop',
  membershippro: 'Membership Pro',
  j2commerce: 'J2Commerce',
};

/** The placeholder for the keys in the shop's mail templates. J2Commerce removes unknown words in square brackets. */
const KEY_MARKS: Record<PluginKind, string> = {
  hikashop: '[LICENCE_KEY]',
  membershippro: '[LICENCE_KEY]',
  j2commerce: '{LICENCE_KEY}',
};

interface MadeShopPlugin {
  /** the plugin's element in Joomla's group `system` */
  element: string;
  version: string;
  fileName: string;
  zip: Buffer;
}

/** The place in the manifest for the fields of this shop. */
const FIELDS = "<!-- The shop's own fields -->";

/**
 * Packs a plugin. It contains no secret: its token is pasted into its settings.
 * @param shop `name`: the shop's name in the service, as the plugin's initial setting; by default the kind
 * @param address the operator's API, as the initial setting; undefined if it is on the shop's site
 * @param root the folder of this program
 */
export async function makeShopPlugin(
  { kind, name = kind }: { kind: PluginKind; name?: string | undefined },
  address: string | undefined,
  root: string,
): Promise<MadeShopPlugin> {
  const version = await programVersion(root);
  const title = SHOP_TITLES[kind];
  const element = `licensing${kind}`;
  const words: Placeholders = {
    ShopClass: title.replaceAll(' ', ''),
    ShopTitle: title,
    ShopName: name,
    SHOPPLUGIN: element.toUpperCase(),
    shopplugin: element,
    shopkind: kind,
    ServiceAddress: address ?? '',
    ApiPath: API_PATH,
    KeyMark: KEY_MARKS[kind],
    '0.0.0': version,
  };
  const folder = join(root, 'php/shops');
  const own = new Map(await readFolder(join(folder, kind), words));
  const files = (await readFolder(join(folder, 'shared'), words)).map(([name, content]): PackedFile => {
    if (name === 'plugin.xml') return [`${element}.xml`, withFields(content, own.get('fields.xml'))];
    const [, language] = /^(language\/[^/]+)\/plg_system_[a-z0-9]+\.ini$/.exec(name) ?? [];
    const added = language === undefined ? undefined : own.get(`${language}/shop.ini`);
    return [name, added === undefined ? content : Buffer.concat([content, added])];
  });
  for (const [name, content] of own) if (name.endsWith('.php')) files.push([name, content]);
  return { element, version, fileName: `plg_system_${element}-${version}.zip`, zip: await pack(files) };
}

function withFields(manifest: Buffer, fields: Buffer | undefined): Buffer {
  return Buffer.from(manifest.toString().replace(FIELDS, () => fields?.toString().trim() ?? ''));
}
