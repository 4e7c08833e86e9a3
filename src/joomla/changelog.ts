import { CHANGE_KINDS, readChanges, withAdvice, type ChangeKind } from '../licensing/changelog';
import type { Release } from '../packages/releases';
import { printableInXml } from './xml';

/**
 * The changelog next to the update XML, which Joomla shows in a window of its own (docs/update-xml.md, The changelog).
 * Joomla makes an entry of every chunk that its parser reports, and prints it as HTML (`Changelog::characterData`,
 * layouts/joomla/installer/changelog.php). So each entry is one CDATA section with HTML-escaped text.
 */

export type Changes = Partial<Record<ChangeKind, string[]>>;

/** Sorts a changelog's lines into Joomla's lists. */
export function changesOf(changelog: string): Changes {
  const changes: Changes = {};
  for (const { kind, text } of readChanges(printableInXml(changelog))) (changes[kind] ??= []).push(text);
  return changes;
}

/** The maximum number of versions, because sites read the whole file to show one of them. */
const MAX_VERSIONS = 50;
/** The maximum number of lines, which a parser can read in the memory of a small site. Older versions are left out first. */
const MAX_LINES = 10_000;

/** Returns the XML. @param releases the published ones, newest first */
export function renderChangelog(
  { element, type }: { element: string; type: string },
  releases: (Pick<Release, 'version' | 'changelog'> & Partial<Pick<Release, 'cve' | 'advisory'>>)[],
): string {
  const lines: string[] = [];
  let left = MAX_LINES;
  for (const { version, ...release } of releases.slice(0, MAX_VERSIONS)) {
    const changes = changesOf(withAdvice(release, release.changelog));
    const lists = CHANGE_KINDS.flatMap((list) => {
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
