import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRaw } from '../support/raw-http';
import { PREFIX, startTestService, type TestService } from '../support/service';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const LARGE = '['.repeat(200_000);
const TOO_LARGE = 'The body must not be larger than 64 KiB.';
const COMPRESSED = 'The body must not be compressed: send it without Content-Encoding.';
const compressed = gzipSync(randomBytes(1_000_000));

test.each<[string, string, string | Buffer, string]>([
  [
    'is not compressed as it says',
    `Content-Encoding: br\r\nContent-Length: ${LARGE.length}`,
    LARGE,
    COMPRESSED,
  ],
  ['is too large', `Content-Length: ${LARGE.length}`, LARGE, TOO_LARGE],
  ['is too large, as is only seen on the way', 'Transfer-Encoding: chunked', chunked(LARGE), TOO_LARGE],
  ['is compressed', `Content-Encoding: gzip\r\nContent-Length: ${compressed.length}`, compressed, COMPRESSED],
  [
    'is encoded in a way nobody knows',
    `Content-Encoding: x\r\nContent-Length: ${LARGE.length}`,
    LARGE,
    COMPRESSED,
  ],
])(
  'after a body that %s the next request on the connection is answered',
  async (_what, headers, body, message) => {
    const connection = openRaw(service.url);
    try {
      const refused = await connection.send(
        Buffer.concat([
          Buffer.from(
            `POST ${PREFIX}/licenses/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`,
          ),
          Buffer.from(body),
        ]),
      );
      const code = message === COMPRESSED ? 'UNSUPPORTED_MEDIA_TYPE' : 'INVALID_REQUEST';
      expect(refused?.status).toBe(message === COMPRESSED ? 415 : 400);
      expect(JSON.parse(String(refused?.body))).toEqual({ error: { code, message } });
      const next = await connection.send(`GET ${PREFIX}/updates/42 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(next?.status).toBe(200);
    } finally {
      connection.close();
    }
  },
);
