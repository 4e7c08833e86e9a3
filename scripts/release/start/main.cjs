#!/usr/bin/env node
'use strict';
// The service of a release. Node 12 must be able to parse this file: no syntax newer than ES2019.
require('./process/node-version.js');
require('./process/compile-cache.js').writeCompileCache('service');
require('../bundles/service.js');
