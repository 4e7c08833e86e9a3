import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bootMachine, giveSite, makeArchive, makeTree, type Ended, type Machine } from '../support/machine';
import { eventually, temporaryFolder } from '../support/processes';

/** Tests `licensing upgrade` on a Debian with systemd: under load, with other tables, and back. */

const LINE = 'setup --joomla-root /var/www/shop --url https://shop.example --ca /etc/ssl/shop/ca.pem';

let machine: Machine;
let key: string;
beforeAll(async () => {
  machine = await bootMachine('upgrade');
  await giveSite(machine);
  const folder = temporaryFolder();
  machine.put(makeTree(join(folder, 'tree'), '0.1.0'), '/opt/licensing-gateway-0.1.0');
  for (const archive of [makeArchive(folder, '0.1.1'), makeArchive(folder, '0.2.0', true)])
    machine.put(archive, `/root/${basename(archive).replace('-linux-x64', '')}`);
  await machine.well(`/opt/licensing-gateway-0.1.0/bin/licensing ${LINE}`);
  await machine.well('sudo -u licensing licensing product add --name Example --id 42');
  await machine.well(
    'sudo -u licensing licensing plan add --product 42 --name One --activation-type domain --activation-limit 1 --duration 1y',
  );
  key = /^\S+/.exec(
    (await machine.sh('sudo -u licensing licensing license issue --plan 1 --customer you@shop.example'))
      .stdout,
  )![0];
  machine.write('/root/load.js', LOAD);
  // root's own settings name another database user, which the upgrade must not use.
  machine.write('/root/.my.cnf', '[mariadb-dump]\nuser=nobody\npassword=wrong\n');
}, 600_000);
afterAll(() => machine.stop());

/** Validates with four connections at a time until a file exists, and prints how many calls had each outcome. */
const LOAD = `const https = require('https'); const fs = require('fs');
const [, , key, stop] = process.argv; const seen = {}; const body = 'license_key=' + key;
const address = () => [127, 1 + Math.random() * 200, Math.random() * 250, 1 + Math.random() * 250].map(Math.floor).join('.');
const one = () => new Promise((done) => {
  const count = (what) => { seen[what] = (seen[what] || 0) + 1; done(); };
  https.request({ host: '127.0.0.1', method: 'POST', path: '/api/index.php/v1/licensing/licenses/validate', agent: false, rejectUnauthorized: false, localAddress: address(),
    headers: { Host: 'shop.example', 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': body.length } },
    (r) => { r.resume(); r.on('end', () => count(r.statusCode)); }).on('error', (e) => count(e.code)).end(body);
});
Promise.all([1, 2, 3, 4].map(async () => { while (!fs.existsSync(stop)) { await one(); await new Promise((r) => setTimeout(r, 10)); } })).then(() => console.log(JSON.stringify(seen)));
`;

async function underLoad(line: string): Promise<{ text: string; seen: Record<string, number> }> {
  await machine.well('rm -f /root/stop');
  const load = machine.well(`/opt/licensing-gateway/node /root/load.js ${key} /root/stop`);
  const { code, text } = await machine.sh(line);
  await machine.well('touch /root/stop');
  const seen = JSON.parse(await load) as Record<string, number>;
  expect({ code, text: code === 0 ? '' : text }).toEqual({ code: 0, text: '' });
  console.log(`${line}: ${JSON.stringify(seen)}`);
  return { text, seen };
}

const version = async () => (await machine.well('licensing --version')).trim();
const tables = () => machine.well('mariadb -N -e "SHOW TABLES LIKE \'jos\\_licensing\\_%\'" shop');

test('another version without other tables: no request is refused, and none on the way back', async () => {
  const { seen } = await underLoad('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  expect(Object.keys(seen)).toEqual(['200']);
  expect(await version()).toBe('0.1.1');
  const back = await underLoad('licensing upgrade --back');
  expect(Object.keys(back.seen)).toEqual(['200']);
  expect(await version()).toBe('0.1.0');
}, 180_000);

test('another fault of the earlier version is no reason to lose what was written since', async () => {
  await machine.well('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  await machine.well('sudo -u licensing licensing license issue --plan 1 --customer since@shop.example');
  const tree = '/opt/licensing-gateway-0.1.0';
  await machine.well(`mv ${tree}/bin/licensing ${tree}/bin/away`);
  const { code, text } = await machine.sh('licensing upgrade --back');
  expect({ code, text }).toEqual({
    code: 1,
    text: expect.stringMatching(/could use the tables\. Nothing was changed/),
  });
  // A way back that ended midway leaves stopped instances. The next one starts them.
  await machine.well(`mv ${tree}/bin/away ${tree}/bin/licensing && systemctl stop licensing@1 licensing@2`);
  await machine.well('licensing upgrade --back');
  await machine.well('systemctl is-active licensing@1 licensing@2');
  expect(await version()).toBe('0.1.0');
  expect(await machine.well('sudo -u licensing licensing license list')).toContain('since@shop.example');
}, 180_000);

test('a version with another migration: no request is refused, and nginx’s file follows', async () => {
  const { seen, text } = await underLoad('licensing upgrade /root/licensing-gateway-0.2.0.tar.gz');
  expect(Object.keys(seen)).toEqual(['200']);
  expect(text).toContain('The tables are up to date: 999_notes.');
  expect(machine.read('/etc/nginx/licensing/licensing.conf')).toMatch(/^# the next version\n/);
  expect(await tables()).toContain('jos_licensing_notes');
}, 180_000);

test('the way back to the tables of the backup says what is lost, leaves no newer table, and keeps the settings', async () => {
  await machine.well('sudo -u licensing licensing license issue --plan 1 --customer lost@shop.example');
  await machine.well('echo LICENSING_RATE_LIMIT=90 >> /opt/licensing-gateway/.env');
  // Newer backups of failed upgrades must not displace the backup that is needed.
  await machine.well(
    'cd /var/lib/licensing-gateway/backups && for number in 1 2 3 4 5; do touch $(date -u -d "1 second ago" +%Y%m%dT%H%M%SZ)-before-0.3.$number.sql; done',
  );
  const { code, text } = await machine.sh('licensing upgrade --back');
  expect({ code, text }).toEqual({
    code: 0,
    text: expect.stringMatching(/Written since the upgrade, and lost: 1 licence, 0 orders/),
  });
  expect(await version()).toBe('0.1.0');
  expect(await tables()).not.toContain('notes');
  const list = await machine.well('sudo -u licensing licensing license list');
  expect(list).toContain('you@shop.example');
  expect(list).not.toContain('lost@shop.example');
  expect(machine.read('/etc/licensing-gateway.env')).toContain('LICENSING_RATE_LIMIT=90');
  expect(machine.read('/etc/nginx/licensing/licensing.conf')).not.toContain('the next version');
  // The lost data are still in a file, and the tables of the newer version can be made again.
  expect(text).toMatch(/Data from after the upgrade are now only in \S+after-0\.2\.0\.sql/);
  await machine.well('licensing upgrade /root/licensing-gateway-0.2.0.tar.gz');
  await machine.well('licensing upgrade --back');
}, 180_000);

/** Starts a command. Returns its process, which the lock names, and its result. */
async function begin(line: string): Promise<{ pid: string; ended: Promise<Ended> }> {
  await machine.well('rm -f /run/licensing-gateway.lock');
  const ended = machine.sh(line);
  const pid = await eventually(async () => {
    const [, found] = /process (\d+)/.exec(await machine.well('cat /run/licensing-gateway.lock')) ?? [];
    if (found === undefined) throw new Error('It has not begun yet.');
    return found;
  });
  return { pid, ended };
}

test('a closed terminal does not end it, and Ctrl-C ends it only before a change', async () => {
  const left = await begin('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  const beside = await machine.sh('licensing upgrade --back');
  expect({ code: beside.code, text: beside.text }).toEqual({
    code: 1,
    text: expect.stringContaining(`licensing upgrade (process ${left.pid}) since `),
  });
  await machine.well(`kill -HUP ${left.pid}`);
  const ended = await left.ended;
  expect({ code: ended.code, text: ended.code === 0 ? '' : ended.text }).toEqual({ code: 0, text: '' });
  expect(await version()).toBe('0.1.1');
  await machine.well('licensing upgrade --back');

  const before = await machine.well('ls -A /opt');
  const stopped = await begin('licensing upgrade /root/licensing-gateway-0.2.0.tar.gz');
  await machine.well(`kill -INT ${stopped.pid}`);
  const { code, text } = await stopped.ended;
  expect({ code, text }).toEqual({ code: 1, text: expect.stringMatching(/Stopped\. Nothing was changed/) });
  expect(await machine.well('ls -A /opt')).toBe(before);
  expect(await tables()).not.toContain('notes');
}, 180_000);

/** Kills an upgrade after it has changed the tables, and nothing else. */
async function cutOff(): Promise<void> {
  const { pid, ended } = await begin('licensing upgrade /root/slow');
  await eventually(async () => expect(await tables()).toContain('notes'), 60_000);
  await machine.well(`kill -KILL ${pid} $(cat /run/slow.pid)`);
  expect((await ended).code).not.toBe(0);
  expect(await version()).toBe('0.1.0');
}

test('an upgrade that was killed while it changed the tables can be undone, or repeated and then undone', async () => {
  await machine.well(`mkdir /root/slow && tar -C /root/slow --strip-components=1 -xzf /root/licensing-gateway-0.2.0.tar.gz
mv /root/slow/bin/licensing /root/slow/bin/quick`);
  machine.write(
    '/root/slow/bin/licensing',
    `#!/bin/sh
"$(dirname "$(readlink -f "$0")")/quick" "$@" || exit
[ "$*" != migrate ] || { echo $$ > /run/slow.pid; exec sleep 3600; }
`,
  );
  await machine.well('chmod 755 /root/slow/bin/licensing && install -m 666 /dev/null /run/slow.pid');
  const before = await machine.well('ls -A /opt');
  await cutOff();
  const back = await machine.sh('licensing upgrade --back');
  expect({ code: back.code, text: back.text }).toEqual({
    code: 0,
    text: expect.stringMatching(
      /Version 0\.1\.0 runs with its former tables[^]*was written since the upgrade\./,
    ),
  });
  expect(await tables()).not.toContain('notes');
  expect(await machine.well('ls -A /opt')).toBe(before);

  await cutOff();
  const again = await machine.well('licensing upgrade /root/licensing-gateway-0.2.0.tar.gz');
  expect(again).toContain('An upgrade to 0.2.0 was interrupted');
  expect(await version()).toBe('0.2.0');
  await machine.well('licensing upgrade --back');
  expect(await tables()).not.toContain('notes');
  expect(await machine.well('ls -A /opt')).toBe(before);
  await machine.well('systemctl is-active licensing@1 licensing@2');
}, 300_000);

test('a way back that ends while it restores the backup is finished by the next one', async () => {
  const before = await tables();
  const listed = () => machine.well('sudo -u licensing licensing license list');
  const licenses = await listed();
  await machine.well('licensing upgrade /root/licensing-gateway-0.2.0.tar.gz');
  await machine.well('sudo -u licensing licensing license issue --plan 1 --customer since@two.example');
  // This restores the list of migrations, but not the tables of orders and the tables after them.
  machine.write(
    '/usr/local/bin/mariadb',
    `#!/bin/sh
[ "$1" != --version ] || exec /usr/bin/mariadb --version
sed '/Table structure for table .jos_licensing_order/,$d' | /usr/bin/mariadb "$@"
exit 1
`,
  );
  await machine.well('chmod 755 /usr/local/bin/mariadb');
  const cut = await machine.sh('licensing upgrade --back');
  expect({ code: cut.code, text: cut.text }).toEqual({
    code: 1,
    text: expect.stringMatching(
      /was not read to its end.*\nThe service is stopped\. Fix this, and run it again/,
    ),
  });
  await machine.well('rm /usr/local/bin/mariadb');
  const left = await tables();
  expect(left).toContain('jos_licensing_migrations');
  expect(left).not.toContain('jos_licensing_orders');

  const other = await machine.sh('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  expect({ code: other.code, text: other.text }).toEqual({
    code: 1,
    text: expect.stringMatching(
      /was interrupted.*Nothing was changed\. Finish it first: licensing upgrade --back/,
    ),
  });
  const back = await machine.well('licensing upgrade --back');
  const [, kept] = /Data from after the upgrade are now only in (\S+after-0\.2\.0\.sql)/.exec(back) ?? [];
  expect(await machine.well(`cat ${kept}`)).toContain('since@two.example');
  expect(await version()).toBe('0.1.0');
  expect(await tables()).toBe(before);
  expect(await listed()).toBe(licenses);
  await machine.well('systemctl is-active licensing@1 licensing@2');
  expect((await machine.sh('licensing upgrade --back')).text).toContain('There is no version to go back to');
}, 180_000);

test('the same version number is accepted again, and two versions are kept', async () => {
  await machine.well('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  await machine.well('licensing upgrade /root/licensing-gateway-0.1.1.tar.gz');
  expect(await version()).toBe('0.1.1');
  const trees = (await machine.well('ls /opt')).trim().split('\n');
  expect(trees).toEqual(['licensing-gateway', 'licensing-gateway-0.1.1', 'licensing-gateway-0.1.1.2']);
}, 180_000);

test.each([
  ['/root/nothing.tar.gz', /There is no \/root\/nothing/],
  ['/etc', /does not contain a built version/],
  ['/root/load.js', /cannot be unpacked/],
  ['/root/some.deb', /was not installed as a package/],
])('%s is refused with a reason, and nothing is left', async (given, words) => {
  await machine.well('touch /root/some.deb');
  const before = await machine.well('ls -a /opt');
  const { code, text } = await machine.sh(`licensing upgrade ${given}`);
  expect({ code, text }).toEqual({ code: 1, text: expect.stringMatching(words) });
  expect(await machine.well('ls -a /opt')).toBe(before);
});

test('a checkout becomes a tree next to the others at its first upgrade', async () => {
  await machine.well(
    'tree=$(readlink /opt/licensing-gateway) && rm /opt/licensing-gateway && mv $tree /opt/licensing-gateway && rm /opt/licensing-gateway/.env && mv /etc/licensing-gateway.env /opt/licensing-gateway/.env && systemctl restart licensing@1 licensing@2 && for port in 3081 3082; do until LICENSING_ADMIN_LISTEN=127.0.0.1:$port licensing health; do sleep 0.2; done; done',
  );
  const { seen } = await underLoad(
    '/opt/licensing-gateway/bin/licensing upgrade /root/licensing-gateway-0.2.0.tar.gz --no-backup',
  );
  expect(Object.keys(seen)).toEqual(['200']);
  const { code, text } = await machine.sh('licensing upgrade --back');
  expect({ code, text }).toEqual({
    code: 1,
    text: expect.stringMatching(/no backup from before the upgrade \(--no-backup\).*Nothing was changed/s),
  });
  expect(await version()).toBe('0.2.0');
  // The settings are now outside the trees.
  expect(await machine.well('readlink /opt/licensing-gateway/.env')).toBe('/etc/licensing-gateway.env\n');
  expect(await machine.well('stat -c %U:%a /etc/licensing-gateway.env')).toBe('licensing:600\n');
}, 180_000);
