import { keyDigest } from '../licensing/core/keys';
import { isSealedWith, openSealedKey } from '../licensing/sealing';
import { sampleSealedKeys, type SealedKey } from '../store/license-keys';
import { ok, problem, warning, type Check } from './finding';

const FROM_EACH_END = 100;

/** Checks that stored keys can be opened. */
export const checkKeys: Check = async ({ config, db }) => {
  const sample = await sampleSealedKeys(db, FROM_EACH_END);
  const { keySecret } = config;
  if (keySecret === undefined)
    return [
      sample.length === 0
        ? warning(
            'KEY_SECRET',
            'LICENSING_KEY_SECRET is not set: keys are shown once, when they are issued.',
            {
              why: 'A customer who lost the key needs a new one, and a shop that asks for an order again gets no key.',
              remedy: 'licensing init sets it; keep a backup of .env.',
            },
            {
              what: 'LICENSING_KEY_SECRET ist nicht gesetzt: Schlüssel werden nur einmal gezeigt, beim Ausstellen.',
              why: 'Wer seinen Schlüssel verliert, braucht einen neuen, und ein Shop, der noch einmal nach einer Bestellung fragt, bekommt keinen Schlüssel.',
              remedy: '„licensing init“ setzt es; bewahren Sie eine Sicherung von .env auf.',
            },
          )
        : problem(
            'KEY_SECRET',
            'LICENSING_KEY_SECRET is not set, and there are keys sealed with one.',
            {
              why: '"license reveal" cannot show them, and new keys are not kept.',
              remedy: 'Bring the secret back from the backup of .env.',
            },
            {
              what: 'LICENSING_KEY_SECRET ist nicht gesetzt, und es gibt damit versiegelte Schlüssel.',
              why: 'Sie lassen sich nicht zeigen, und neue Schlüssel werden nicht aufbewahrt.',
              remedy: 'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück.',
            },
          ),
    ];
  const foreign = sample.filter(({ keySealed }) => !isSealedWith(keySealed, keySecret));
  const damaged = sample.filter((one) => !foreign.includes(one) && !opens(one, keySecret));
  if (foreign.length + damaged.length === 0)
    return [
      ok(
        'KEY_SECRET',
        sample.length === 0
          ? 'LICENSING_KEY_SECRET is set; no key is sealed yet.'
          : `The secret opens the sealed keys (${sample.length} tried).`,
        sample.length === 0
          ? 'LICENSING_KEY_SECRET ist gesetzt; noch ist kein Schlüssel versiegelt.'
          : `LICENSING_KEY_SECRET öffnet die versiegelten Schlüssel (${sample.length} geprüft).`,
      ),
    ];
  return [
    ...(foreign.length === 0
      ? []
      : [
          problem(
            'KEY_SECRET_OTHER',
            `${foreign.length} of ${sample.length} sealed keys were sealed with another secret: licences ${ids(foreign)}.`,
            {
              why: '"license reveal" cannot show them.',
              remedy: 'Set the LICENSING_KEY_SECRET this database was used with, from the backup of .env.',
            },
            {
              what: `${foreign.length} von ${sample.length} versiegelten Schlüsseln wurden mit einem anderen LICENSING_KEY_SECRET versiegelt: Lizenzen ${ids(foreign)}.`,
              why: 'Sie lassen sich nicht zeigen.',
              remedy:
                'Setzen Sie das LICENSING_KEY_SECRET, mit dem diese Datenbank benutzt wurde, aus der Sicherung von .env.',
            },
          ),
        ]),
    ...(damaged.length === 0
      ? []
      : [
          problem(
            'SEALED_KEY_DAMAGED',
            `Sealed keys are damaged: licences ${ids(damaged, withKey())}.`,
            {
              why: '"license reveal" cannot show them. The keys themselves go on working.',
              remedy:
                'Restore the column key_sealed of these rows of license_keys; or licensing license rekey ID --key-id KEY_ID, and tell the customer.',
            },
            {
              what: `Versiegelte Schlüssel sind beschädigt: Lizenzen ${ids(damaged, withKey('Schlüssel'))}.`,
              why: 'Sie lassen sich nicht zeigen. Die Schlüssel selbst gelten weiter.',
              remedy:
                'Stellen Sie die Spalte key_sealed dieser Zeilen von license_keys wieder her; oder licensing license rekey ID --key-id KEY_ID, und sagen Sie es dem Kunden.',
            },
          ),
        ]),
  ];
};

function opens({ keySealed, keyDigest: digest }: SealedKey, secret: Buffer): boolean {
  try {
    return keyDigest(openSealedKey(keySealed, digest, secret)) === digest;
  } catch {
    return false;
  }
}

function withKey(word = 'key'): (key: SealedKey) => string {
  return ({ licenseId, id }) => `${licenseId} (${word} ${id})`;
}

function ids(keys: SealedKey[], name: (key: SealedKey) => string | number = (key) => key.licenseId): string {
  const names = [...new Set(keys.map(name))];
  return `${names.slice(0, 10).join(', ')}${names.length > 10 ? ', ...' : ''}`;
}
