import { join } from 'node:path';

/** The migration of the later version that NEXT_VERSION makes of the build. */
export const NEXT_MIGRATION = '003_notes';

/** For the environment of a process of the build. */
export const NEXT_VERSION = {
  NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'preload-next-version.cjs'))}`,
};
