import { followUpdateXml } from '../joomla/follow-xml';
import type { AfterCommit } from './operation';
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
