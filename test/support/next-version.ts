import { join } from 'node:path';

/** The migration of the later version to which NEXT_VERSION changes the build. */
export const NEXT_MIGRATION = '999_notes';

/** The environment of a process that runs the later version. */
export const NEXT_VERSION = {
  NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'preload-next-version.cjs'))}`,
};
