import { followUpdateXml } from '../joomla/follow-xml';
import { includedIn, readCatalogue } from '../licensing/bundles';
import type { AfterCommit, Call } from './operation';
import { UpdateXmlState } from './things';

/**
 * Joomla learns of a change by the product's update XML. It is written after the commit, so that it never offers what was
 * rolled back; a repeated call writes it again.
 * @param title of the answer with the XML's state @param product the field with the product's id
 */
export function follow(
  title: string,
  product: 'id' | 'product_id',
): AfterCommit<{ update_xml: typeof UpdateXmlState }> {
  return {
    title,
    adds: { update_xml: UpdateXmlState },
    async perform({ db, settings, body, followXml }, data) {
      const id = (data as Record<typeof product, number>)[product];
      // Only `withdraw` has it.
      const { allow_downgrade: allowDowngrade } = body as { allow_downgrade?: boolean };
      const { updateXml, ownFiles: own } = settings;
      const { state, url } = await (followXml?.(id) ??
        followUpdateXml(db, updateXml, id, { allowDowngrade, own }));
      return { update_xml: { state, url } };
    },
  };
}

/**
 * A plan that covers a version beyond a licence's end needs files beside the update XML, of its product and of those that
 * the product includes. The answer says nothing of them.
 * @param title of the answer
 */
export function followPlan(title: string) {
  return {
    title,
    adds: {},
    async perform({ db, settings: { updateXml, ownFiles: own }, body }: Call, data: object) {
      if ((body as { after_expiry?: string }).after_expiry === undefined) return {};
      const { product_id: id } = data as { product_id: number };
      const included = includedIn(await readCatalogue(db), id);
      for (const product of [id, ...included.map((one) => one.id)])
        await followUpdateXml(db, updateXml, product, { own });
      return {};
    },
  };
}
