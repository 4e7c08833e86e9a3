import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { table } from '../src/store/database';
import { giveRelease } from './support/packages';
import { eventually } from './support/processes';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from './support/service';

/** What the metrics, the log and the access log say of an answer is what the client got. */

interface LogLine {
  msg: string;
  endpoint?: string;
  status?: number;
  code?: string;
  fault?: { code?: string; errno?: number; message?: string };
}

const logged = (service: TestService) => service.logLines.map((line) => JSON.parse(line) as LogLine);

describe('a package that the service sends itself', () => {
  let service: TestService;
  let license: TestLicense;
  let file: { path: string; bytes: Buffer; etag: string };

  beforeAll(async () => {
    service = await startTestService();
    license = await giveLicense(service.db, await givePlan(service.db));
    const { release, bytes } = await giveRelease(service, { version: '1.0' });
    file = {
      path: join(service.packagesDir, `${release.sha256}.zip`),
      bytes,
      etag: `"${release.sha256}"`,
    };
  });
  afterAll(() => service.stop());

  const download = (headers: Record<string, string>, method: 'get' | 'head' = 'get') => {
    const agent = request(service.url);
    return agent[method](`${PREFIX}/downloads/42?dlid=${license.key}`).set(headers).responseType('blob');
  };

  async function counted(): Promise<Record<string, number>> {
    const { text } = await request(service.admin).get('/metrics').expect(200);
    const lines = text.matchAll(
      /^licensing_(?:requests|verdicts)_total\{endpoint="download",(?:status|code)="(\w+)"\} (\d+)$/gm,
    );
    return Object.fromEntries([...lines].map(([, label, count]) => [label!, Number(count)]));
  }

  it.each([
    ['whole', {}, 200],
    ['in part', { Range: 'bytes=10-19' }, 206],
    ['not, because the client has it', 'If-None-Match', 304],
    ['not, because the client asks for another', { 'If-Match': '"another"' }, 412],
    ['not, because the part is outside of it', { Range: 'bytes=9999999-' }, 416],
  ] as const)('%s is counted and logged with the status that was sent', async (_what, headers, status) => {
    const before = await counted();
    const sent = headers === 'If-None-Match' ? { 'If-None-Match': file.etag } : headers;
    const answer = await download(sent);
    expect(answer.status).toBe(status);
    if (status === 206) expect(answer.body).toEqual(file.bytes.subarray(10, 20));
    if (status >= 400) expect(answer.headers).not.toHaveProperty('content-disposition');
    const { [String(status)]: was = 0, ok = 0 } = before;
    expect(await counted()).toEqual({ ...before, [String(status)]: was + 1, ok: ok + 1 });
    expect(logged(service).at(-1)).toMatchObject({ msg: 'answered', endpoint: 'download', status });
  });

  it('is announced to HEAD, and that is counted too', async () => {
    const { status, headers } = await download({}, 'head');
    expect([status, headers['content-length']]).toEqual([200, String(file.bytes.length)]);
    expect(logged(service).at(-1)).toMatchObject({ msg: 'answered', status: 200 });
    await eventually(async () =>
      expect(await rows(service.db, 'access_log')).toHaveLength(service.logLines.filter(isDownload).length),
    );
    expect(new Set((await rows(service.db, 'access_log')).map(({ outcome }) => outcome))).toEqual(
      new Set(['ok']),
    );
  });

  it('and was cut is refused, counted, logged and recorded as missing', async () => {
    truncateSync(file.path, 20);
    const before = await counted();
    const answer = await download({});
    expect([answer.status, (answer.body as Buffer).toString()]).toEqual([404, 'The package file is missing']);
    expect(await counted()).toEqual({ ...before, 404: 1, FILE_NOT_FOUND: 1 });
    expect(logged(service).at(-1)).toMatchObject({ msg: 'refused', status: 404, code: 'FILE_NOT_FOUND' });
    await eventually(async () =>
      expect((await rows(service.db, 'access_log')).at(-1)).toMatchObject({ outcome: 'FILE_NOT_FOUND' }),
    );
  });
});

const isDownload = (line: string) => line.includes('"endpoint":"download"');

describe.each(BACKENDS)('a fault of the database, on %s', (name, backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await backend());
  });
  afterAll(() => service.stop());

  it('is logged with its code and number, and without the values of the statement', async () => {
    const { key, id } = await giveLicense(service.db, await givePlan(service.db, { type: 'seat' }));
    const isMysql = name.startsWith('MariaDB');
    // A trigger of which the message quotes values, as MySQL's do; SQLite's have none.
    await service.db.raw(
      isMysql
        ? `CREATE TRIGGER refuse BEFORE INSERT ON ${table(service.db, 'activations')} FOR EACH ROW
             SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'Not "jane.o''hara@example.com" - again, ''jane.o'' here'`
        : `CREATE TRIGGER refuse BEFORE INSERT ON ${table(service.db, 'activations')}
             BEGIN SELECT RAISE(ABORT, 'Not now'); END`,
    );
    const { status } = await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .send({ license_key: key, identifier: "Jane.O'Hara@Example.com", name: 'Desk of Jane' });
    expect(status).toBe(500);
    const fault = logged(service).find(({ msg }) => msg === 'failed')?.fault;
    expect(fault?.code).toMatch(isMysql ? /^ER_SIGNAL_EXCEPTION$/ : /^SQLITE_CONSTRAINT/);
    if (isMysql) expect(fault?.errno).toBe(1644);
    expect(fault?.message).toBe(isMysql ? 'Not "..." here' : 'Not now');
    expect(service.logLines.filter((line) => /jane|desk/i.test(line))).toEqual([]);
    expect(await service.db(table(service.db, 'licenses')).where({ id }).first('activations_used')).toEqual({
      activations_used: 0,
    });
  });
});
