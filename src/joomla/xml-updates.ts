import type { Element, Node } from '@xmldom/xmldom';
import { STABILITIES, type Stability } from '../licensing/versions';
import { attributes, descendants, lineOf, ownText } from './xml';

/** What an update XML offers, as Joomla reads it. */

/** An `update` element, read as Joomla reads it: by names in any case, the last of a name counts. */
export interface XmlUpdate {
  line: number;
  /** as it stands, blanks around it included */
  text(name: string): string | undefined;
  attribute(name: string, attribute: string): string | undefined;
  attributes(name: string): Record<string, string> | undefined;
}

/** Every `update` that lies in no other; nobody means anything by one within another. */
export function readUpdates(root: Element): XmlUpdate[] {
  return outermostUpdates(root).map((update) => {
    const elements = new Map(descendants(update).map((element) => [element.tagName.toLowerCase(), element]));
    const attributesOf = (name: string) => {
      const element = elements.get(name);
      return element && attributes(element);
    };
    return {
      line: lineOf(update),
      text(name) {
        const element = elements.get(name);
        return element && ownText(element);
      },
      attribute: (name, attribute) => attributesOf(name)?.[attribute],
      attributes: attributesOf,
    };
  });
}

/** Each element is looked at once, also where thousands lie in one another. */
function outermostUpdates(root: Element): Element[] {
  const updates: Element[] = [];
  const within = new Set<Node | null>();
  for (const element of [root, ...descendants(root)]) {
    const isWithin = within.has(element.parentNode);
    const isUpdate = element.tagName.toLowerCase() === 'update';
    if (isUpdate && !isWithin) updates.push(element);
    if (isUpdate || isWithin) within.add(element);
  }
  return updates;
}

/** A `tag` that Joomla does not know, also for blanks around it, counts as stable; so does none. */
export function stabilityOfTag(tag: string | undefined): Stability {
  return STABILITIES.find((stability) => stability === tag?.toLowerCase()) ?? 'stable';
}

/** Without the blanks that Joomla takes off a download address. */
export function phpTrim(text: string): string {
  // eslint-disable-next-line no-control-regex -- PHP's trim() has NUL among its blanks
  return text.replace(/^[ \t\n\r\v\u0000]+|[ \t\n\r\v\u0000]+$/g, '');
}
