'use strict';
const { writeFileSync } = require('node:fs');
const { createRequire, isBuiltin } = require('node:module');
const { join } = require('node:path');
const { transformFileSync } = require('@swc/core');
const { default: Runtime } = require('jest-runtime');

/*
 * Lets Node load the service, the packages and the tests' servers once in a worker. Loading their 1,800 modules in the
 * sandbox of each test file, like Jest, took longer than the tests of most files.
 */

const SUPPORT = ['command', 'operator', 'processes', 'servers', 'service', 'service-process'];
const OUTSIDE = new RegExp(
  `^${join(__dirname, '../..')}/(?:(?:node_modules|src|migrations)/|test/support/(?:${SUPPORT.join('|')})\\.ts$)`,
);

/** The transforms of jest.config.ts: an expression for paths, the transformer, its options. */
let transforms = [];

function compile(path) {
  const [, , options] = transforms.find(([of]) => new RegExp(of).test(path));
  return transformFileSync(path, { ...options, sourceMaps: true });
}

/** The source map's file of each module in an error's stack. */
const maps = new Map();
let mapsFolder;

function mapOf(path) {
  if (!OUTSIDE.test(path) || !/\.tsx?$/.test(path)) return undefined;
  if (!maps.has(path)) {
    mapsFolder ??= require('./processes').temporaryFolder();
    const file = join(mapsFolder, `${maps.size}.map`);
    writeFileSync(file, compile(path).map);
    maps.set(path, file);
  }
  return maps.get(path);
}

for (const type of ['.ts', '.tsx'])
  require.extensions[type] = (module, path) =>
    // Remove the extension: the command loads its parts by their names in the build.
    module._compile(compile(path).code.replaceAll(/(?<=require\("\.\.\/cli\/[\w-]+)\.js(?="\))/g, ''), path);

module.exports = class extends Runtime {
  constructor(config, environment, ...others) {
    super(config, environment, ...others);
    transforms = config.transform;
    // Let the test file see the output of the service.
    globalThis.console = environment.global.console;
  }

  requireModuleOrMock(from, name) {
    if (!isBuiltin(name) && name !== '@jest/globals') {
      const path = createRequire(from).resolve(name);
      if (OUTSIDE.test(path)) return require(path);
    }
    return super.requireModuleOrMock(from, name);
  }

  getSourceMaps() {
    const ofSandbox = super.getSourceMaps();
    ofSandbox.get = (path) => Map.prototype.get.call(ofSandbox, path) ?? mapOf(path);
    return ofSandbox;
  }
};
