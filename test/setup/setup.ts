import { join } from 'node:path';
import { statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bootMachine, giveSite, listing, makeTree, type Machine } from '../support/machine';
import { temporaryFolder } from '../support/processes';

/** Tests `licensing setup` on a Debian with systemd, from nothing to the first licence and back. */

const TREE = '/opt/licensing-gateway-0.1.0';
const LINE = 'setup --joomla-root /var/www/shop --url https://shop.example --ca /etc/ssl/shop/ca.pem';
const API = 'https://shop.example/api/index.php/v1/licensing';
/** The folders that setup may change. */
const FOLDERS = ['/etc', '/opt', '/usr/local', '/var/lib/licensing-gateway', '/var/www'];

let machine: Machine;
let siteFile: string;
beforeAll(async () => {
  machine = await bootMachine('setup');
  await giveSite(machine);
  siteFile = machine.read('/etc/nginx/sites-available/shop');
  machine.put(process.execPath, '/root/node');
  machine.put(makeTree(join(temporaryFolder(), 'tree'), '0.1.0'), TREE);
  await machine.well('mkdir -p /var/lib/licensing-gateway');
}, 600_000);
afterAll(() => machine.stop());

/** Sends a request with the machine's own Node, because its base system has no curl. */
async function get(url: string): Promise<{ status: number; body: string }> {
  const script = `require('https').get(process.argv[1], { rejectUnauthorized: false }, (r) => { let t = ''; r.on('data', (c) => (t += c)); r.on('end', () => console.log(JSON.stringify({ status: r.statusCode, body: t }))); })`;
  const text = await machine.well(`/root/node -e "${script.replace(/[$"]/g, '\\$&')}" ${url}`);
  return JSON.parse(text) as { status: number; body: string };
}

test('explains what it cannot do, and changes nothing', async () => {
  const before = listing(machine, ...FOLDERS);
  const refused = async (line: string, words: RegExp) => {
    const { code, text } = await machine.sh(line);
    expect({ line, code, text }).toEqual({ line, code: 1, text: expect.stringMatching(words) });
  };
  const command = `${TREE}/bin/licensing`;
  await refused(`su -s /bin/sh nobody -c '${command} ${LINE}'`, /Run this as root/);
  await refused(
    `${command} setup --joomla-root /nowhere --url https://shop.example`,
    /There is no \/nowhere\/configuration\.php/,
  );
  await refused(
    `${command} ${LINE.replace('shop.example ', 'other.example ')}`,
    /no server \{\} for other\.example.*they name shop\.example/s,
  );
  await machine.well(
    'chown root:root /var/www/shop/configuration.php && chmod 600 /var/www/shop/configuration.php',
  );
  await refused(
    `${command} ${LINE}`,
    /cannot read \/var\/www\/shop\/configuration\.php.*chgrp www-data .*chmod 640/s,
  );
  await machine.well(
    'chown root:web /var/www/shop/configuration.php && chmod 640 /var/www/shop/configuration.php',
  );
  const unit = '/etc/systemd/system/licensing@.service';
  await machine.well(
    `sed s/^User=.*/User=www-data/ ${TREE}/deploy/licensing@.service > ${unit} && systemctl daemon-reload`,
  );
  await refused(`${command} ${LINE}`, /runs as the user www-data.*Nothing was changed/s);
  await machine.well(`rm ${unit} && systemctl daemon-reload`);
  await machine.well('systemctl stop nginx');
  await refused(`${command} ${LINE}`, /Neither nginx nor Apache runs/);
  await machine.well('systemctl start nginx');
  expect((await machine.sh(`${command} setup --url https://shop.example`)).code).toBe(2);
  await refused(`${command} setup --undo`, /nothing to undo/);
  expect(listing(machine, ...FOLDERS)).toEqual(before);
});

test('lists with --dry-run what it would change, and changes nothing', async () => {
  const before = listing(machine, ...FOLDERS);
  const { code, stdout } = await machine.sh(`${TREE}/bin/licensing ${LINE} --dry-run`);
  expect(code).toBe(0);
  for (const words of [
    `the link /opt/licensing-gateway, to ${TREE}`,
    'the system user licensing',
    'LICENSING_KEY_SECRET',
    'licensing joins the group web',
    '/etc/systemd/system/licensing@.service',
    'licensing@1, licensing@2: start',
    'sites-available/shop: the line "include /etc/nginx/licensing/licensing.conf;"',
    'Nothing was changed.',
  ])
    expect(stdout).toContain(words);
  expect(listing(machine, ...FOLDERS)).toEqual(before);
  expect(machine.read('/etc/passwd')).not.toContain('licensing');
});

test('leads from nothing to the first licence in five commands and a minute', async () => {
  const commands = [
    `${TREE}/bin/licensing ${LINE}`,
    'sudo -u licensing licensing product add --name Example --id 42 --element pkg_example',
    'sudo -u licensing licensing plan add --product 42 --name Single --activation-type domain --activation-limit 1 --duration 1y',
    'sudo -u licensing licensing license issue --plan 1 --customer you@shop.example',
  ];
  let ms = 0;
  for (const line of commands) {
    const ended = await machine.sh(line);
    expect({ line, code: ended.code, text: ended.code === 0 ? '' : ended.text }).toEqual({
      line,
      code: 0,
      text: '',
    });
    ms += ended.ms;
  }
  console.log(`from nothing to the first licence: ${Math.round(ms / 100) / 10} s`);
  expect(ms).toBeLessThan(60_000);
  expect(await get(`${API}/keys.json`)).toMatchObject({ status: 200 });
  expect(await get('https://shop.example/page')).toEqual({ status: 200, body: 'the site\n' });
  expect((await machine.sh('sudo -u licensing licensing health')).code).toBe(0);
});

test('makes what docs/production.md describes by hand', async () => {
  // `licensing nginx` writes the same files.
  await machine.well('licensing nginx --server-name shop.example --instances 2 --out /root/nginx');
  for (const name of ['upstream.conf', 'licensing.conf'])
    expect(machine.read(`/etc/nginx/licensing/${name}`)).toBe(
      machine.read(`/root/nginx/${name}`).replaceAll('/root/nginx', '/etc/nginx/licensing'),
    );
  expect(machine.read('/etc/systemd/system/licensing@.service')).toBe(
    machine.read(`${TREE}/deploy/licensing@.service`),
  );
  const rights = await machine.well(
    "stat -L -c '%U:%G %a %n' /opt/licensing-gateway/.env /var/lib/licensing /var/lib/licensing/packages /var/log/nginx/licensing.log",
  );
  expect(rights.trim().split('\n')).toEqual([
    'licensing:licensing 600 /opt/licensing-gateway/.env',
    'licensing:www-data 750 /var/lib/licensing',
    'licensing:www-data 750 /var/lib/licensing/packages',
    'www-data:adm 640 /var/log/nginx/licensing.log',
  ]);
  const settings = machine
    .read('/etc/licensing-gateway.env')
    .split('\n')
    .map((line) => line.replace(/^(LICENSING_KEY_SECRET=).*/, '$1'));
  expect(settings.filter(Boolean).sort()).toEqual([
    'LICENSING_ACCEL_LOCATION=/_licensing_packages/',
    'LICENSING_JOOMLA_ROOT=/var/www/shop',
    'LICENSING_KEY_SECRET=',
    'LICENSING_PACKAGES_DIR=/var/lib/licensing/packages',
    'LICENSING_PUBLIC_URL=https://shop.example',
    'LICENSING_XML_DIR=/var/lib/licensing/xml',
  ]);
});

const startsOf = () =>
  machine.well('systemctl show --property=ExecMainStartTimestampMonotonic licensing@1 licensing@2');

test('changes nothing when it is run again, and says so', async () => {
  const [before, starts] = [listing(machine, ...FOLDERS), await startsOf()];
  const { code, stdout } = await machine.sh(`licensing ${LINE}`);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('Nothing was changed: everything is already set up.'),
  });
  expect(listing(machine, ...FOLDERS)).toEqual(before);
  expect(await startsOf()).toBe(starts);
});

test('of two at once, one does its work, and the other names the process and its start', async () => {
  const ended = await Promise.all([machine.sh(`licensing ${LINE}`), machine.sh(`licensing ${LINE}`)]);
  const [first, second] = ended.sort((one, other) => one.code - other.code);
  expect({ ...first, code: 0 }).toEqual(first);
  expect({ code: second.code, text: second.text }).toEqual({
    code: 1,
    text: expect.stringMatching(
      /Nothing was changed, because another run .*: licensing setup \(process \d+\) since \d{4}-\d\d-\d\d .* UTC/,
    ),
  });
});

test('settings and changes by hand stay', async () => {
  await machine.well(
    "echo LICENSING_RATE_LIMIT=120 >> /etc/licensing-gateway.env && sed -i 's|^LICENSING_PUBLIC_URL=.*|LICENSING_PUBLIC_URL=https://shop.example/|' /etc/licensing-gateway.env",
  );
  await machine.well('echo "# mine" >> /etc/nginx/licensing/licensing.conf');
  const settings = machine.read('/etc/licensing-gateway.env');
  const { code } = await machine.sh(`licensing ${LINE} --instances 3`);
  expect(code).toBe(0);
  expect(machine.read('/etc/licensing-gateway.env')).toBe(settings);
  expect(machine.read('/etc/nginx/licensing/licensing.conf')).toMatch(/# mine\n$/);
  expect(machine.read('/etc/nginx/licensing/upstream.conf').match(/^ +server unix:/gm)).toHaveLength(3);
  await machine.well('systemctl is-active licensing@3');
  await machine.well(
    `sed -i '/# mine/d' /etc/nginx/licensing/licensing.conf && rm -f /etc/nginx/licensing/licensing.conf.new && licensing ${LINE} --instances 2`,
  );
  expect((await machine.sh('systemctl is-enabled licensing@3')).code).not.toBe(0);
});

test.each(['KILL', 'TERM', 'HUP'])(
  'an instance that gets SIG%s from outside is restarted',
  async (signal) => {
    const pid = await machine.well('systemctl show --property=MainPID --value licensing@1');
    machine.write(
      '/root/back.js',
      `const http = require('http'), begun = Date.now(); let away = false;
process.kill(${pid.trim()}, 'SIG${signal}');
const again = () => { away = true; setTimeout(ask, 5); };
const ask = () => http.get('http://127.0.0.1:3081/readyz', { agent: false }, (r) => { r.resume(); r.on('end', () => away && r.statusCode === 200 ? console.log(Date.now() - begun) : setTimeout(ask, 5)); }).on('error', again);
ask();`,
    );
    const ms = Number(await machine.well(`timeout 30 ${TREE}/node /root/back.js`));
    console.log(`ready after SIG${signal}: ${ms} ms`);
    // A busy machine starts Node slowly.
    expect(ms).toBeLessThan(10_000);
  },
);

test('the last line of its output makes a copy', async () => {
  const { stdout } = await machine.sh(`licensing ${LINE}`);
  const line = /^ {2}(install -d .*)$/m.exec(stdout)![1]!;
  await machine.well(line);
  expect(machine.read('/root/licensing-copy/licensing.sql')).toMatch(
    /INSERT INTO `jos_licensing_licenses`[^]*Dump completed/,
  );
  expect(machine.read('/root/licensing-copy/licensing.env')).toContain('LICENSING_KEY_SECRET=');
  expect(statSync(join(machine.folder, 'root/licensing-copy')).mode & 0o777).toBe(0o700);
});

test('undoes its changes and keeps the data, which the next setup finds', async () => {
  const { code, stdout } = await machine.sh('licensing setup --undo');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('These stay: the tables') });
  expect(machine.read('/etc/nginx/sites-available/shop')).toBe(siteFile);
  expect(listing(machine, '/etc').filter((path) => path.includes('licensing'))).toEqual([
    '/etc/licensing-gateway.env',
  ]);
  expect(listing(machine, '/usr/local')).not.toContain('/usr/local/bin/licensing');
  expect((await machine.sh("systemctl list-units --no-legend 'licensing@*'")).stdout).toBe('');
  expect((await get(`${API}/keys.json`)).status).toBe(404);
  expect(await machine.well('id -nG licensing')).toBe('licensing\n');

  await machine.well(`${TREE}/bin/licensing ${LINE}`);
  expect(await machine.well('sudo -u licensing licensing license list')).toContain('you@shop.example');
  await machine.well('sudo -u licensing licensing license reveal 1');
  await machine.well('licensing setup --undo');
}, 180_000);

test('sets up behind Apache, for a site below /home, from a folder that no other user may read', async () => {
  await machine.well(`systemctl disable --now --quiet nginx
mkdir -p /home/shop && chmod 711 /home/shop && cp -a /var/www/shop /home/shop/www && chgrp -R www-data /home/shop/www
mv ${TREE} /root/tree && rm -rf /etc/licensing-gateway.env`);
  await machine.well(
    `(echo 'SET FOREIGN_KEY_CHECKS=0;'; mariadb -N -e "SHOW TABLES LIKE 'jos\\_licensing\\_%'" shop | sed 's/.*/DROP TABLE &;/') | mariadb shop`,
  );
  machine.write(
    '/etc/apache2/sites-available/shop.conf',
    `<VirtualHost *:80>
    ServerName shop.example
    Redirect permanent / https://shop.example/
</VirtualHost>
<VirtualHost *:443>
    ServerName shop.example
    DocumentRoot /home/shop/www
    <Directory /home/shop/www>
        Require all granted
    </Directory>
    SSLEngine on
    SSLCertificateFile /etc/ssl/shop/cert.pem
    SSLCertificateKeyFile /etc/ssl/shop/key.pem
</VirtualHost>
`,
  );
  await machine.well('a2enmod --quiet ssl && a2ensite --quiet shop && systemctl restart apache2');
  const before = machine.read('/etc/apache2/sites-available/shop.conf');
  const line = LINE.replace('/var/www/shop', '/home/shop/www');
  expect(await machine.well(`/root/tree/bin/licensing ${line} --instances 1`)).toContain(
    'ProtectHome=read-only',
  );
  expect(machine.read('/etc/apache2/sites-available/shop.conf')).toContain(
    '<VirtualHost *:443>\n    Include /etc/apache2/licensing.conf\n',
  );
  expect((await get(`${API}/keys.json`)).body).toMatch(/^\{"keys":\[\{/);
  expect(await get('https://shop.example/page')).toEqual({ status: 200, body: 'the site\n' });
  expect((await machine.sh(`licensing ${line} --instances 1`)).stdout).toContain('Nothing was changed');
  // The file belongs to the web server's group. The unit has that group, but a command does not.
  await machine.well('sudo -u licensing licensing product list');
  await machine.well('licensing setup --undo');
  expect(machine.read('/etc/apache2/sites-available/shop.conf')).toBe(before);
  expect((await get(`${API}/keys.json`)).status).toBe(404);
}, 180_000);
