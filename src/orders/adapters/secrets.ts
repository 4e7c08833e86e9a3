/** What senders' secrets look like, so that another text of their settings is not taken for one. */

/** What a text that is not this sender's secret looks like. */
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

/** How secrets and API keys begin whose other characters are letters, digits and those of base64. */
const BEGINNINGS = 'whsec_|pdl_ntfset_|[rs]k_(?:live|test)_|pdl_(?:(?:live|sdbx)_)?apikey_|c[ks]_';
/** The signs that a page shows instead of a hidden part. */
const HIDDEN = '(?:…|[.•*]{3,})';
const COPIED_WRONG: [RegExp, 'cut' | 'twice'][] = [
  [new RegExp(`^(${BEGINNINGS})\\1`), 'twice'],
  [new RegExp(`${HIDDEN}$|^(?:${BEGINNINGS}).*${HIDDEN}`), 'cut'],
];

/** Returns what went wrong when a secret or an API key was copied; undefined: nothing that shows. */
export function copyFault(text: string): 'cut' | 'twice' | undefined {
  return COPIED_WRONG.find(([look]) => look.test(text))?.[1];
}

const IN_WORDS: Record<SecretLook, string> = {
  cut: 'It is not whole: dots, bullets or asterisks are in the place of a part.',
  twice: 'Its beginning is there twice.',
  api_key: 'It looks like an API key.',
  public_key: 'It looks like a public key.',
  id: 'It looks like an id.',
  hex: 'It looks like a hexadecimal key.',
  other_sender: 'It looks like the secret of another kind of sender.',
  other: 'It does not look like a secret of this sender.',
};

const QUOTED = /^(?:"(.*)"|'(.*)'|`(.*)`|“(.*)”|„(.*)[“”])$/;

/** Files of settings show a text with quotes. */
export function cleanCopied(copied: string): string {
  const text = copied.trim();
  return (QUOTED.exec(text)?.slice(1).find(Boolean) ?? text).trim();
}

/** Some settings show it with the version of the signature. */
function clean(copied: string): string {
  return cleanCopied(copied).replace(/^v1,/, '');
}

/** How an adapter judges what a seller enters as its sender's secret. */
export interface Secrets {
  /** The secret in what was copied from the sender's settings. */
  cleanSecret: (copied: string) => string;
  /** What a text looks like that cannot be one of this sender's secrets; undefined: it can. */
  secretLook: (secret: string) => SecretLook | undefined;
  /** The same in words, with what the sender's secrets look like. */
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
 * The secrets of a sender that begin all alike.
 * @param needs says what they look like, as a sentence @param isRest whether they may go on so; by default without spaces
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

/** The secrets of a sender whose user makes them up, or may: any text but one that is known for something else. */
export function secretsOfChoice(needs: string): Secrets {
  const known = LOOKS.filter(([, look]) => look !== 'hex' && look !== 'id');
  return judgedBy((secret) => known.find(([look]) => look.test(secret))?.[1], needs);
}
