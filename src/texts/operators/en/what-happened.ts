import type { RequestFacts, Slip } from '../../../support/finding-model';
import { thing } from '../../customers/en/words';

/** The recorded requests of a licence (support/request-history.ts). */
export const whatHappened = {
  /** @param activationType the plan's activation type */
  attempt: ({ endpoint, identifier, other_key }: RequestFacts, activationType: string): string => {
    const key = other_key ? ' with another key' : '';
    const it = identifier ?? thing(activationType).a;
    switch (endpoint) {
      case 'download':
        return `Update${key} refused`;
      case 'check':
        return `Check before a download${key} refused`;
      case 'activate':
        return `Adding ${it}${key} refused`;
      case 'deactivate':
        return `Removing ${it}${key} refused`;
      case 'validate':
        return `Validation${key} refused`;
      case 'token':
        return `File for ${it}${key} refused`;
      case 'updates':
        return `Update check${key} refused`;
    }
  },
  refused: ({ what, because }: { what: string; because: string }) => `${what}: ${because}`,
  succeeded: ({ endpoint, version, identifier }: RequestFacts): string => {
    const which = version === null ? 'A version' : `Version ${version}`;
    if (endpoint === 'check') return `A program asked: ${which} may be downloaded.`;
    return endpoint === 'download' ? `${which} sent.` : `Accepted${identifier ? `: ${identifier}` : ''}.`;
  },
  repeated: (count: string, since: string) => `${count} times since ${since}.`,
  worksAgain: (since: string) => `Works again since ${since}.`,
  mistyped: 'the key is mistyped',
  rateLimited: 'too many requests from this address. Only the first of each minute is recorded',
  near: (seen: string, hint: string, slip: string) =>
    `It ends in ${seen}, this licence’s in ${hint}: ${slip}.`,
  slips: {
    'one-character': 'one character differs',
    transposed: 'two neighbouring characters are swapped',
    missing: 'one character is missing',
    extra: 'there is one character too many',
    confused:
      'a letter stands for a digit that looks like it (O for 0, I or l for 1), or the other way round',
    spelling: 'capital and small letters differ',
    elsewhere: 'the mistake is before the end',
    shape: 'the mistake is before the end, where a character is missing, too many or not one of 0-9 and A-F',
  } satisfies Record<Slip, string>,
  advice: {
    RATE_LIMITED: 'It helps to wait a minute.',
    GRANTED_REPEATEDLY:
      'If the customer reports a failure all the same, ask what Joomla said: it happened after the download.',
  },
};
