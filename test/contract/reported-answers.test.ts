import { linkSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import request from 'supertest';
import { table } from '../../src/store/engine/database';
import { giveRelease, makePackage } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { sendRaw } from '../support/raw-http';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  USUAL_TIMEOUTS,
  type TestLicense,
  type TestService,
  countTimes,
} from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Tests that the metrics, the log and the access log report the answer that the client got. */

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
      expect(await countTimes(service.db, 'access_log')).toBe(service.logLines.filter(isDownload).length),
    );
    expect(new Set((await rows(service.db, 'access_log')).map(({ outcome }) => outcome))).toEqual(
      new Set(['ok']),
    );
  });

  it('and was truncated is refused, counted, logged and recorded as missing', async () => {
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

  it('and is replaced while it is sent arrives whole, is refused or is broken off, and is never truncated', async () => {
    const [whole, cut, next] = ['whole', 'cut', 'next'].map((name) => join(service.packagesDir, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(whole, file.bytes);
    writeFileSync(cut, file.bytes.subarray(0, 20));
    let replacements = 0;
    const replacing = setInterval(() => {
      linkSync(replacements++ % 2 === 0 ? cut : whole, next);
      renameSync(next, file.path);
    }, 1);
    const seen = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const answers = await Promise.allSettled(Array.from({ length: 10 }, () => download({})));
      for (const answer of answers)
        seen.add(
          answer.status === 'rejected'
            ? 'broken off'
            : `${answer.value.status}, ${(answer.value.body as Buffer).equals(file.bytes) ? 'whole' : 'not'}`,
        );
    }
    clearInterval(replacing);
    expect([...seen].filter((outcome) => outcome !== 'broken off').sort()).toEqual([
      '200, whole',
      '404, not',
    ]);
  });

  it('and is truncated while it is sent is broken off, so that its client does not wait for the rest', async () => {
    const { path } = await makePackage({}, 20_000_000);
    const { release } = await giveRelease(service, { version: '1.1', file: path });
    const before = logged(service).length;
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').pause();
    socket.write(`GET ${PREFIX}/downloads/42?dlid=${license.key} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await eventually(() =>
      expect(logged(service).slice(before)).toMatchObject([{ msg: 'answered', status: 200 }]),
    );
    truncateSync(join(service.packagesDir, `${release.sha256}.zip`), 1_000);
    let received = 0;
    for await (const chunk of socket) received += (chunk as Buffer).length;
    expect(received).toBeLessThan(release.fileSize);
  });
});

test('a truncated package is refused even where nginx would send it', async () => {
  const service = await startTestService({ LICENSING_ACCEL_LOCATION: '/_licensing_packages/' });
  const { key } = await giveLicense(service.db, await givePlan(service.db));
  const { release } = await giveRelease(service, { version: '1.0' });
  const download = () => request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}`);
  const file = `${release.sha256}.zip`;
  expect((await download()).headers['x-accel-redirect']).toBe(`/_licensing_packages/${file}`);
  truncateSync(join(service.packagesDir, file), 20);
  const answer = await download();
  expect([answer.status, answer.text]).toEqual([404, 'The package file is missing']);
  expect(answer.headers).not.toHaveProperty('x-accel-redirect');
  await service.stop();
});

const isDownload = (line: string) => line.includes('"endpoint":"download"');

test('answers that wait behind a slow download on their connection are reported with their own status', async () => {
  const folder = temporaryFolder();
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'test.sqlite')}`,
    LICENSING_PACKAGES_DIR: folder,
    LICENSING_LOG_LEVEL: 'debug',
  };
  const db = await openMigrated(settings);
  const { key } = await giveLicense(db, await givePlan(db));
  // The kernel does not buffer this much for a client that does not read.
  const { path } = await makePackage({}, 20_000_000);
  const { release } = await giveRelease({ db, packagesDir: folder }, { version: '1.0', file: path });
  const service = await startServiceProcess({ ...settings, ...USUAL_TIMEOUTS });
  const ask = (method: string, headers = '') =>
    `${method} ${PREFIX}/downloads/42?dlid=${key} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1').pause();
  socket.write(
    ask('GET') +
      ask('HEAD').repeat(20) +
      ask('GET', `If-None-Match: "${release.sha256}"\r\n`) +
      ask('GET', 'Range: bytes=99999999-\r\n') +
      ask('GET', 'Connection: close\r\nRange: bytes=0-9\r\n'),
  );
  // A handler's deadline of 4 s has to pass, in real time, while the answers wait.
  await sleep(4_500);
  const received: Buffer[] = [];
  for await (const chunk of socket) received.push(chunk as Buffer);
  const statuses = Buffer.concat(received)
    .toString('latin1')
    .matchAll(/HTTP\/1\.1 (\d{3}) /g);
  const sent = [...Array.from({ length: 21 }, () => 200), 304, 416, 206];
  expect([...statuses].map(([, status]) => Number(status))).toEqual(sent);
  const answered = service.log().slice(1);
  expect(answered.map(({ msg }) => msg)).toEqual(sent.map(() => 'answered'));
  expect(answered.map(({ status }) => status).sort()).toEqual([...sent].sort());
  // Nothing else is printed, such as Node's warning of too many listeners on a socket.
  expect(service.lines).toHaveLength(service.log().length);
  await service.stop();
  expect(await countTimes(db, 'access_log', { outcome: 'ok' })).toBe(sent.length);
  await db.destroy();
});

describe('an address with a host before it', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  const ask = (address: string) =>
    sendRaw(service.url, `GET ${address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  async function counted(): Promise<number> {
    const { text } = await request(service.admin).get('/metrics').expect(200);
    return Number(
      /^licensing_verdicts_total\{endpoint="none",code="INVALID_REQUEST"\} (\d+)$/m.exec(text)?.[1] ?? 0,
    );
  }

  it.each(['http://[/', 'http://xn--a/', 'http://?dlid=secret', 'urn://secret'])(
    'that is not a host, as in %s, is refused, counted, and logged without it',
    async (address) => {
      const before = await counted();
      const answer = await ask(address);
      expect(answer?.status).toBe(400);
      expect(JSON.parse(String(answer?.body))).toEqual({
        error: { code: 'INVALID_REQUEST', message: 'The address cannot be read.' },
      });
      expect(await counted()).toBe(before + 1);
      expect(logged(service).at(-1)).toMatchObject({
        msg: 'refused',
        path: '*',
        status: 400,
        code: 'INVALID_REQUEST',
        request_id: answer?.headers.get('x-request-id'),
      });
    },
  );

  it('that is a host is answered as if it were missing', async () => {
    expect(await ask(`http://shop.example${PREFIX}/updates/42`)).toMatchObject({ status: 200 });
    expect(await ask('http://shop.example')).toMatchObject({ status: 404 });
    expect(logged(service).at(-1)).toMatchObject({ msg: 'refused', path: '/', code: 'NOT_FOUND' });
  });
});

describe.each(ONE_BACKEND)('a fault of the database, on %s', (name, backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await backend());
  });
  afterAll(() => service.stop());

  it('is logged with its code and number, and without the values of the statement', async () => {
    const { key, id } = await giveLicense(service.db, await givePlan(service.db, { type: 'seat' }));
    const isMysql = name.startsWith('MariaDB');
    // MySQL's own messages quote values, so this trigger's does too. SQLite's do not.
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
