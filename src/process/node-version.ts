/**
 * Refuses a Node that is too old. Every entry point imports this file first. Node 12 must be able to parse it, so this
 * file and the entry points have no syntax newer than ES2019 (no `??`, `?.`, `??=`).
 */

/** The minimum version of Node, which equals `engines` in package.json. */
const REQUIRED = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < REQUIRED[0] || (major === REQUIRED[0] && minor < REQUIRED[1])) {
  process.stderr.write(
    `licensing-gateway needs Node ${REQUIRED.join('.')} or later, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer one (https://nodejs.org/en/download), then run this again.\n',
  );
  process.exit(1);
}
