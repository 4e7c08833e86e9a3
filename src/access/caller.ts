import { hash } from 'node:crypto';

/** The scopes, from least to most: read; issue licences and change one's own; everything. */
export const SCOPES = ['read', 'issue', 'write'] as const;
export type Scope = (typeof SCOPES)[number];

/** The caller of the operator's API. */
export interface Caller {
  scope: Scope;
  /** the token's name, the login name of the Joomla account, or the person that a one-time link was for */
  name: string;
  /** the author in the history: `token:NAME`, `joomla:LOGIN`, `operator:root` or `operator:EMAIL` */
  actor: string;
  /** the id of our own token; null for a Joomla API token or a one-time link */
  tokenId: number | null;
  /** the Joomla account of the caller; its tokens and sessions end with its rights; null if there is none */
  joomlaUserId: number | null;
  /** true if Joomla's component passed a signed-in account on, without an API token (access/door.ts) */
  byDoor?: true | undefined;
  /** the browser's session (sessions.ts), which this caller opened; undefined if the token itself is sent */
  session?: { id: number; signedInAt: Date } | undefined;
  /** the token, or the session cookie's value; only for deriving keys, never stored or logged */
  credential: string;
}

/** Returns the key by which limits and repeated calls are counted. It is stable, and reveals nothing about the secret. */
export function callerKey({ tokenId, joomlaUserId, session }: Caller): string {
  const who =
    session !== undefined
      ? `session ${session.id}`
      : tokenId === null
        ? `joomla ${joomlaUserId ?? ''}`
        : `token ${tokenId}`;
  return hash('sha256', who).slice(0, 32);
}
