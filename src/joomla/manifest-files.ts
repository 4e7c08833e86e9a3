import type { Element } from '@xmldom/xmldom';
import { attributes, ownText } from './xml';

/** What a manifest names of its package's files, as Joomla's installer looks for it (libraries/src/Installer). */

export interface NamedPath {
  /** the element's `folder`; where the package lacks this folder, Joomla looks beside the manifest */
  folder: string;
  /** as written: Joomla does not trim it */
  name: string;
  kind: 'file' | 'folder' | 'extension';
  /** Joomla's last message when it is missing; undefined: the update ends in success without it */
  aborts: string | undefined;
}

/** Joomla's message by the extension's type, when a file cannot be copied. */
const COPY_FAILED: Record<string, string> = {
  component: 'Component Update: Failed to copy site files.',
  module: 'Module Update: Could not copy files from the source.',
  plugin: 'Plugin Update: Could not copy files from the source.',
  library: 'Library Update: Could not copy files from the source.',
  template: 'Template Install: Could not copy files from the files source.',
};

/** Not of extensions of the type `file`, whose manifest says where each file goes. */
export function namedPaths(root: Element, type: string): NamedPath[] {
  const script = childOf(root, 'scriptfile');
  const parts = ['administration', 'api'].flatMap((name) => childOf(root, name) ?? []);
  return [
    ...(type === 'package' ? packedExtensions(root) : copiedFiles(root, COPY_FAILED[type])),
    ...parts.flatMap((part) => [
      ...copiedFiles(
        part,
        `Component Update: Failed to copy ${part.tagName === 'api' ? 'API' : 'administrator'} files.`,
      ),
      ...optionalFiles(part, 'languages'),
    ]),
    ...['languages', 'media'].flatMap((name) => optionalFiles(root, name)),
    ...(script === undefined || ownText(script) === ''
      ? []
      : [{ folder: '', name: ownText(script), kind: 'file' as const, aborts: undefined }]),
  ];
}

function packedExtensions(root: Element): NamedPath[] {
  return childrenOf(root, 'files').map(({ folder, element }) => {
    const name = ownText(element);
    const file = name.split('/').at(-1) ?? '';
    const aborts = `Package Update: There was an error installing an extension: ${file}`;
    return { folder, name, kind: 'extension', aborts };
  });
}

function copiedFiles(parent: Element, aborts: string | undefined): NamedPath[] {
  if (aborts === undefined) return [];
  return childrenOf(parent, 'files').map(({ folder, element }) => ({ folder, ...copied(element), aborts }));
}

/** Joomla warns of a language or media file that is missing, and goes on. */
function optionalFiles(parent: Element, name: string): NamedPath[] {
  return childrenOf(parent, name).map(({ folder, element }) => ({
    folder,
    ...copied(element),
    aborts: undefined,
  }));
}

function copied(element: Element): Pick<NamedPath, 'name' | 'kind'> {
  return { name: ownText(element), kind: element.tagName === 'folder' ? 'folder' : 'file' };
}

function childrenOf(parent: Element, name: string): { folder: string; element: Element }[] {
  const list = childOf(parent, name);
  if (list === undefined) return [];
  const { folder = '' } = attributes(list);
  return Array.from(list.children).map((element) => ({ folder, element }));
}

/** The first child of this name, which is what SimpleXML gives. */
function childOf(parent: Element, name: string): Element | undefined {
  return Array.from(parent.children).find(({ tagName }) => tagName === name);
}
