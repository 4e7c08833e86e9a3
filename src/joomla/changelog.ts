import { printableInXml } from './xml';

/**
 * The changelog next to the update XML, which Joomla shows in a window of its own (docs/update-xml.md, The changelog).
 * Joomla makes an entry of every chunk that its parser reports, and prints it as HTML (`Changelog::characterData`,
 * layouts/joomla/installer/changelog.php). So each entry is one CDATA section with HTML-escaped text.
 */

/** The lists, in the order in which Joomla shows them (com_installer, loadChangelog). */
export const CHANGE_LISTS = ['security', 'fix', 'addition', 'change', 'remove', 'language', 'note'] as const;
export type ChangeList = (typeof CHANGE_LISTS)[number];

export type Changes = Partial<Record<ChangeList, string[]>>;

/** A line with an optional list word. `add:` is the only word that differs from its list's name. */
const LINE = /^(?:[-*]\s+)?(?:(security|fix|add|change|remove|language|note):\s*(?=\S))?([^]*)$/i;

/** Sorts a changelog's lines into Joomla's lists. A line without a list word is a note. */
export function changesOf(changelog: string): Changes {
  const changes: Changes = {};
  for (const line of printableInXml(changelog).split(/\r\n|[\r\n]/)) {
    const [, word = 'note', text = ''] = LINE.exec(line.trim()) ?? [];
    if (text === '') continue;
    const name = word.toLowerCase();
    const list = CHANGE_LISTS.find((one) => one === name) ?? 'addition';
    (changes[list] ??= []).push(text);
  }
  return changes;
}

/** The maximum number of versions, because sites read the whole file to show one of them. */
const MOST_VERSIONS = 50;
/** The maximum number of lines, which a parser can read in the memory of a small site. Older versions are left out first. */
const MOST_LINES = 10_000;

/** Returns the XML. @param releases the published ones, newest first */
export function renderChangelog(
  { element, type }: { element: string; type: string },
  releases: { version: string; changelog: string }[],
): string {
  const lines: string[] = [];
  let left = MOST_LINES;
  for (const { version, changelog } of releases.slice(0, MOST_VERSIONS)) {
    const changes = changesOf(changelog);
    const lists = CHANGE_LISTS.flatMap((list) => {
      const items = (changes[list] ?? []).slice(0, Math.max(left, 0));
      left -= items.length;
      return items.length === 0 ? [] : [{ list, items }];
    });
    lines.push(
      '    <changelog>',
      `        <element>${asHtml(element)}</element>`,
      `        <type>${type}</type>`,
      `        <version>${asHtml(version)}</version>`,
      ...lists.flatMap(({ list, items }) => [
        `        <${list}>`,
        ...items.map((item) => `            <item><![CDATA[${asHtml(item)}]]></item>`),
        `        </${list}>`,
      ]),
      '    </changelog>',
    );
    if (left <= 0) break;
  }
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<changelogs>', ...lines, '</changelogs>', ''].join('\n');
}

const HTML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#039;' };

/** Escapes HTML, including the `>` of `]]>`, which would end a CDATA section. */
function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML[character] ?? '');
}

/** Returns the path or URL of the changelog next to an update XML. */
export function changelogBeside(updateXml: string): string {
  return updateXml.replace(/(?:\.xml)?(?=\?|$)/i, '-changelog.xml');
}

/** The kind of file of any changelog that Joomla can read. */
export const CHANGELOG_XML = {
  name: 'a changelog for Joomla',
  isOne: (beginning: string) =>
    /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->)\s*)*<changelogs[\s/>]/.test(beginning),
};
