import { hash } from 'node:crypto';
import { judgeSiteOperator, type Site, type SiteOff, type SiteVerdict } from '../joomla/site/api-tokens';
import { readSiteSecret } from '../joomla/site/configuration';
import { readTicket, type Ticket, type TicketPurpose } from '../joomla/site/door-ticket';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { insertCode, type StoredCode } from '../store/one-time-codes';
import { inTransaction } from '../store/engine/transaction';
import { createCache } from '../licensing/core/ttl-map';
import type { Caller } from './caller';
import { throwSiteUnavailable } from './site-away';

/**
 * Single sign-on from Joomla: its component sends the signed-in account in a ticket that only this site can make
 * (joomla/site/door-ticket.ts). The site's tables decide who may enter, not the ticket.
 */

/** TICKET: forged, foreign, expired or used. ACCOUNT: deleted, blocked or renamed. GROUP: not in an operators' group. */
export type DoorRefusal = 'SITE' | 'TICKET' | 'ACCOUNT' | 'GROUP';

export interface Door {
  /** Signs in by a ticket, once. @throws the database's error; SITE_AWAY if configuration.php cannot be read */
  enter: (ticket: string) => Promise<Caller | { refused: DoorRefusal }>;
  /** Returns the caller of a ticket for the overview, which may only read. @throws like `enter` */
  look: (ticket: string) => Promise<Caller | { refused: DoorRefusal }>;
  /** Reports whether an account may still enter; cached for two seconds. @throws like `enter` */
  isIn: (userId: number) => Promise<boolean>;
}

const LIFETIME_MS = 2_000;

export function createDoor(db: Db, site: Site | SiteOff, now: () => Date): Door {
  const accounts = createCache<SiteVerdict>(LIFETIME_MS, () => now().getTime());

  function read(text: string, purpose: TicketPurpose): Ticket | { refused: DoorRefusal } {
    if (typeof site === 'string') return { refused: 'SITE' };
    return readTicket(text, purpose, secretOf(site), now()) ?? { refused: 'TICKET' };
  }

  async function callerOf(
    { userId, login }: Ticket,
    ticket: string,
  ): Promise<Caller | { refused: DoorRefusal }> {
    const verdict = await judgeSiteOperator(db, site as Site, userId).catch(throwSiteUnavailable);
    if ('refused' in verdict) return { refused: verdict.refused === 'FORBIDDEN' ? 'GROUP' : 'ACCOUNT' };
    // Refuse an id that now belongs to another account.
    if (verdict.user.login !== login) return { refused: 'ACCOUNT' };
    return {
      scope: 'write',
      name: login,
      actor: `joomla:${login}`,
      tokenId: null,
      joomlaUserId: userId,
      byDoor: true,
      credential: ticket,
    };
  }

  return {
    async enter(text) {
      const ticket = read(text, 'enter');
      if ('refused' in ticket) return ticket;
      return (await useUp(db, ticket, now())) ? callerOf(ticket, text) : { refused: 'TICKET' };
    },
    async look(text) {
      const ticket = read(text, 'overview');
      if ('refused' in ticket) return ticket;
      const caller = await callerOf(ticket, text);
      return 'refused' in caller ? caller : { ...caller, scope: 'read' };
    },
    async isIn(userId) {
      if (typeof site === 'string') return false;
      return (
        'user' in
        (await accounts(userId, () => judgeSiteOperator(db, site, userId).catch(throwSiteUnavailable)))
      );
    },
  };
}

/** Reads the site's secret at each use, like Joomla's own tokens, so that it is not kept in memory. */
function secretOf({ root }: Site): string {
  try {
    return readSiteSecret(root).secret;
  } catch (error) {
    return throwSiteUnavailable(error);
  }
}

/** Stores the nonce until the ticket expires, for all instances. @returns whether this is the first use */
async function useUp(db: Db, { nonce, expiresAt }: Ticket, now: Date): Promise<boolean> {
  try {
    const used: StoredCode = {
      codeDigest: hash('sha256', `ticket ${nonce}`),
      kind: 'ticket',
      actor: null,
      name: null,
      scope: null,
      operatorId: null,
      customerDigest: null,
      createdAt: now,
      expiresAt,
    };
    await inTransaction(db, (trx) => insertCode(trx, used));
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}
