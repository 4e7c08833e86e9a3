import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** The program as a release has it, bundled (write-program.mjs). Child processes of the tests start from it. */
export const PROGRAM = join(ROOT, 'node_modules/.cache/program');

/** The ordinary build, for tests that change or look into its modules. */
export const BUILD = join(ROOT, 'dist/src');

/** The released command, as an argument of Node. */
export const CLI = join(PROGRAM, 'dist/src/cli.js');

/**
 * Returns the file to start.
 *
 * @param env of the process: what it preloads may change modules of the ordinary build (next-version.ts)
 */
export function entry(name: 'cli' | 'main', env: NodeJS.ProcessEnv = {}): string {
  const changed = env.NODE_OPTIONS?.includes('preload-') ?? false;
  return changed ? join(BUILD, `${name}.js`) : join(PROGRAM, 'dist/src', `${name}.js`);
}
