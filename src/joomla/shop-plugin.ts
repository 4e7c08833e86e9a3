import { join } from 'node:path';
import { API_PATH } from '../licensing/api';
import type { PluginKind } from '../store/orders/shops';
import { pack, readFolder, readVersion, type PackedFile, type Words } from './plugin-files';

/** The plugins for Joomla shops, which post their orders (docs/joomla-shops.md): php/shops/shared with a shop's files. */

export const SHOP_TITLES: Record<PluginKind, string> = {
  hikashop: 'HikaShop',
  membershippro: 'Membership Pro',
  j2commerce: 'J2Commerce',
};

/** Where a template of the shop's mails wants the keys. J2Commerce takes unknown words in square brackets out. */
const KEY_MARKS: Record<PluginKind, string> = {
  hikashop: '[LICENCE_KEY]',
  membershippro: '[LICENCE_KEY]',
  j2commerce: '{LICENCE_KEY}',
};

interface MadeShopPlugin {
  /** of the plugin, in Joomla's group `system` */
  element: string;
  version: string;
  fileName: string;
  zip: Buffer;
}

/** Where the manifest has the fields that only this shop has. */
const FIELDS = "<!-- The shop's own fields -->";

/**
 * Has no secret: its token is pasted into its settings.
 * @param shop `name`: under which the service lists its orders, as the plugin's settings have it at first; by default the kind
 * @param address where the operator's API is, as the settings have it at first; undefined: beside the shop
 * @param root the folder of this program
 */
export async function makeShopPlugin(
  { kind, name = kind }: { kind: PluginKind; name?: string | undefined },
  address: string | undefined,
  root: string,
): Promise<MadeShopPlugin> {
  const version = await readVersion(root);
  const title = SHOP_TITLES[kind];
  const element = `licensing${kind}`;
  const words: Words = {
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
