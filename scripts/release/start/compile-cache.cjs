'use strict';
const nodeModule = require('node:module');
const { userInfo } = require('node:os');
const { join } = require('node:path');

/**
 * Lets Node keep the compiled code in the home of the user who runs this, because compiling takes half of a start. The
 * home comes from the system's list of users, not from $HOME, by which another user could give root code. If the folder
 * cannot be written, the start takes longer. Node reads NODE_COMPILE_CACHE and NODE_DISABLE_COMPILE_CACHE.
 */
exports.writeCompileCache = (name) => {
  if (!nodeModule.enableCompileCache) return;
  try {
    nodeModule.enableCompileCache(join(userInfo().homedir, '.cache/licensing-gateway', name));
  } catch {
    // The user has no entry, as in a container.
  }
};
