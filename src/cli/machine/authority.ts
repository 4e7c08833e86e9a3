import { chmodSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { environment } from '../../settings/config';
import { readText, writeText } from '../../setup/files';
import { SETUP_STATE_DIR } from '../../setup/journal';
import { authorities, fileName } from '../arguments';

/** Keeps the authorities of `--ca`, because the doctor of later runs needs them again, for example after an upgrade. */

const FILE = 'ca.pem';

/** Reads `--ca`. */
export function caFile(text: string): string {
  authorities(text);
  return resolve(fileName(text));
}

/** Keeps the authorities. @param ca by default NODE_EXTRA_CA_CERTS, otherwise those of an earlier run */
export async function keepAuthority(
  ca: string | undefined,
  { NODE_EXTRA_CA_CERTS: nodes }: NodeJS.ProcessEnv = environment(),
  state = SETUP_STATE_DIR,
): Promise<void> {
  const file = ca ?? (nodes && isAuthority(nodes) ? nodes : undefined);
  if (file === undefined) return;
  await mkdir(state, { recursive: true, mode: 0o700 });
  await writeText(join(state, FILE), await readFile(file, 'utf8'), { mode: 0o600 });
}

/** Reports whether a file contains authorities. Node only warns about a file that it cannot use. */
function isAuthority(file: string): boolean {
  try {
    return authorities(file).length > 0;
  } catch {
    return false;
  }
}

/**
 * Runs the doctor with the kept authorities. Only root may be able to read the file, and the doctor runs as the
 * service's user. So it gets a copy, which is safe because certificates are public.
 * @param run receives the additional options
 */
export async function withAuthority<T>(
  url: string,
  run: (options: string[]) => Promise<T>,
  state = SETUP_STATE_DIR,
): Promise<T> {
  const known = readText(join(state, FILE));
  if (known === undefined || !url.startsWith('https:')) return run([]);
  const folder = await mkdtemp(join(tmpdir(), 'licensing-setup-'));
  try {
    chmodSync(folder, 0o755);
    const copy = join(folder, 'ca.pem');
    await writeFile(copy, known, { mode: 0o644 });
    return await run(['--ca', copy]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
