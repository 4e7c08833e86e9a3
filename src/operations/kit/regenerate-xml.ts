import { regenerateUpdateXml } from '../../joomla/regenerate-update-xml';
import { includedProducts, readCatalogue } from '../../licensing/bundles';
import type { AfterCommit, OperationCall } from './operation';
import { UpdateXmlState } from './response-schemas';

/**
 * Updates the product's update XML, by which Joomla sees a change. It is written after the commit, so that it never
 * offers what was rolled back. A repeated call writes it again.
 * @param title the title of the answer with the XML's state @param product the field with the product's id
 */
export function regenerateAfterCommit(
  title: string,
  product: 'id' | 'product_id',
): AfterCommit<{ update_xml: typeof UpdateXmlState }> {
  return {
    title,
    adds: { update_xml: UpdateXmlState },
    async perform({ db, settings, body, followXml }, data) {
      const id = (data as Record<typeof product, number>)[product];
      // Only `withdraw` has this field.
      const { allow_downgrade: allowDowngrade, includes } = body as {
        allow_downgrade?: boolean;
        includes?: unknown;
      };
      const { updateXml, ownFiles: own } = settings;
      const { state, url } = await (followXml?.(id) ??
        regenerateUpdateXml(db, updateXml, id, { allowDowngrade, own }));
      // Only a product's change has it. The file of a product that a club no longer includes can wait for the next one.
      if (includes !== undefined) await regenerateIncluded(db, settings, id);
      return { update_xml: { state, url } };
    },
  };
}

/**
 * Updates the files next to the update XML, which a plan needs that covers a version beyond a licence's end: those of
 * its product and of the products that it includes. The answer does not mention them.
 * @param title the title of the answer
 */
export function regenerateAfterPlan(title: string) {
  return {
    title,
    adds: {},
    async perform({ db, settings, body }: OperationCall, data: object) {
      if ((body as { after_expiry?: string }).after_expiry === undefined) return {};
      const { product_id: id } = data as { product_id: number };
      await regenerateUpdateXml(db, settings.updateXml, id, { own: settings.ownFiles });
      await regenerateIncluded(db, settings, id);
      return {};
    },
  };
}

/** Writes the update XML of the products that a club includes now. */
async function regenerateIncluded(
  db: OperationCall['db'],
  { updateXml, ownFiles: own }: OperationCall['settings'],
  club: number,
): Promise<void> {
  for (const { id } of includedProducts(await readCatalogue(db), club))
    await regenerateUpdateXml(db, updateXml, id, { own });
}
