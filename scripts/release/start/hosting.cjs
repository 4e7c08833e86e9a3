'use strict';
// The service under Passenger, which app.js loads on a Node that is new enough.
require('./process/node-version.js');
require('./process/compile-cache.js').writeCompileCache('hosting');
require('../bundles/hosting.js');
