import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRaw } from './support/raw-http';
import { PREFIX, startTestService, type TestService } from './support/service';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const LARGE = '['.repeat(200_000);

test.each([
  ['is not compressed as it says', `Content-Encoding: br\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`],
  ['is too large', `Content-Length: ${LARGE.length}\r\n\r\n${LARGE}`],
  ['is too large, as is only seen on the way', `Transfer-Encoding: chunked\r\n\r\n${chunked(LARGE)}`],
  [
    'is encoded in a way nobody knows',
    `Content-Encoding: x\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`,
  ],
])(
  'after a body that %s the next request on the connection is answered',
  async (_what, rest) => {
    const connection = openRaw(service.url);
    try {
      const refused = await connection.send(
        `POST ${PREFIX}/licenses/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${rest}`,
      );
      expect(refused?.status).toBe(400);
      const next = await connection.send(`GET ${PREFIX}/updates/42 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(next?.status).toBe(200);
    } finally {
      connection.close();
    }
  },
  60_000,
);
