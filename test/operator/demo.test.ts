import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { endProcess, eventually, freePort, startProcess, temporaryFolder } from '../support/processes';
import { PROGRAM } from '../support/program';
import { startProgram, type Ended } from '../support/service-process';

/** `npm run demo` in its own folder, as a seller tries it for the first time. */

const ROOT = join(__dirname, '../..');
const USUAL_PORT = 3080;
const folder = temporaryFolder();
const { PATH, HOME } = process.env;
const env = { PATH, HOME, TMPDIR: folder };
const DEMO = join(folder, 'dist/src/demo.js');

beforeAll(() => {
  cpSync(PROGRAM, folder, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});

const run = (line: string, settings: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  startProgram('sh', ['-c', `cd ${folder} && ${line}`], { ...env, ...settings }).ended;

test('the command says what to do when there is no demo yet', async () => {
  const { code, stderr } = await run('npm run -s demo:licensing -- license list');
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('npm run demo') });
});

test.each(['LICENSING_LISTEN', 'LICENSING_ADMIN_LISTEN'])(
  'it ends with 1 if %s is in use',
  async (variable) => {
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    const settings = { LICENSING_LISTEN: '127.0.0.1:0', [variable]: `127.0.0.1:${port}` };
    const { code, stderr } = await run(`node ${DEMO}`, settings);
    other.close();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^The demo cannot start: .*in use/),
    });
  },
);

describe('with its usual port taken by another program', () => {
  const other = createServer();
  let output = '';
  let demo: ReturnType<typeof startProcess>;
  beforeAll(async () => {
    // If another program has the port already, that is just as good.
    await Promise.race([
      once(other.listen(USUAL_PORT, '127.0.0.1'), 'listening'),
      once(other, 'error'),
    ]).catch(() => undefined);
    // The demo must ignore the settings of a real installation.
    demo = startProcess(process.execPath, [DEMO], {
      env: { ...env, LICENSING_DATABASE_URL: 'mysql://127.0.0.1:1/shop' },
    });
    demo.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
    await eventually(() => expect(output).toMatch(/demo:licensing -- license show/));
  });
  afterAll(async () => {
    await endProcess(demo);
    other.close();
  });

  test('every line that it prints can be pasted twice, and its output ends with a line end', async () => {
    expect(output).toMatch(/answers at http:\/\/127\.0\.0\.1:\d+\//);
    expect(output).not.toContain(`:${USUAL_PORT}/`);
    const lines = [...output.matchAll(/^ {2}((?:curl|npm) .*)$/gm)].map(([, line]) => line as string);
    const answers = [
      /^\{"data":\{"status":"active"/,
      /^\{"data":\{"valid":true.*"identifier_activated":true/,
      /^\{"data":\{"update_available":true/,
      /^HTTP 200, 885 bytes in /,
      /^\{"data":\{"status":"deactivated"/,
      /00000005 +expired/,
      /^[0-9A-F-]{35} /,
      /^License has expired\n$/,
      /^Licence 5 .* expired on 2026-01-01.*refused.*\n +-> licensing license renew 5/,
      /^\{"data":\{"id":\d+,.*"reference":"order-77".*"license_key":"[0-9A-F-]{35}"/,
      /^\{"data":\{"id":\d+,"shop":"demo","order":"1001",.*"action":"issued",.*"license_key":"[0-9A-F-]{35}"/,
      /^HTTP 200, 887 bytes in .*gallery/,
      /^HTTP 200, 872 bytes in .*forms/,
      /^\{"data":\{"status":"active".*"activation_limit":1,"activations_used":1.*"bakery\.example\.com"/,
      /^\{"data":\{"status":"active".*"activation_limit":1,"activations_used":1.*"staging\.bakery\.example\.com"/,
      /^\{"error":\{"code":"ACTIVATION_LIMIT_REACHED".*"activation_limit":1,"activations_used":1/,
      /slots +1 of 25[^]* Bakery Smith +1\/1 [^]*\nbakery\.\S+ .* one +11\nstaging\.\S+ .* free +11\n$/,
    ];
    expect(lines).toHaveLength(answers.length);
    for (const turn of ['first', 'second'])
      for (const [i, line] of lines.entries()) {
        // Reading a second time shows nothing new, and starting npm and Node takes time.
        if (turn === 'second' && /licensing -- (?!license issue)/.test(line)) continue;
        // The other tests start the command with npm.
        const own = line.replace('npm run -s demo:licensing --', `node ${DEMO} licensing`);
        const { code, stdout } = await run(own, { LICENSING_DATABASE_URL: 'mysql://127.0.0.1:1/shop' });
        expect({ turn, line, code, stdout }).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(answers[i] as RegExp),
        });
        expect(stdout).toMatch(/\n$/);
      }
    // An order that was posted twice gets one mail, with both keys.
    const mails = join(folder, 'var/demo/mails');
    await eventually(() => {
      const ofOrder = readdirSync(mails)
        .map((name) => readFileSync(join(mails, name), 'utf8').replace(/=\r?\n/g, ''))
        .filter((mail) => mail.includes('To: max@example.com'));
      expect(ofOrder).toHaveLength(1);
      // Each key is once in the text and once in the HTML.
      expect(ofOrder[0]?.match(/\b[0-9A-F]{8}(-[0-9A-F]{8}){3}\b/g)).toHaveLength(4);
    });
  });

  test("the command's own exit code comes through", async () => {
    expect(await run('npm run -s demo:licensing -- license show 999')).toMatchObject({ code: 1 });
  });

  test('Ctrl-C ends it', async () => {
    await endProcess(demo, 'SIGINT');
    expect(demo.exitCode).toBe(0);
    expect(output).toContain('Stopped.');
  });
});
