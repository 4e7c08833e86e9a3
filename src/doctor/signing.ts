import { acceptedKeys, listSigningKeys, openSigningKey } from '../licensing/signing-keys';
import { ok, problem, type Check } from './finding';

/** Checks that answers can be signed, if there are keys for it. */
export const checkSigning: Check = async ({ config, db, now }) => {
  const keys = await listSigningKeys(db);
  const current = keys.find(({ state }) => state === 'current');
  if (current === undefined)
    return [
      ok(
        'SIGNING_KEYS',
        'There is no signing key: software that asks for signed answers gets unsigned ones.',
        'Es gibt keinen Signaturschlüssel: Software, die signierte Antworten verlangt, bekommt unsignierte.',
      ),
    ];
  for (const key of keys.filter(({ state }) => state !== 'retired')) {
    const opened = openSigningKey(key, config.keySecret);
    if (typeof opened === 'string')
      return [
        problem(
          'SIGNING_KEYS',
          opened,
          {
            why: 'Nothing can be signed with it: answers come unsigned, and machines without network get no file.',
            remedy:
              'Bring LICENSING_KEY_SECRET back from the backup of .env. If it is lost for good: licensing signing-key add, then licensing signing-key retire KID, and build the new key into your software.',
          },
          {
            what: `Signaturschlüssel ${key.kid} lässt sich nicht öffnen: LICENSING_KEY_SECRET fehlt oder passt nicht, oder der Schlüssel ist beschädigt.`,
            why: 'Damit lässt sich nichts signieren: Antworten kommen unsigniert, und Rechner ohne Netz bekommen keine Datei.',
            remedy:
              'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück. Ist es endgültig verloren: licensing signing-key add, dann licensing signing-key retire KID, und bauen Sie den neuen Schlüssel in Ihre Software ein.',
          },
        ),
      ];
  }
  const accepted = acceptedKeys(keys, now()).length;
  return [
    ok(
      'SIGNING_KEYS',
      `Signing key ${current.kid} signs; ${accepted} ${accepted === 1 ? 'key is' : 'keys are'} in keys.json.`,
      `Signaturschlüssel ${current.kid} signiert; keys.json enthält ${accepted} Schlüssel.`,
    ),
  ];
};
