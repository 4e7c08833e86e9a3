/**
 * Refuses a Node that is too old. Every entry point (main.ts, cli.ts, demo.ts) imports this file first, before anything
 * that needs a newer Node is loaded. An old Node has to be able to read this file and the entry points: no syntax after
 * ES2019 there (`??`, `?.`, `??=`), which Node 12 knows.
 */

/** As `engines` in package.json. */
const REQUIRED = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < REQUIRED[0] || (major === REQUIRED[0] && minor < REQUIRED[1])) {
  process.stderr.write(
    `licensing-gateway needs Node ${REQUIRED.join('.')} or later, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer one (https://nodejs.org/en/download), then run this again.\n',
  );
  process.exit(1);
}
