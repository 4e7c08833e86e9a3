import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { eventually, sharedFolder } from '../support/processes';
import { processEnvironment } from '../support/service-process';

/** Runs the commands of docs/cluster.md that try a cluster on one machine. */

const ROOT = join(__dirname, '../..');
const [, commands = ''] =
  /### Try it on one machine\n[^]*?```sh\n([^]*?)```/.exec(
    readFileSync(join(ROOT, 'docs/cluster.md'), 'utf8'),
  ) ?? [];
const folder = sharedFolder();
const nodes = join(folder, 'cluster');

const pids = () => spawnSync('sh', ['-c', `cat ${nodes}/node?/pid`], { encoding: 'utf8' }).stdout.split('\n');

afterAll(async () => {
  for (const pid of pids().filter(Boolean)) process.kill(Number(pid), 'SIGTERM');
  await eventually(() => expect(pids().filter(Boolean)).toEqual([]), 60_000);
});

test('a node is killed and started again, and still has the product that was stored', () => {
  writeFileSync(join(folder, 'licensing'), `#!/bin/sh\nexec node ${ROOT}/dist/src/cli.js "$@"\n`, {
    mode: 0o755,
  });
  const { stdout, stderr } = spawnSync(
    'sh',
    [
      '-c',
      commands
        .replaceAll('/opt/licensing-gateway', ROOT)
        .replaceAll('/tmp/cluster', nodes)
        .replaceAll(/127\.0\.0\.1:33/g, '127.0.0.1:36'),
    ],
    {
      encoding: 'utf8',
      env: {
        ...processEnvironment({ LICENSING_PUBLIC_URL: 'https://shop.example' }),
        PATH: `${folder}:${process.env.PATH}:/usr/sbin`,
        TRY_PORTS: '36',
      },
    },
  );
  // The doctor misses the packages and nginx, which this machine does not have.
  expect(stderr).toMatch(/^(?:error: The doctor found .*\n)?$/);
  expect(stdout).toMatch(
    /Node 3 runs.*Product 1 is added.*1 +Example.*:3611 cannot be used.*:3612 is in use.*cluster of 2 nodes.*Node 1 runs/s,
  );
}, 180_000);
