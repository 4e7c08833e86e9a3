import { InvalidRequestError } from '../../base/errors';
import { ORDER_EVENTS } from '../order-events';
import { parseObject, requireText, timeAt, valueAt } from './json';
import type { ShopAdapter } from './adapter';
import { secretsLike } from './secrets';
import { hmac, matchesAny, isFresh } from './signature';

/** The minimum size of a secret: the specification asks for 24 to 64 bytes. */
const MIN_BYTES = 24;

/**
 * Standard Webhooks 1.0: `webhook-signature` has `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; several
 * signatures are separated by spaces. `type` is `order.` and an event. `data` is an event in the form of the operator's
 * API.
 */
export const standard: ShopAdapter = {
  contentType: 'application/json',

  verify({ body, header }, secret, now) {
    const id = header('webhook-id') ?? '';
    const seconds = header('webhook-timestamp') ?? '';
    const given = (header('webhook-signature') ?? '')
      .split(' ')
      .filter((one) => one.startsWith('v1,'))
      .map((one) => one.slice(3));
    const signed = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body]);
    if (id === '' || !matchesAny(given, hmac(signed, keyOf(secret), 'base64'))) return 'wrong';
    return isFresh(seconds, now) ? 'right' : 'old';
  },

  parse({ body, header }, { shop, readOrder }) {
    const message = parseObject(body);
    const type = requireText(message, 'type');
    const data = valueAt(message, 'data');
    const id = header('webhook-id') ?? '';
    const event = ORDER_EVENTS.find((one) => type === `order.${one}`);
    // Accept other types, such as `order.shipped`: a refused sender would repeat the message and then stop sending.
    if (event === undefined) return { id, type, note: 'unused' };
    if (typeof data !== 'object' || data === null) throw new InvalidRequestError('"data" must be an object.');
    requireSame(valueAt(data, 'shop'), shop, 'shop');
    requireSame(valueAt(data, 'event'), event, 'event');
    const { order, ...told } = readOrder({ ...data, shop, event });
    // Read the time again, because the API's times have no fractions.
    const at = timeAt(data, 'at') ?? told.at;
    return { id, type, event: { ...told, at, order: { number: order } } };
  },

  ...secretsLike(
    'whsec_',
    `It must be "whsec_" and base64 of at least ${MIN_BYTES} bytes.`,
    (rest) => /^[A-Za-z0-9+/]+={0,2}$/.test(rest) && keyOf(rest).length >= MIN_BYTES,
  ),
};

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

function requireSame(given: unknown, expected: string, field: string): void {
  if (given !== undefined && given !== expected)
    throw new InvalidRequestError(`"data.${field}" must be "${expected}", or left out.`);
}
