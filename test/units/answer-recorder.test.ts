import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';
import { recorded } from '../support/service-process';

/** Tests the recorder that compares every answer of the tests with docs/openapi.json. */

const RECORDER = join(__dirname, '../support/answer-recorder.cjs');
const HEADERS = {
  'X-Request-Id': 'a-1',
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/** Gives one request this answer, in a process with the recorder, and returns the recorder's notes. */
function answer(
  path: string,
  status: number,
  body: unknown,
  headers: Record<string, string> = HEADERS,
  method = 'GET',
  isLater = false,
): { seen: string[]; wrong: string[] } {
  const folder = temporaryFolder();
  const script = `
    const http = require('node:http');
    const server = http.createServer((request, response) => {
      for (const [name, value] of Object.entries(${JSON.stringify(headers)})) response.setHeader(name, value);
      response.statusCode = ${status};
      response.end(${JSON.stringify(typeof body === 'string' ? body : JSON.stringify(body))});
    }).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      http.request({ port, host: '127.0.0.1', path: ${JSON.stringify(path)}, method: '${method}' }, (response) =>
        response.resume().on('end', () => process.exit()),
      ).end();
    });`;
  const run = (program: string, env: NodeJS.ProcessEnv) =>
    expect(spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  const { TEST_ANSWERS_LATER, ...env } = recorded();
  run(script, { ...env, TEST_ANSWERS: folder, ...(isLater && { TEST_ANSWERS_LATER }) });
  if (isLater) run(`require(${JSON.stringify(RECORDER)}).judgeKept(${JSON.stringify(folder)})`, {});
  const read = (kind: string) =>
    readdirSync(folder)
      .filter((name) => name.startsWith(kind))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean));
  return { seen: read('seen'), wrong: read('wrong') };
}

const UPDATES = `${PREFIX}/updates/42`;
const NONE = { data: { update_available: false } };

test('notes an answer that the document describes', () => {
  expect(answer(UPDATES, 200, NONE)).toEqual({ seen: ['checkUpdates 200'], wrong: [] });
});

test('notes the answers of a process that collects them when the process ends', () => {
  const later = (body: unknown) => answer(UPDATES, 200, body, HEADERS, 'GET', true);
  expect(later(NONE)).toEqual({ seen: ['checkUpdates 200'], wrong: [] });
  expect(later({ data: {} })).toEqual(answer(UPDATES, 200, { data: {} }));
});

test.each([
  ['a status', UPDATES, 302, NONE, {}, 'GET', /the status is not described/],
  ['a field', UPDATES, 200, { data: { update_available: false, extra: 1 } }, {}, 'GET', /additional/],
  ['a missing field', UPDATES, 200, { data: {} }, {}, 'GET', /update_available/],
  ['a header', UPDATES, 200, NONE, { Server: 'x' }, 'GET', /header server is not described/],
  ["a header's value", UPDATES, 200, NONE, { 'Cache-Control': 'public' }, 'GET', /header cache-control is/],
  ['a type', UPDATES, 200, NONE, { 'Content-Type': 'text/html' }, 'GET', /type text\/html/],
  ['a body', UPDATES, 200, 'no', {}, 'GET', /no JSON/],
  ['a code', UPDATES, 429, { error: { code: 'NO', message: '' } }, { 'Retry-After': '1' }, 'GET', /code/],
  [
    'a missing header',
    UPDATES,
    405,
    { error: { code: 'METHOD_NOT_ALLOWED', message: '' } },
    {},
    'PUT',
    /allow is missing/,
  ],
  [
    'an address',
    `${PREFIX}/manage/nothing`,
    200,
    { data: 1 },
    {},
    'GET',
    /\(other, manage\) 200: the status/,
  ],
  [
    'an operation of the operator',
    `${PREFIX}/manage/me`,
    200,
    { data: { name: 'a' } },
    {},
    'GET',
    /getMe 200: .*scope/,
  ],
])('notes %s that the document does not describe', (_, path, status, body, headers, method, expected) => {
  const { seen, wrong } = answer(path, status, body, { ...HEADERS, ...headers }, method);
  expect(seen).toEqual([]);
  expect(wrong.join('\n')).toMatch(expected);
});

test('leaves stand-ins of the service alone', () => {
  const headers = Object.fromEntries(Object.entries(HEADERS).slice(1));
  expect(answer(UPDATES, 200, 'anything', headers)).toEqual({ seen: [], wrong: [] });
});
