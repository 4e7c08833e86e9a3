import type { ChildProcess } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  connects,
  endProcess,
  eventually,
  freePort,
  startProcess,
  temporaryFolder,
} from '../support/processes';
import { operator } from '../support/operator';
import { startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Runs docs/webhooks.md from top to bottom, with the receivers of examples/webhooks. */

const ROOT = join(__dirname, '../..');
const GUIDE = readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8');
const EXAMPLES = join(ROOT, 'examples/webhooks');

let folder: string;
let settings: Record<string, string>;
let service: ServiceProcess;
const receivers: ChildProcess[] = [];
beforeAll(async () => {
  folder = temporaryFolder();
  settings = {
    LICENSING_DATABASE_URL: `sqlite:${folder}/data.sqlite`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    LICENSING_WEBHOOK_NETWORKS: '127.0.0.1',
  };
  await sh('licensing migrate');
  service = await startServiceProcess(settings);
  await sh('licensing product add --id 42 --name Shop');
  await sh('licensing plan add --product 42 --name Pro --activation-type domain --activation-limit 1');
});
afterAll(async () => {
  await service.stop();
  for (const receiver of receivers) await endProcess(receiver);
});

/** Runs a command of the guide. @returns its output */
async function sh(command: string): Promise<string> {
  const [, ...args] = command.split(' ').map((one) => one.replaceAll("'", ''));
  const { code, stdout, stderr } = await operator(settings).run(args);
  expect({ command, code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

const forge = (url: string, signature: string) =>
  fetch(url, {
    method: 'POST',
    body: '{"type":"license.issued"}',
    headers: {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': signature,
    },
  });

describe.each([
  ['receive.php', 'php'],
  ['receive.cjs', 'js'],
])('%s', (name, language) => {
  test('is on the page, accepts the deliveries of the service, and refuses forged ones', async () => {
    const script = readFileSync(join(EXAMPLES, name), 'utf8');
    expect(GUIDE).toContain(`\`\`\`${language}\n${script}\`\`\``);
    expect(script.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
    const site = join(folder, language, 'site');
    mkdirSync(site, { recursive: true });
    copyFileSync(join(EXAMPLES, name), join(site, name));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/${name}`;

    const [, add = '', tryIt = ''] =
      /```sh\n(licensing webhook add [^\n]*)\n(licensing webhook test 1)\n```/.exec(GUIDE) as RegExpExecArray;
    const secret = (await sh(add.replace('https://crm.example/hook', url))).trim();
    expect(secret).toMatch(/^whsec_/);
    const webhooks = JSON.parse(await sh('licensing webhook list --json')) as { id: number; url: string }[];
    const { id } = webhooks.find((one) => one.url === url) as { id: number };
    writeFileSync(join(folder, language, 'webhook-secret.txt'), `${secret}\n`);
    let said = '';
    const receiver =
      language === 'php'
        ? startProcess('php', ['-n', '-S', `127.0.0.1:${port}`, '-t', site])
        : startProcess(process.execPath, [join(site, name)], {
            env: {
              ...process.env,
              NODE_PATH: join(ROOT, 'node_modules'),
              WEBHOOK_SECRET: secret,
              PORT: String(port),
            },
          });
    receivers.push(receiver);
    receiver.stdout!.setEncoding('utf8').on('data', (text: string) => (said += text));
    receiver.stderr!.resume();
    await eventually(() => connects({ port }));

    expect(await sh(tryIt.replace('1', String(id)))).toContain('Delivered: the receiver answered 204.');
    await sh('licensing license issue --plan 1 --customer jo@example.com');
    const log = join(folder, language, 'webhooks.log');
    const noted = () => (language === 'php' ? (existsSync(log) ? readFileSync(log, 'utf8') : '') : said);
    await eventually(() =>
      expect(noted()).toMatch(/^msg_[0-9a-f]{32} webhook\.test\nmsg_[0-9a-f]{32} license\.issued\n$/),
    );
    for (const signature of ['', 'v1,', 'v1,AAAA', 'v1a,AAAA v2,BBBB'])
      expect((await forge(url, signature)).status).toBe(401);
    expect((await fetch(url)).status).toBe(401);
    expect(noted().match(/\n/g)).toHaveLength(2);
  });
});

test('the other commands run', async () => {
  const commands = [...GUIDE.matchAll(/```sh\n([^]*?)```/g)]
    .flatMap(([, block = '']) => block.split('\n'))
    .filter((line) => line.startsWith('licensing ') && !/webhook (add|test)/.test(line));
  expect(commands).toHaveLength(3);
  for (const command of commands) await sh(command);
  const [sent] = JSON.parse(await sh('licensing webhook deliveries 1 --json')) as [{ id: number }];
  expect(await sh(`licensing webhook replay 1 ${sent.id}`)).toContain('Delivered');
});
