import { hash } from 'node:crypto';

/** What a caller may do, from little to much: read; issue licences and handle its own; everything. */
export const SCOPES = ['read', 'issue', 'write'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls the operator's API. */
export interface Caller {
  scope: Scope;
  /** the token's name, or the login name of the Joomla account */
  name: string;
  /** the author in the history: `token:NAME` or `joomla:LOGIN` */
  actor: string;
  /** the id of one of our own tokens; null: a Joomla API token */
  tokenId: number | null;
  /** the Joomla account behind it: what is made through it ends with that account's right; null: none */
  joomlaUserId: number | null;
  /** as it was sent; only to derive keys from, never stored or logged */
  credential: string;
}

/** What limits and repeated calls are counted by: stable for a token, and tells nothing about its secret. */
export function callerKey({ tokenId, joomlaUserId }: Caller): string {
  return hash('sha256', tokenId === null ? `joomla ${joomlaUserId ?? ''}` : `token ${tokenId}`).slice(0, 32);
}
