import { createHmac, randomBytes } from 'node:crypto';
import { openSealedKey, SealError, sealKey } from '../licensing/sealing';
import type { WebhookRow } from '../store/webhooks';

/** Secrets and signatures of webhooks (Standard Webhooks 1.0). */

const PREFIX = 'whsec_';
/** The associated data of the encryption, so that a sealed licence key cannot be opened as a secret. */
const SEALED_AS = 'webhook secret';

export function generateWebhookSecret(): string {
  return PREFIX + randomBytes(32).toString('base64');
}

export function sealSecret(secret: string, keySecret: Buffer): string {
  return sealKey(secret, SEALED_AS, keySecret);
}

/** Decrypts a secret. @throws SealError if LICENSING_KEY_SECRET has changed */
function openSecret(sealed: string, keySecret: Buffer): string {
  return openSealedKey(sealed, SEALED_AS, keySecret);
}

/** Returns all secrets that sign now, newest first. @throws SealError */
export function secretsOf(
  { secretSealed, previousSealed, previousEndsAt }: WebhookRow,
  keySecret: Buffer,
  now: Date,
): string[] {
  const sealed = [secretSealed];
  if (previousSealed !== null && previousEndsAt !== null && previousEndsAt > now) sealed.push(previousSealed);
  return sealed.map((one) => openSecret(one, keySecret));
}

/** Reports whether all secrets that sign now can be decrypted. */
export function canOpenSecrets(webhook: WebhookRow, keySecret: Buffer, now: Date): boolean {
  try {
    return secretsOf(webhook, keySecret, now).length > 0;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
}

/** Returns the signed headers of a request. @param secrets all that sign @param now the time of the attempt */
export function signedHeaders(
  secrets: string[],
  id: string,
  now: Date,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
