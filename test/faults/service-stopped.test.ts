import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../src/settings/config';
import { countsOf, note, unhealthy } from '../support/faults';
import { findLosses, openStand, startLoad, tally, type Stand } from '../support/load';
import { startNginx } from '../support/nginx';
import { freePort, sharedFolder, temporaryFolder } from '../support/processes';
import { startProgram, type ServiceProcess } from '../support/service-process';

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
});

afterAll(() => stand.close());

test('SIGTERM under load: what was sent is answered, and the exit code is 0', async () => {
  const service = await stand.start();
  const load = startLoad(service.url, await stand.newGoods(), { pause: 5 });
  await sleep(2_000);
  const stopping = load.now();
  const code = await service.stop('SIGTERM');
  const stopped = load.now();
  await load.stop();

  expect(code).toBe(0);
  expect(stopped - stopping).toBeLessThan(8_000);
  // New clients are refused after the server closes, and no client in progress is disconnected.
  const refused = load.calls.filter(
    ({ failure, sentAt }) => failure === 'ECONNREFUSED' && sentAt >= stopping - 100,
  );
  expect(tally(unhealthy(load.calls).filter((call) => !refused.includes(call)))).toEqual({});
  expect(load.calls.length - refused.length).toBeGreaterThan(100);
  expect(await findLosses(stand.db, load.book)).toEqual([]);
  note({ ...countsOf(load.calls), stopped_ms: Math.round(stopped - stopping) });
});

describe('deploy/restart-in-turns, for two instances behind nginx', () => {
  let settings: Settings[];
  let admins: string[];
  let instances: ServiceProcess[];
  let restarts: string[];
  /** the stopped instances by number */
  let stopped: number[];
  let enabled: number[];
  let systemd: Server;
  let bin: string;

  /** Simulates systemd for the script, because the tests run without it. */
  const doSystemd = async (line: string): Promise<string> => {
    const [verb, ...rest] = line.split(' ');
    if (verb === 'list-units')
      return instances
        .map((_, i) => i + 1)
        .filter((name) => !stopped.includes(name) || (rest.includes('--all') && enabled.includes(name)))
        .map((name) => `licensing@${name}.service loaded active running x`)
        .join('\n');
    const unit = rest.at(-1)!;
    const i = Number(/^licensing@(\d+)\.service$/.exec(unit)![1]) - 1;
    if (rest.includes('--property=ActiveState')) return stopped.includes(i + 1) ? 'inactive' : 'active';
    if (verb === 'is-enabled') return enabled.includes(i + 1) ? '' : Promise.reject(new Error('disabled'));
    if (verb === 'show') return `NODE_ENV=production LICENSING_ADMIN_LISTEN=${admins[i]!}`;
    restarts.push(unit);
    expect(await instances[i]!.stop('SIGTERM')).toBe(0);
    instances[i] = await stand.start(settings[i]);
    return '';
  };

  beforeAll(async () => {
    const folder = sharedFolder();
    admins = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    settings = admins.map((admin, i) => ({
      LICENSING_LISTEN: `unix:${join(folder, `${i + 1}.sock`)}`,
      LICENSING_ADMIN_LISTEN: admin,
    }));
    instances = await Promise.all(settings.map((own) => stand.start(own)));
    systemd = createServer((asked, answer) => {
      if (asked.url === '/readyz') return void answer.writeHead(404).end();
      doSystemd(decodeURIComponent(asked.url!.slice(1))).then(
        (said) => answer.end(said),
        (error: unknown) => answer.writeHead(500).end(String(error)),
      );
    });
    await new Promise<void>((resolve) => systemd.listen(0, '127.0.0.1', resolve));
    const { port } = systemd.address() as AddressInfo;
    bin = temporaryFolder();
    writeFileSync(
      join(bin, 'systemctl'),
      `#!${process.execPath}
fetch('http://127.0.0.1:${port}/' + encodeURIComponent(process.argv.slice(2).join(' '))).then(async (answer) => {
  process.stdout.write(await answer.text());
  process.exitCode = answer.ok ? 0 : 1;
});
`,
      { mode: 0o755 },
    );
  });

  beforeEach(() => {
    restarts = [];
    stopped = [];
    enabled = [1, 2];
  });

  afterAll(() => {
    systemd.close();
  });

  const restartInTurns = () =>
    startProgram('deploy/restart-in-turns', [], { PATH: `${bin}:${process.env.PATH as string}` }).ended;

  test('no request is refused or cut under load', async () => {
    const nginx = await startNginx({
      upstream: settings.map(({ LICENSING_LISTEN }) => LICENSING_LISTEN as string),
      packagesDir: stand.packagesDir,
    });
    try {
      const load = startLoad(nginx.url, await stand.newGoods(), { pause: 10 });
      await sleep(1_500);
      for (let round = 0; round < 2; round++)
        expect(await restartInTurns()).toMatchObject({ code: 0, stderr: '' });
      await sleep(500);
      await load.stop();

      expect(restarts).toEqual([1, 2, 1, 2].map((name) => `licensing@${name}.service`));
      expect(tally(unhealthy(load.calls))).toEqual({});
      expect(load.calls.length).toBeGreaterThan(100);
      expect(await findLosses(stand.db, load.book)).toEqual([]);
      note(countsOf(load.calls));
    } finally {
      await nginx.stop();
    }
  }, 120_000);

  test('an enabled instance that does not run is started before the others are restarted', async () => {
    stopped = [2];
    const { code, stdout, stderr } = await restartInTurns();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(restarts).toEqual(['licensing@2.service', 'licensing@1.service']);
    expect(stdout).toBe('licensing@2.service is ready\nlicensing@1.service is ready\n');
  });

  test('where no instance runs or is enabled it says so and fails', async () => {
    [stopped, enabled] = [[1, 2], []];
    const { code, stderr } = await restartInTurns();
    expect({ code, restarts }).toEqual({ code: 1, restarts: [] });
    expect(stderr).toMatch(/^No instance runs or is enabled.*: systemctl enable --now licensing@1\n$/);
  });

  test('an instance that is not ready ends it before the next one is restarted', async () => {
    // The server at this address has no /readyz.
    admins[0] = `127.0.0.1:${(systemd.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await restartInTurns();
    expect({ code, stdout, restarts }).toEqual({ code: 1, stdout: '', restarts: ['licensing@1.service'] });
    expect(stderr).toMatch(/licensing@1\.service is not ready, .*: journalctl -u licensing@1\.service/);
  });
});
