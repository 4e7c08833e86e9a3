/*
 * The start file for Phusion Passenger and its like (docs/shared-hosting.md). Node 10 must be able to run it: it says to
 * whoever has an older Node than the service needs how to choose another.
 */
'use strict';

var http = require('http');
var path = require('path');

/** Such as ">=20.19". */
var WANTED = require('./package.json').engines.node.replace(/[^0-9.]/g, '');

function isTooOld() {
  var has = process.versions.node.split('.').map(Number);
  var wants = WANTED.split('.').map(Number);
  return has[0] < wants[0] || (has[0] === wants[0] && has[1] < (wants[1] || 0));
}

/** Answers every request with a sentence, in place of the service. */
function refuse(why) {
  var passenger = global.PhusionPassenger;
  process.stderr.write('licensing-gateway cannot start: ' + why + '\n');
  if (passenger) passenger.configure({ autoInstall: false });
  http
    .createServer(function (request, response) {
      response.writeHead(503, {
        'Content-Type': 'text/plain; charset=utf-8',
        'Cache-Control': 'no-store',
        'Retry-After': '60',
        'X-Content-Type-Options': 'nosniff',
      });
      response.end(why + '\n');
    })
    .listen(passenger ? 'passenger' : 3080);
}

function start() {
  if (isTooOld()) {
    refuse(
      'The licence service needs Node.js ' +
        WANTED +
        ' or later, and the panel runs it with ' +
        process.versions.node +
        '. ' +
        'Choose a newer version in the form of this application: "Node.js version" in cPanel (Setup Node.js App) and in ' +
        'Plesk (Node.js), "Node.js Version" in DirectAdmin. Save it, and restart the application.',
    );
    return;
  }
  try {
    require('./dist/src/hosting.js');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    process.stderr.write(error.message + '\n');
    refuse(
      'Files of the licence service are missing beside ' +
        path.basename(__filename) +
        '. Upload the zip again and ' +
        'unpack all of it into this folder.',
    );
  }
}

start();
