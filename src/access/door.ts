import { hash } from 'node:crypto';
import { judgeSiteOperator, type Site, type SiteOff, type SiteVerdict } from '../joomla/site/api-tokens';
import { readSiteSecret } from '../joomla/site/configuration';
import { readTicket, type Ticket, type TicketPurpose } from '../joomla/site/door-ticket';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { insertCode, type StoredCode } from '../store/one-time-codes';
import { inTransaction } from '../store/engine/transaction';
import { createCache } from '../licensing/memory';
import type { Caller } from './caller';
import { siteAway } from './site-away';

/**
 * The door in Joomla: its component sends who is signed in there, in a ticket that only this site can make
 * (joomla/site/door-ticket.ts). Who may come in is judged by the site's tables, not by the ticket.
 */

/** TICKET: forged, of another site, expired or used. ACCOUNT: gone, blocked or renamed. GROUP: of no operator's group. */
export type DoorRefusal = 'SITE' | 'TICKET' | 'ACCOUNT' | 'GROUP';

export interface Door {
  /** Uses a ticket up. @throws what the database throws; SITE_AWAY */
  enter: (ticket: string) => Promise<Caller | { refused: DoorRefusal }>;
  /** Whom a ticket for the overview names. @throws as `enter` */
  look: (ticket: string) => Promise<Caller | { refused: DoorRefusal }>;
  /** Whether an account may still come in; looked at again after two seconds. @throws as `enter` */
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
    const verdict = await judgeSiteOperator(db, site as Site, userId).catch(siteAway);
    if ('refused' in verdict) return { refused: verdict.refused === 'FORBIDDEN' ? 'GROUP' : 'ACCOUNT' };
    // An id that was given to another account in the meantime.
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
      return 'user' in (await accounts(userId, () => judgeSiteOperator(db, site, userId).catch(siteAway)));
    },
  };
}

/** Read at each use, as for Joomla's own tokens: the secret is not kept. */
function secretOf({ root }: Site): string {
  try {
    return readSiteSecret(root).secret;
  } catch (error) {
    return siteAway(error);
  }
}

/** Keeps the nonce until the ticket expires, for all instances. @returns whether this is the first use */
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
