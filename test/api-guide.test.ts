import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from './support/processes';
import { giveLicense, givePlan, PREFIX, rows, startTestService, type TestService } from './support/service';
import { startUpstream } from './support/web-server';

/** docs/api.md: its table of codes, and its PHP program, as a customer's site runs it. */

const ROOT = join(__dirname, '..');
const guide = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');

test('it names every code, with the status it is sent with', () => {
  const answers = readFileSync(join(ROOT, 'src/http/answers.ts'), 'utf8');
  const codes = [...answers.matchAll(/^ {2}([A-Z_]+): (\d+),/gm)];
  const documented = [...guide.matchAll(/^\| `([A-Z_]+)` +\| (\d+)/gm)].map(([, code, status]) => [
    code,
    status,
  ]);
  expect(codes.length).toBeGreaterThan(10);
  expect(documented.sort()).toEqual(codes.map(([, code, status]) => [code, status]).sort());
});

describe('its PHP program', () => {
  const folder = temporaryFolder();
  const kept = join(folder, 'kept.json');
  let service: TestService;
  let key: string;

  beforeAll(async () => {
    const [, program = ''] = /```php\n([^]*?)```/.exec(guide) ?? [];
    writeFileSync(
      join(folder, 'licence.php'),
      `${program}\necho json_encode(licenceIsValid(...array_slice($argv, 1)));\n`,
    );
    service = await startTestService({ LICENSING_RATE_LIMIT: '6' });
    ({ key } = await giveLicense(service.db, await givePlan(service.db, { limit: 1 })));
  });

  afterAll(() => service.stop());

  async function isValid(
    { api = `${service.url}${PREFIX}`, licence = key, site = 'https://www.example.com/shop' } = {},
    state?: { valid_at: number; ask_after: number },
  ): Promise<boolean> {
    if (state) writeFileSync(kept, JSON.stringify(state));
    else rmSync(kept, { force: true });
    const run = promisify(execFile)('php', [join(folder, 'licence.php'), api, licence, site, kept]);
    return JSON.parse((await run).stdout) as boolean;
  }

  const read = () => JSON.parse(readFileSync(kept, 'utf8')) as { valid_at: number; ask_after: number };
  const now = () => Math.floor(Date.now() / 1000);

  test('activates its site, and believes what the service says', async () => {
    expect(await isValid()).toBe(true);
    expect(await rows(service.db, 'activations')).toMatchObject([{ identifier: 'example.com' }]);
    expect(read().ask_after).toBeGreaterThan(now() + 86_000);
    expect(await isValid({ licence: 'unknown' }, { valid_at: now() - 5, ask_after: 0 })).toBe(false);
    // its slot is taken
    expect(await isValid({ site: 'example.org' }, { valid_at: now() - 5, ask_after: 0 })).toBe(false);
    expect(read().valid_at).toBe(0);
    expect(await isValid({}, { valid_at: now() - 5, ask_after: 0 })).toBe(true);
    // The seventh call in this minute is one too many.
    expect(await isValid({}, { valid_at: now() - 5, ask_after: 0 })).toBe(true);
    expect(read().valid_at).toBeLessThan(now());
    expect(read().ask_after).toBeLessThan(now() + 700);
  });

  test.each<[string, RequestListener]>([
    ['503', (_, response) => response.writeHead(503).end('{"error":{"code":"SERVICE_UNAVAILABLE"}}')],
    ["somebody else's page", (_, response) => response.writeHead(403).end('<html>Forbidden</html>')],
    ['a time-out', () => undefined],
  ])('goes on by the last answer through %s, for two weeks, and asks again later', async (_, listener) => {
    const upstream = await startUpstream(listener);
    const api = `http://${upstream.host}`;
    expect(await isValid({ api }, { valid_at: now() - 13 * 86_400, ask_after: 0 })).toBe(true);
    expect(read().ask_after).toBeGreaterThan(now() + 500);
    expect(await isValid({ api }, { valid_at: now() - 15 * 86_400, ask_after: now() + 60 })).toBe(false);
    await upstream.close();
  });
});
