import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { PREFIX } from './service';

/** Shops that send signed messages, as their documentation describes them. */

const FIXTURES = join(__dirname, '../hooks/fixtures');

/** Reads a documented message. @param path such as `stripe/invoice.paid` */
export function fixture(path: string): object {
  return JSON.parse(readFileSync(join(FIXTURES, `${path}.json`), 'utf8')) as object;
}

export interface Signed {
  body: string;
  headers: Record<string, string>;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const seconds = (at: Date) => String(Math.floor(at.getTime() / 1000));
const hex = (text: string, secret: string) => createHmac('sha256', secret).update(text).digest('hex');

export function signStripe(message: object, secret: string, at: Date): Signed {
  const body = JSON.stringify(message);
  const v1 = hex(`${seconds(at)}.${body}`, secret);
  return { body, headers: { ...JSON_TYPE, 'Stripe-Signature': `t=${seconds(at)},v1=${v1},v0=00` } };
}

export function signPaddle(message: object, secret: string, at: Date): Signed {
  const body = JSON.stringify(message);
  const h1 = hex(`${seconds(at)}:${body}`, secret);
  return { body, headers: { ...JSON_TYPE, 'Paddle-Signature': `ts=${seconds(at)};h1=${h1}` } };
}

export function signStandard(message: object, secret: string, at: Date, id = 'msg_1'): Signed {
  const body = JSON.stringify(message);
  const signature = new Webhook(secret).sign(id, at, body);
  const headers = { 'webhook-id': id, 'webhook-timestamp': seconds(at), 'webhook-signature': signature };
  return { body, headers: { ...JSON_TYPE, ...headers } };
}

const base64 = (text: string, secret: string) => createHmac('sha256', secret).update(text).digest('base64');

export function signLemonSqueezy(message: object, secret: string): Signed {
  const body = JSON.stringify(message);
  return { body, headers: { ...JSON_TYPE, 'X-Signature': hex(body, secret) } };
}

/** Signs a message. @param events the events of one message */
export function signFastSpring(events: object[], secret: string): Signed {
  const body = JSON.stringify({ events });
  return { body, headers: { ...JSON_TYPE, 'X-FS-Signature': base64(body, secret) } };
}

/** Signs a message. @param topic such as `order.updated` */
export function signWooCommerce(object: object, topic: string, secret: string): Signed {
  const body = JSON.stringify(object);
  const headers = { 'X-WC-Webhook-Topic': topic, 'X-WC-Webhook-Signature': base64(body, secret) };
  return { body, headers: { ...JSON_TYPE, ...headers } };
}

/** Signs a message. @param signed the values to sign; by default those that are sent */
export function signDigistore24(
  fields: Record<string, string>,
  secret: string,
  signed: Record<string, string> = fields,
): Signed {
  const text = Object.keys(signed)
    .sort()
    .filter((name) => signed[name] !== '')
    .map((name) => `${name}=${signed[name] ?? ''}${secret}`)
    .join('');
  const sha = createHash('sha512').update(text).digest('hex').toUpperCase();
  return {
    body: new URLSearchParams({ ...fields, sha_sign: sha }).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  };
}

/** Sends a message to a receiver. */
export async function sendHook(
  url: string,
  name: string,
  { body, headers }: Signed,
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${url}${PREFIX}/hooks/${name}`, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
