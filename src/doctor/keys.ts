import { keyDigest } from '../licensing/core/keys';
import { isSealedWith, openSealedKey } from '../licensing/sealing';
import { sampleSealedKeys, type SealedKey } from '../store/licenses/license-keys';
import { ok, problem, warning, type Check, type CheckFinding, type CheckContext } from './finding';

const FROM_EACH_END = 100;
/** The number of keys from each end in a sample, where all keys would be too many. */
const AMONG = 500;

/** Checks that stored keys can be opened. */
export const checkKeys: Check = async (patient) => judge(patient, await sample(patient, undefined));

/** Checks only the oldest and the newest keys. */
export const checkOldestAndNewestKeys: Check = async (patient) =>
  judge(patient, await sample(patient, AMONG));

function sample({ db }: CheckContext, among: number | undefined): Promise<SealedKey[]> {
  return sampleSealedKeys(db, FROM_EACH_END, among);
}

function judge({ config: { keySecret } }: CheckContext, sample: SealedKey[]): CheckFinding[] {
  if (keySecret === undefined)
    return [
      sample.length === 0
        ? warning('KEY_SECRET', (t) => t.noKeySecret)
        : problem('KEY_SECRET', (t) => t.keySecretLost),
    ];
  const foreign = sample.filter(({ keySealed }) => !isSealedWith(keySealed, keySecret));
  const damaged = sample.filter((one) => !foreign.includes(one) && !opens(one, keySecret));
  if (foreign.length + damaged.length === 0) return [ok('KEY_SECRET', (t) => t.sealedKeys(sample.length))];
  return [
    ...(foreign.length === 0
      ? []
      : [problem('KEY_SECRET_OTHER', (t) => t.sealedOtherwise(foreign.length, sample.length, ids(foreign)))]),
    ...(damaged.length === 0
      ? []
      : [problem('SEALED_KEY_DAMAGED', (t) => t.sealedDamaged(ids(damaged, withKey(t.key))))]),
  ];
}

function opens({ keySealed, keyDigest: digest }: SealedKey, secret: Buffer): boolean {
  try {
    return keyDigest(openSealedKey(keySealed, digest, secret)) === digest;
  } catch {
    return false;
  }
}

function withKey(word: string): (key: SealedKey) => string {
  return ({ licenseId, id }) => `${licenseId} (${word} ${id})`;
}

function ids(keys: SealedKey[], name: (key: SealedKey) => string | number = (key) => key.licenseId): string {
  const names = [...new Set(keys.map(name))];
  return `${names.slice(0, 10).join(', ')}${names.length > 10 ? ', ...' : ''}`;
}
