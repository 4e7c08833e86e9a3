import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows, startTestService, type TestService } from '../support/service';
import { startUpstream } from '../support/web-server';

/** Tests the table of codes in docs/api-errors.md, and runs the PHP program of docs/license-check.md as a customer's site does. */

const ROOT = join(__dirname, '../..');
const guide = (name: string) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8');

test('the table names every code, with the status it is sent with', () => {
  const answers = readFileSync(join(ROOT, 'src/http/answers.ts'), 'utf8');
  const codes = [...answers.matchAll(/^ {2}([A-Z_]+): (\d+),/gm)];
  const documented = [...guide('api-errors').matchAll(/^\| `([A-Z_]+)` +\| (\d+)/gm)].map(
    ([, code, status]) => [code, status],
  );
  expect(codes.length).toBeGreaterThan(10);
  expect(documented.sort()).toEqual(codes.map(([, code, status]) => [code, status]).sort());
});

describe('the PHP program', () => {
  const folder = temporaryFolder();
  const kept = join(folder, 'kept.json');
  let service: TestService;
  let key: string;

  beforeAll(async () => {
    const [, program = ''] = /```php\n([^]*?)```/.exec(guide('license-check')) ?? [];
    writeFileSync(
      join(folder, 'licence.php'),
      `${program}\necho json_encode($argv[1](...array_slice($argv, 2)));\n`,
    );
    service = await startTestService({ LICENSING_RATE_LIMIT: '7' });
    ({ key } = await giveLicense(service.db, await givePlan(service.db, { limit: 1 })));
  });

  afterAll(() => service.stop());

  async function call(
    name: 'enterLicence' | 'licenceIsValid',
    { api = `${service.url}${PREFIX}`, licence = key, site = 'https://www.example.com/shop' } = {},
    state?: { valid_at: number; ask_after: number },
  ): Promise<unknown> {
    if (state) writeFileSync(kept, JSON.stringify(state));
    const run = promisify(execFile)('php', [join(folder, 'licence.php'), name, api, licence, site, kept]);
    return JSON.parse((await run).stdout) as unknown;
  }

  const isValid = (about = {}, state?: { valid_at: number; ask_after: number }) =>
    call('licenceIsValid', about, state);

  const read = () => JSON.parse(readFileSync(kept, 'utf8')) as { valid_at: number; ask_after: number };
  const now = () => Math.floor(Date.now() / 1000);

  test('activates its site, explains a refusal, and follows the service’s answers from then on', async () => {
    const earlier = { valid_at: now() - 5, ask_after: 0 };
    expect(await call('enterLicence', { licence: 'unknown' })).toBe('License not found');
    expect(existsSync(kept)).toBe(false);
    expect(await isValid()).toBe(false);
    expect(await call('enterLicence')).toBeNull();
    expect(await rows(service.db, 'activations')).toMatchObject([{ identifier: 'example.com' }]);
    expect(read().ask_after).toBeGreaterThan(now() + 86_000);
    expect(await isValid()).toBe(true);
    expect(await call('enterLicence', { site: 'example.org' })).toMatch(/^All activation slots/);
    expect(await isValid({ licence: 'unknown' }, earlier)).toBe(false);
    // example.com has the only slot now. A check from example.org does not take it.
    expect(await isValid({ site: 'example.org' }, earlier)).toBe(false);
    expect(read().valid_at).toBe(0);
    expect(await isValid({}, earlier)).toBe(true);
    expect(await rows(service.db, 'activations')).toMatchObject([{ identifier: 'example.com' }]);
    // The service refuses the eighth call in a minute, so the program relies on its last answer.
    expect(await isValid({}, earlier)).toBe(true);
    expect(read().valid_at).toBeLessThan(now());
    expect(read().ask_after).toBeLessThan(now() + 700);
  });

  test.each<[string, RequestListener]>([
    ['503', (_, response) => response.writeHead(503).end('{"error":{"code":"SERVICE_UNAVAILABLE"}}')],
    ["somebody else's page", (_, response) => response.writeHead(403).end('<html>Forbidden</html>')],
    ['a time-out', () => undefined],
  ])('relies on its last answer through %s for two weeks, and asks again later', async (_, listener) => {
    const upstream = await startUpstream(listener);
    const api = `http://${upstream.host}`;
    expect(await isValid({ api }, { valid_at: now() - 13 * 86_400, ask_after: 0 })).toBe(true);
    expect(read().ask_after).toBeGreaterThan(now() + 500);
    expect(await isValid({ api }, { valid_at: now() - 15 * 86_400, ask_after: now() + 60 })).toBe(false);
    await upstream.close();
  });
});
