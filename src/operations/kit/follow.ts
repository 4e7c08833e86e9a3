import { followUpdateXml } from '../../joomla/follow-xml';
import { includedIn, readCatalogue } from '../../licensing/bundles';
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
      const { allow_downgrade: allowDowngrade, includes } = body as {
        allow_downgrade?: boolean;
        includes?: unknown;
      };
      const { updateXml, ownFiles: own } = settings;
      const { state, url } = await (followXml?.(id) ??
        followUpdateXml(db, updateXml, id, { allowDowngrade, own }));
      // Only the change of a product has it. A file of what the club includes no more harms nobody until its next writing.
      if (includes !== undefined) await followIncluded(db, settings, id);
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
    async perform({ db, settings, body }: Call, data: object) {
      if ((body as { after_expiry?: string }).after_expiry === undefined) return {};
      const { product_id: id } = data as { product_id: number };
      await followUpdateXml(db, settings.updateXml, id, { own: settings.ownFiles });
      await followIncluded(db, settings, id);
      return {};
    },
  };
}

/** Writes the update XML of the products that a club includes now. */
async function followIncluded(
  db: Call['db'],
  { updateXml, ownFiles: own }: Call['settings'],
  club: number,
): Promise<void> {
  for (const { id } of includedIn(await readCatalogue(db), club))
    await followUpdateXml(db, updateXml, id, { own });
}
