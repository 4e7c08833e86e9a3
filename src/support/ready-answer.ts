import { updateSites, updateSiteNames, readCatalogue } from '../licensing/bundles';
import { findProduct } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import type { License } from '../store/licenses/licenses';
import type { CustomerLanguage } from '../texts/customers/languages';
import { writeReply, type Reply } from './reply';
import { groupFindings } from './grouped-findings';
import { requestHistory } from './request-history';
import { explain, type WhyOptions } from './why';

/** Returns the answer to a licence's customer, for its page. @param options the options of `explain`, and of the mail */
export async function readyAnswer(
  db: Db,
  license: License,
  {
    customerLanguage,
    shopName,
    myUrl,
    zone,
    ...options
  }: WhyOptions & {
    customerLanguage: CustomerLanguage;
    shopName: string;
    myUrl: string | undefined;
    zone: string;
  },
): Promise<Reply> {
  const { now, language } = options;
  const sorted = groupFindings(await explain(db, `id:${license.id}`, options));
  const { activationType } = license.plan;
  const happened = requestHistory(sorted, {
    language,
    now,
    zone,
    activationType,
    keyHints: [license.keyHint],
  });
  const entries = updateSiteNames(updateSites(await readCatalogue(db), license.product.id));
  const product = await findProduct(db, license.product.id);
  return writeReply(sorted, happened, {
    language: customerLanguage,
    now,
    license,
    product,
    shopName,
    entries,
    myUrl,
  });
}
