import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** The bundled program, as in a release (write-program.mjs). Child processes of the tests start from it. */
export const PROGRAM = join(ROOT, 'node_modules/.cache/program');

/** The ordinary build, for tests that change or read its modules. */
export const BUILD = join(ROOT, 'dist/src');

/** The released command, as an argument of Node. */
export const CLI = join(PROGRAM, 'dist/src/cli.js');

/**
 * Returns the file to start.
 *
 * @param env the process's environment: a preloaded file may change modules of the ordinary build (next-version.ts)
 */
export function entry(name: 'cli' | 'main', env: NodeJS.ProcessEnv = {}): string {
  const changed = env.NODE_OPTIONS?.includes('preload-') ?? false;
  return changed ? join(BUILD, `${name}.js`) : join(PROGRAM, 'dist/src', `${name}.js`);
}
