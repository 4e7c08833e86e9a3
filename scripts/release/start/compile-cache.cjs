'use strict';
const nodeModule = require('node:module');
const { userInfo } = require('node:os');
const { join } = require('node:path');

/**
 * Has Node keep the compiled code in the home of the user who runs this: half of a start is compiling. By the system's list of
 * users, not by $HOME: with that, root could be given code that somebody else wrote. Where the folder cannot be written, nothing
 * is kept, and the start takes longer. NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE are Node's own.
 */
exports.keepCompiled = (name) => {
  if (!nodeModule.enableCompileCache) return;
  try {
    nodeModule.enableCompileCache(join(userInfo().homedir, '.cache/licensing-gateway', name));
  } catch {
    // A user without an entry, as in a container.
  }
};
