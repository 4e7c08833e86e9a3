import { isCoded } from '../../base/errors';
import { CHANGE_KINDS } from '../../licensing/changelog';
import { parseXml } from '../xml';
import type { LintFinding } from './report';

/** Reads a changelog as Joomla does (libraries/src/Changelog/Changelog.php), and reports what its window would not show. */

const WRITE_AGAIN = 'Write it again with "licensing update-xml write", which writes the changelog too.';

interface ReadItem {
  line: number;
  /** the pieces of text that the parser reports, each of which is a separate entry in Joomla's list */
  pieces: string[];
}

interface ReadChangelog {
  line: number;
  version: string | undefined;
  lists: { name: string; line: number; items: ReadItem[] }[];
}

/** Comments, CDATA sections, instructions, tags, references, ASCII text and other text, as PHP's parser reports them. */
const PIECES =
  // oxlint-disable-next-line no-control-regex -- all that is ASCII
  /<!--[^]*?-->|<!\[CDATA\[([^]*?)\]\]>|<[?!][^>]*>|<(\/?)([^\s/>]+)(?:"[^"]*"|'[^']*'|[^"'>])*>|(&[^;]*;|[\u0000-\u0025\u0027-\u003b\u003d-\u007f]+|[^\u0000-\u007f][^<&]*)/g;

/** @param xml well-formed */
function readChangelogs(xml: string): ReadChangelog[] {
  const all: ReadChangelog[] = [];
  const open: string[] = [];
  let line = 1;
  let version = '';
  const listNow = () => all.at(-1)?.lists.at(-1);
  const take = (text: string) => {
    const tag = open.at(-1);
    if (tag === 'item') listNow()?.items.at(-1)?.pieces.push(text);
    else if (tag === 'version') version += text;
  };
  for (const [found, data, isEnd, tag, text] of xml.matchAll(PIECES)) {
    if (data !== undefined) {
      if (data !== '') take(data);
    } else if (text !== undefined) take(text);
    else if (tag !== undefined) {
      const name = tag.toLowerCase();
      const isClosed = found.endsWith('/>');
      if (isEnd === '/') {
        open.pop();
        const now = all.at(-1);
        if (name === 'version' && now) now.version = version.trim();
      } else {
        if (name === 'changelog') all.push({ line, version: undefined, lists: [] });
        else if (name === 'version') version = '';
        else if (name === 'item') listNow()?.items.push({ line, pieces: [] });
        else if (open.at(-1) === 'changelog') all.at(-1)?.lists.push({ name, line, items: [] });
        if (!isClosed) open.push(name);
      }
    }
    line += found.split('\n').length - 1;
  }
  return all;
}

/** The children of a `changelog` that are not lists. */
const FACTS = ['element', 'type', 'version', 'folder', 'client'];
const LISTS: readonly string[] = CHANGE_KINDS;

/**
 * @param where the beginning of each problem, such as the changelog's address
 * @param versions the versions that Joomla will look for in it
 */
export function lintChangelog(bytes: Buffer, where: string, versions: string[] = []): LintFinding[] {
  const findings: LintFinding[] = [];
  const report = (
    level: LintFinding['level'],
    line: number | undefined,
    problem: string,
    remedy: string,
    version?: string,
  ) => {
    const place = [where, line === undefined ? '' : `line ${line}`].filter((one) => one !== '').join(' ');
    findings.push({
      level,
      code: 'changelog',
      line,
      version,
      problem: `The changelog${place === '' ? '' : ` ${place}`}: ${problem}`,
      remedy,
    });
  };
  try {
    parseXml(bytes);
  } catch (error) {
    if (!isCoded(error, 'MALFORMED_XML', 'XML_TOO_BIG')) throw error;
    const line = /\(line ([0-9]+)\)/.exec(error.message)?.[1];
    report(
      'error',
      line === undefined ? undefined : Number(line),
      `it is not well-formed XML, so Joomla shows nothing: ${error.message}.`,
      WRITE_AGAIN,
    );
    return findings;
  }
  const all = readChangelogs(bytes.toString('utf8'));
  if (all.length === 0) report('error', undefined, 'it has no <changelog>.', WRITE_AGAIN);
  for (const { line, version, lists } of all) {
    if (version === undefined || version === '')
      report('error', line, 'this <changelog> has no <version>, so Joomla never shows it.', WRITE_AGAIN);
    for (const list of lists) {
      if (FACTS.includes(list.name)) continue;
      if (!LISTS.includes(list.name))
        report(
          'warning',
          list.line,
          `Joomla does not know the list <${list.name}> and leaves it out.`,
          `Use one of ${LISTS.join(', ')}.`,
          version,
        );
      for (const item of list.items)
        reportItem(item, (problem, remedy) => report('warning', item.line, problem, remedy, version));
    }
  }
  for (const version of versions)
    if (all.length > 0 && !all.some((one) => one.version === version))
      report(
        'warning',
        undefined,
        `version ${version} is not in it: Joomla shows an empty window.`,
        WRITE_AGAIN,
        version,
      );
  return findings;
}

function reportItem({ pieces }: ReadItem, report: (problem: string, remedy: string) => void): void {
  if (pieces.length > 1)
    report(
      `Joomla shows this <item> as ${pieces.length} entries: its parser reports ${pieces.length} pieces.`,
      'Write it as one <item><![CDATA[...]]></item> with HTML-escaped text.',
    );
  if (pieces.some((piece) => /<[a-z!/]/i.test(piece)))
    report(
      'Joomla prints this <item> as HTML, so the markup in it takes effect in the administrator.',
      'Escape it: &lt; for <, within the CDATA section.',
    );
}
