import { hash } from 'node:crypto';

/** What a caller may do, from little to much: read; issue licences and handle its own; everything. */
export const SCOPES = ['read', 'issue', 'write'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who calls the operator's API. */
export interface Caller {
  scope: Scope;
  /** the token's name, the login name of the Joomla account, or who a one-time link was for */
  name: string;
  /** the author in the history: `token:NAME`, `joomla:LOGIN`, `operator:root` or `operator:EMAIL` */
  actor: string;
  /** the id of one of our own tokens; null: a Joomla API token, or a one-time link */
  tokenId: number | null;
  /** the Joomla account behind it: what is made through it ends with that account's right; null: none */
  joomlaUserId: number | null;
  /** Joomla signed that account in, and its component passed it on: no API token is behind it (access/door.ts) */
  byDoor?: true | undefined;
  /** the browser's session (sessions.ts), which the above opened; undefined: the token itself is sent */
  session?: { id: number; signedInAt: Date } | undefined;
  /** as it was sent, of a session the cookie's value; only to derive keys from, never stored or logged */
  credential: string;
}

/** What limits and repeated calls are counted by: stable for a token or session, and tells nothing about its secret. */
export function callerKey({ tokenId, joomlaUserId, session }: Caller): string {
  const who =
    session !== undefined
      ? `session ${session.id}`
      : tokenId === null
        ? `joomla ${joomlaUserId ?? ''}`
        : `token ${tokenId}`;
  return hash('sha256', who).slice(0, 32);
}
