import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { isReserved } from './plugin';

/** Writes the PHP client of the folder php/client, under a seller's own namespace. */

/** The namespace in the files of this program. */
const SHIPPED = 'VendorName\\Licensing';

/** The beginning of each file, by which a later run recognises it. */
export const FILE_HEADER =
  '<?php\n\n// Written by "licensing php", which replaces it when it is run again.\n';

interface PhpFile {
  name: string;
  text: string;
}

/**
 * @param namespace such as `Acme\Example\Licensing`
 * @param root the folder of this program
 * @throws OperatorError if PHP 7.2 cannot read the namespace
 */
export async function makePhpClient(namespace: string, root: string): Promise<PhpFile[]> {
  const own = requireNamespace(namespace);
  const folder = join(root, 'php/client');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.php')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      return {
        name,
        text: FILE_HEADER + text.slice('<?php\n'.length).replaceAll(SHIPPED, () => own),
      };
    }),
  );
}

function requireNamespace(text: string): string {
  // Shells and JSON halve backslashes in different places.
  const namespace = text
    .trim()
    .replace(/\\+/g, '\\')
    .replace(/^\\|\\$/g, '');
  const refuse = (message: string) =>
    new OperatorError(message, { code: 'INVALID_REQUEST', field: 'namespace' });
  const parts = namespace.split('\\');
  if (!parts.every((part) => /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(part)) || parts.length > 10)
    throw refuse("It must be a PHP namespace, such as 'Acme\\Example\\Licensing'.");
  const word = parts.find(isReserved);
  if (word !== undefined || parts[0]?.toLowerCase() === 'joomla')
    throw refuse(`"${word ?? 'Joomla'}" cannot be part of your namespace. Use another word.`);
  return namespace;
}
