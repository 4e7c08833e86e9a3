import { verificationKeys, listKeysInUse, openSigningKey } from '../licensing/signing-keys';
import { ok, problem, type Check } from './finding';

/** Checks that answers can be signed, if signing keys exist. */
export const checkSigning: Check = async ({ config, db, now }) => {
  const keys = await listKeysInUse(db);
  const current = keys.find(({ state }) => state === 'current');
  if (current === undefined) return [ok('SIGNING_KEYS', (t) => t.noSigningKey)];
  for (const key of keys.filter(({ state }) => state !== 'retired')) {
    const opened = openSigningKey(key, config.keySecret);
    if (typeof opened === 'string')
      return [problem('SIGNING_KEYS', (t) => t.signingKeyShut(opened, key.kid))];
  }
  const accepted = verificationKeys(keys, now()).length;
  return [ok('SIGNING_KEYS', (t) => t.signingKeys(current.kid, accepted))];
};
