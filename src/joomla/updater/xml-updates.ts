import type { Element, Node } from '@xmldom/xmldom';
import { STABILITIES, type Stability } from '../../licensing/versions';
import { attributes, descendants, lineOf, ownText } from '../xml';

/** An `update` element. As in Joomla, names ignore case, and the last element with a name wins. */
export interface XmlUpdate {
  line: number;
  /** untrimmed */
  text(name: string): string | undefined;
  attribute(name: string, attribute: string): string | undefined;
  attributes(name: string): Record<string, string> | undefined;
}

/** Returns every outermost `update`. Nested ones are ignored. */
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

/** Returns the outermost updates, visiting each element once, even if thousands are nested. */
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

/** Returns the stability of a `tag`. Joomla treats a missing or unknown one, or one with blanks around it, as stable. */
export function stabilityOfTag(tag: string | undefined): Stability {
  return STABILITIES.find((stability) => stability === tag?.toLowerCase()) ?? 'stable';
}

/** Trims a text as Joomla trims a download address. */
export function phpTrim(text: string): string {
  // oxlint-disable-next-line no-control-regex -- PHP's trim() has NUL among its blanks
  return text.replace(/^[ \t\n\r\v\u0000]+|[ \t\n\r\v\u0000]+$/g, '');
}
