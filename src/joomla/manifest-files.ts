import type { Element } from '@xmldom/xmldom';
import { attributes, ownText } from './xml';

/** Lists the files that a manifest names, as Joomla's installer looks for them (libraries/src/Installer). */

export interface NamedPath {
  /** the element's `folder`; if the package lacks it, Joomla looks next to the manifest */
  folder: string;
  /** the unchanged text, which Joomla does not trim */
  name: string;
  kind: 'file' | 'folder' | 'extension';
  /** Joomla's last message if the file is missing; undefined if the update succeeds without it */
  aborts: string | undefined;
}

/** Joomla's message by the extension's type, if a file cannot be copied. */
const COPY_FAILED: Record<string, string> = {
  component: 'Component Update: Failed to copy site files.',
  module: 'Module Update: Could not copy files from the source.',
  plugin: 'Plugin Update: Could not copy files from the source.',
  library: 'Library Update: Could not copy files from the source.',
  template: 'Template Install: Could not copy files from the files source.',
};

/** Lists the paths that a manifest names, except for extensions of the type `file`, whose manifest has targets. */
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

/** Lists language or media files. If one is missing, Joomla warns and continues. */
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

/** Returns the first child of this name, as SimpleXML does. */
function childOf(parent: Element, name: string): Element | undefined {
  return Array.from(parent.children).find(({ tagName }) => tagName === name);
}
