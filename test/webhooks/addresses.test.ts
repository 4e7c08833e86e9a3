import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAddressRules } from '../../src/webhooks/addresses';
import { createPost } from '../../src/webhooks/post';
import { startManaged, type Managed } from '../support/manage';
import { startReceiver } from '../support/webhook-receiver';

/** Addresses that webhooks must not reach, in every spelling that a URL allows. */

const FORBIDDEN = [
  // loopback, including its decimal, octal, hexadecimal and short forms
  ...['127.0.0.1', '127.9.9.9', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0x7f.1', '127.0.0.1.'],
  ...['[::1]', '[0:0:0:0:0:0:0:1]', 'localhost', 'LOCALHOST', 'localhost.'],
  // full-width and circled digits, and percent-encoding
  ...['１２７.0.0.1', '①②⑦.0.0.1', '127%2e0.0.1'],
  // private
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.1.1', '3232235777', '[fd00::1]'],
  ...['[fc00::1]', '[fec0::1]'],
  // link-local and metadata
  ...['169.254.169.254', '0xa9fea9fe', '[fe80::1]', '[fd00:ec2::254]', '100.100.100.200', '168.63.129.16'],
  // carrier-grade NAT, unspecified, multicast, broadcast, reserved, benchmarks, documentation
  ...['100.64.0.1', '100.127.255.255', '0.0.0.0', '0', '[::]', '224.0.0.1', '239.1.1.1', '[ff02::1]'],
  ...['255.255.255.255', '240.0.0.1', '198.18.0.1', '192.0.2.1', '[2001:db8::1]'],
  // IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:10.0.0.1]', '[::ffff:169.254.169.254]'],
  ...[
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
  ],
  ...['[2001::7f00:1]'],
];

describe('added through the API', () => {
  let service: Managed;
  beforeAll(async () => {
    service = await startManaged();
  });
  afterAll(() => service.stop());
  const refused = (url: string) =>
    service.write.refused('POST /webhooks', { url, events: ['*'] }, 'INVALID_REQUEST', 'url');

  test.each(FORBIDDEN)('%s is refused', async (host) => {
    // Some resolvers do not accept a name that ends with a dot.
    expect(await refused(`https://${host}/hook`)).toMatch(/not public|cannot be resolved/);
    expect(await refused(`http://${host}:8080/hook`)).toMatch(/Without TLS|cannot be resolved/);
  });

  test.each([
    ...['', 'shop.example/hook', 'ftp://example.com', 'file:///etc/passwd', 'javascript:1', 'https://'],
    ...[
      'https://user:password@93.184.215.14/',
      'https://93.184.215.14/#part',
      'https://no-such-host.invalid/',
    ],
    ...[
      'http://93.184.215.14/',
      `https://93.184.215.14/${'a'.repeat(500)}`,
      'https://256.0.0.1/',
      'unix:/run/x',
    ],
  ])('%s is refused', async (url) => {
    const message = await refused(url);
    expect(message).not.toContain('password@');
  });

  test('a public address is accepted and stored in its usual spelling', async () => {
    const added = await service.write.ok(
      'POST /webhooks',
      { url: ' HTTPS://0x5DB8D70E:443/Hook?a=1 ', events: ['license.*'] },
      201,
    );
    expect(added).toMatchObject({ url: 'https://93.184.215.14/Hook?a=1', enabled: true });
    await service.write.refused(
      `PATCH /webhooks/${added.id}`,
      { url: 'https://10.0.0.1' },
      'INVALID_REQUEST',
      'url',
    );
    await service.write.ok(`DELETE /webhooks/${added.id}`, undefined, 204);
  });
});

test('each connection checks the addresses that a name resolves to, and addresses written as numbers', async () => {
  const receiver = await startReceiver();
  const { port } = receiver;
  const never = new AbortController().signal;
  const attempt = (networks: string[], url: string) =>
    createPost(createAddressRules(networks))(url, {}, '{}', never);
  for (const host of ['localhost', '127.0.0.1', '2130706433', '[::ffff:127.0.0.1]'])
    for (const protocol of ['http', 'https'])
      expect(await attempt([], `${protocol}://${host}:${port}/`)).toMatchObject({
        failure: 'ADDRESS_REFUSED',
        status: undefined,
      });
  // The allowed network does not contain the address.
  expect(await attempt(['10.0.0.0/8'], `http://localhost:${port}/`)).toMatchObject({
    failure: 'ADDRESS_REFUSED',
  });
  // Plain http reaches this machine only, even if other networks are allowed.
  expect(await attempt(['10.0.0.0/8'], 'http://10.0.0.1/')).toMatchObject({ failure: 'ADDRESS_REFUSED' });
  expect(receiver.received).toEqual([]);
  receiver.answer = (response) => response.writeHead(204).end();
  expect(await attempt(['127.0.0.1', '::1'], `http://localhost:${port}/`)).toMatchObject({
    failure: undefined,
  });
  expect(await attempt(['127.0.0.1'], 'http://no-such-host.invalid/')).toMatchObject({
    failure: 'NOT_RESOLVED',
  });
  await receiver.stop();
});

test('networks that may be allowed', () => {
  const { allows } = createAddressRules(['192.168.7.0/24', '127.0.0.1', 'fd00::/8']);
  const https = [
    '192.168.7.9',
    '::ffff:192.168.7.9',
    'fd00::5',
    '93.184.215.14',
    '2606:2800:21f::1',
    '127.0.0.1',
  ];
  for (const address of https) expect([address, allows(address, 'https:')]).toEqual([address, true]);
  for (const address of ['192.168.8.9', 'fe80::1%eth0', 'fc00::1', '127.0.0.2', 'x', ''])
    expect([address, allows(address, 'https:')]).toEqual([address, false]);
  for (const address of ['192.168.7.9', '93.184.215.14', '127.0.0.2'])
    expect([address, allows(address, 'http:')]).toEqual([address, false]);
  expect(allows('127.0.0.1', 'http:')).toBe(true);
});
