import { printableInXml } from './xml';

/**
 * The changelog that Joomla shows in its own window, beside the update XML (docs/update-xml.md, The changelog). Joomla
 * makes an entry of every chunk its parser reports and prints it as HTML (`Changelog::characterData`,
 * layouts/joomla/installer/changelog.php). So each entry is one CDATA section with HTML-escaped text.
 */

/** The lists in the order in which Joomla shows them (com_installer, loadChangelog). */
export const CHANGE_LISTS = ['security', 'fix', 'addition', 'change', 'remove', 'language', 'note'] as const;
export type ChangeList = (typeof CHANGE_LISTS)[number];

export type Changes = Partial<Record<ChangeList, string[]>>;

/** `add:` is the only word that differs from its list's name. */
const LINE = /^(?:[-*]\s+)?(?:(security|fix|add|change|remove|language|note):\s*(?=\S))?([^]*)$/i;

/** A changelog's lines by Joomla's lists. A line without a list's word is a note. */
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

/** Sites read the whole file to show one version. */
const MOST_VERSIONS = 50;
/** A parser's memory for more would exceed that of a small site. Older versions are left out first. */
const MOST_LINES = 10_000;

/** @param releases the published ones, the newest first */
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

/** Also without `]]>`, which would end a CDATA section. */
function asHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML[character] ?? '');
}

/** Where the changelog is, beside an update XML: a file's path or an address. */
export function changelogBeside(updateXml: string): string {
  return updateXml.replace(/(?:\.xml)?(?=\?|$)/i, '-changelog.xml');
}

/** Any changelog that Joomla can read. */
export const CHANGELOG_XML = {
  name: 'a changelog for Joomla',
  isOne: (beginning: string) =>
    /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->)\s*)*<changelogs[\s/>]/.test(beginning),
};
