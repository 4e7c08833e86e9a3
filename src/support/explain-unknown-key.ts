import { liveStatus } from '../licensing/states';
import type { Cause, Facts, Finding, Likely } from './findings';

/** Explains to support which licence an unknown key was probably meant for. */

const SLIPS: Record<Likely['slip'], (id: number, whose: string) => string> = {
  'one-character': (id, whose) => `${whose} differs from licence ${id}'s in one character`,
  transposed: (id, whose) => `${whose} is licence ${id}'s with two neighbouring characters swapped`,
  missing: (id, whose) => `${whose} is licence ${id}'s with one character left out`,
  extra: (id, whose) => `${whose} is licence ${id}'s with one character too many`,
  confused: (id, whose) =>
    `${whose} is licence ${id}'s with a letter for a digit that looks like it (O for 0, I or l for 1) or the other way round`,
  spelling: (id, whose) =>
    `${whose} is licence ${id}'s in another spelling (case, or hyphens in other places)`,
  elsewhere: (id) => `it ends like licence ${id}'s, and then the mistake is in a part before its end`,
  shape: (id) =>
    `it ends like licence ${id}'s, but is not a whole key: before its end a character is missing, or one too many, or not one of 0-9 and A-F`,
  replaced: (id) => `it ends like the key that licence ${id} had before "licensing license rekey"`,
  ended: (id) => `it ends like a key of licence ${id} that has ended`,
};

/** `whose` names what was compared, the key or its end; `more` is the text when there is no candidate. */
export function unknownKeyCause(
  candidates: Likely[],
  whose: string,
  more: string,
  { now, about }: Pick<Facts, 'now' | 'about'>,
): Cause {
  const [first, ...others] = candidates;
  if (first === undefined)
    return {
      code: 'UNKNOWN_KEY',
      because: `the key is unknown${more}`,
      remedy:
        'Ask the customer for the whole key, for "licensing why -", or for their e-mail, for "licensing why EMAIL". There is no end of a key that has fewer than 16 characters.',
    };
  const { license, slip, by, hasEnded } = first;
  const theirs = by === 'key' ? '' : `it may be meant for licence ${license.id}: `;
  const also =
    others.length === 0 ? '' : ` (also possible: ${others.map((other) => other.license.id).join(', ')})`;
  const cause = {
    code: slip === 'replaced' ? 'KEY_REPLACED' : slip === 'ended' ? 'KEY_ENDED' : 'KEY_MISTYPED',
    because: `the key is unknown; ${theirs}${SLIPS[slip](license.id, whose)}${also}${hasEnded ? ', and that key has ended' : ''}`,
  };
  const status = liveStatus(license, now);
  // The correct key would be refused as well.
  if (status !== 'active')
    return {
      ...cause,
      because: `${cause.because}; licence ${license.id} is ${status} now`,
      remedy: about?.licenseId === license.id ? null : `licensing why ${license.id}`,
    };
  if (slip === 'ended' || hasEnded)
    return { ...cause, remedy: about?.licenseId === license.id ? null : `licensing why ${license.id}` };
  return {
    ...cause,
    remedy:
      slip === 'replaced'
        ? `If so, the customer needs the new key: licensing license reveal ${license.id}`
        : 'The customer should paste the whole key again, in Joomla under System > Update > Update Sites, into Download Key.',
  };
}

/** Does not repeat the text that was looked for, which may be a key. */
export const NOTHING_FOUND =
  "No licence has this as its id, its key or the end of it, its customer's e-mail, its order's reference or what is activated on it or was refused lately.";

/** Explains which key an unknown text was meant to be. `likely` has the likeliest first. */
export function explainUnknownKey(likely: Likely[], what: 'key' | 'end', now: Date): Finding {
  const whose = what === 'end' ? 'this end' : likely[0]?.by === 'key' ? 'it' : 'its end';
  const { code, because, remedy } = unknownKeyCause(likely, whose, '', { now });
  if (likely.length === 0) return { code, text: NOTHING_FOUND, remedy };
  return {
    code,
    text: `No licence has ${what === 'key' ? 'this key' : 'a key with this end'}: ${because}.`,
    remedy,
  };
}
