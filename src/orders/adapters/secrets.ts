/** Recognises senders' secrets, so that another text of the sender's settings is not accepted as one. */

/** The kinds of texts that are not the sender's secret. */
export const SECRET_LOOKS = [
  'cut',
  'twice',
  'api_key',
  'public_key',
  'id',
  'hex',
  'other_sender',
  'other',
] as const;
export type SecretLook = (typeof SECRET_LOOKS)[number];

const LOOKS: [RegExp, SecretLook][] = [
  [/^(?:sk|rk)_(?:live|test)_|^pdl_(?:live|sdbx)_apikey_|^c[ks]_[0-9a-f]{40}$|^eyJ/, 'api_key'],
  [/^pk_(?:live|test)_|^(?:live|test)_[0-9a-f]{27}$|^whpk_/, 'public_key'],
  [/^(?:we|ed|ep|evt|ntfset|ntf)_/, 'id'],
  [/^[0-9a-f]{32,}$/i, 'hex'],
  [/^(?:whsec|whsk|pdl_ntfset)_/, 'other_sender'],
];

/** The prefixes of secrets and API keys; the rest has only letters, digits and base64 characters. */
const BEGINNINGS = 'whsec_|pdl_ntfset_|[rs]k_(?:live|test)_|pdl_(?:(?:live|sdbx)_)?apikey_|c[ks]_';
/** The characters with which a page replaces a hidden part. */
const HIDDEN = '(?:…|[.•*]{3,})';
const COPIED_WRONG: [RegExp, 'cut' | 'twice'][] = [
  [new RegExp(`^(${BEGINNINGS})\\1`), 'twice'],
  [new RegExp(`${HIDDEN}$|^(?:${BEGINNINGS}).*${HIDDEN}`), 'cut'],
];

/** Returns what went wrong when a secret or API key was copied; undefined if nothing is visibly wrong. */
export function copyFault(text: string): 'cut' | 'twice' | undefined {
  return COPIED_WRONG.find(([look]) => look.test(text))?.[1];
}

const IN_WORDS: Record<SecretLook, string> = {
  cut: 'It is incomplete: dots, bullets or asterisks hide a part of it.',
  twice: 'Its beginning appears twice.',
  api_key: 'It looks like an API key.',
  public_key: 'It looks like a public key.',
  id: 'It looks like an id.',
  hex: 'It looks like a hexadecimal key.',
  other_sender: 'It looks like the secret of another kind of sender.',
  other: 'It does not look like a secret of this sender.',
};

const QUOTED = /^(?:"(.*)"|'(.*)'|`(.*)`|“(.*)”|„(.*)[“”])$/;

/** Trims a copied text and removes quotes, with which settings files show it. */
export function cleanCopied(copied: string): string {
  const text = copied.trim();
  return (QUOTED.exec(text)?.slice(1).find(Boolean) ?? text).trim();
}

/** Removes the signature's version too, which some settings show before the secret. */
function clean(copied: string): string {
  return cleanCopied(copied).replace(/^v1,/, '');
}

/** The functions by which an adapter judges the text that a seller enters as the sender's secret. */
export interface Secrets {
  /** Extracts the secret from a text that was copied from the sender's settings. */
  cleanSecret: (copied: string) => string;
  /** Returns the kind of a text that cannot be a secret of this sender; undefined if it can. */
  secretLook: (secret: string) => SecretLook | undefined;
  /** Returns an error message for such a text, with the form of the sender's secrets. */
  secretFault: (secret: string) => string | undefined;
}

function judgedBy(look: Secrets['secretLook'], needs: string): Secrets {
  const secretLook: Secrets['secretLook'] = (secret) => copyFault(secret) ?? look(secret);
  return {
    cleanSecret: clean,
    secretLook,
    secretFault: (secret) => {
      const found = secretLook(secret);
      return found === undefined ? undefined : `${IN_WORDS[found]} ${needs}`;
    },
  };
}

/**
 * Judges the secrets of a sender that all have the same prefix.
 * @param needs a sentence about the form of a secret @param isRest checks the part after the prefix; by default no spaces
 */
export function secretsLike(
  prefix: string,
  needs: string,
  isRest: (rest: string) => boolean = (rest) => /^\S+$/.test(rest),
): Secrets {
  return judgedBy((secret) => {
    if (secret.startsWith(prefix)) return isRest(secret.slice(prefix.length)) ? undefined : 'other';
    return LOOKS.find(([look]) => look.test(secret))?.[1] ?? 'other';
  }, needs);
}

/** Judges secrets that the sender's user makes up, or may make up: any text that is not known to be something else. */
export function secretsOfChoice(needs: string): Secrets {
  const known = LOOKS.filter(([, look]) => look !== 'hex' && look !== 'id');
  return judgedBy((secret) => known.find(([look]) => look.test(secret))?.[1], needs);
}
