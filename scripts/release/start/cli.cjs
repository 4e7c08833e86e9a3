#!/usr/bin/env node
'use strict';
// The command of a release. Node 12 must be able to parse this file: no syntax newer than ES2019.
require('./process/node-version.js');
const { writeCompileCache } = require('./process/compile-cache.js');

/** The commands with compiled code of their own, because each loads other modules. */
const COMMANDS = [];

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) {
  process.stdout.on('error', (error) => {
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
  process.stdout.write(`${require('../../package.json').version}\n`);
} else {
  const first = words.find((word) => !word.startsWith('-'));
  writeCompileCache(COMMANDS.includes(first) ? `licensing-${first}` : 'licensing');
  require('../bundles/command.js').main();
}
