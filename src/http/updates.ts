import { formatTimestamp } from '../base/days';
import { API_PATH } from '../licensing/api';
import type { Licensing } from '../licensing/licensing';
import { shownChangelog } from '../licensing/changelog';
import type { Update } from '../licensing/updates';
import { sendData, sendWritten, writeData } from './answers';
import type { Handler } from './context';
import { InvalidRequestError } from '../base/errors';
import { readProductId } from './requests';

/** Handles GET updates/{product_id} (docs/contract.md, 7). It is public, so it reveals nothing that needs a licence. */
export function updatesHandler({ latestUpdate }: Licensing): Handler {
  const bodies = new WeakMap<Update, string>();
  const bodyOf = (update: Update): string => {
    let body = bodies.get(update);
    if (body === undefined) bodies.set(update, (body = writeUpdate(update)));
    return body;
  };
  return async (ctx) => {
    const productId = readProductId(ctx);
    if (productId === undefined)
      throw new InvalidRequestError(
        'The address must end in the product ID, an integer, as /updates/42 does.',
      );
    const update = await latestUpdate(productId, ctx.state.client.limitKey);
    if (update === undefined) sendData(ctx, { update_available: false });
    else sendWritten(ctx, bodyOf(update));
  };
}

function writeUpdate({ product, release }: Update): string {
  return writeData({
    update_available: true,
    name: product.name,
    version: release.version,
    download_url: `${API_PATH}/downloads/${product.id}`,
    changelog: shownChangelog(release),
    date: formatTimestamp(release.publishedAt ?? release.createdAt),
    file_size: release.fileSize,
  });
}
