import { SHOP_TITLES } from '../../../joomla/shop-plugin';
import { shopPluginOperations } from '../../../operations/shop-plugin';
import { isPlugin } from '../../../orders/shop-kinds';
import type { Shop } from '../../../orders/shops';
import { submitOperation } from '../submit';
import { PanelBody, Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { shopOf } from './shop-map';

/** The Joomla plugin that posts a shop's orders: its download, and the steps to the first order. */

export const shopPluginRoutes: Route<OperatorCall>[] = [
  { path: '/shops/:name/plugin.zip', scope: 'write', get: give },
];

async function give(call: OperatorCall): Promise<PageResponse> {
  const wanted = { path: { name: shopOf(call) } };
  const nothing = new URLSearchParams();
  const { file_name, zip } = await submitOperation(call, nothing, shopPluginOperations.getShopPlugin, wanted);
  return { file: file_name, type: 'application/zip', content: Buffer.from(zip, 'base64') };
}

/** The panel of the plugin. Empty for another kind of shop. */
export function ShopPluginPanel({ shop: { name, kind } }: { shop: Pick<Shop, 'name' | 'kind'> }) {
  const { t, to } = useView();
  if (!isPlugin(kind)) return null;
  const texts = t.orders.shops.plugin;
  const shop = SHOP_TITLES[kind];
  return (
    <Panel id="plugin" title={texts.title(shop)}>
      <PanelBody>
        <ol>
          <li>
            {texts.token(name)} <a href={to('/tokens')}>{texts.makeToken}</a>
          </li>
          <li>
            <a href={to(`/shops/${name}/plugin.zip`)}>{texts.download}</a>
          </li>
          <li>{texts.install}</li>
          <li>{texts.settings(shop)}</li>
          <li>
            {texts.map} <a href={to(`/shops/${name}/map`)}>{t.orders.map.add}</a>
          </li>
        </ol>
        <p class="small muted">{texts.next}</p>
      </PanelBody>
    </Panel>
  );
}
