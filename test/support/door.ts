import { createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** The content of a ticket of the component in Joomla (php/door/admin/src/Ticket.php), for invalid and old tickets. */
export interface TicketSaid {
  id: number;
  name: string;
  /** in seconds since 1970 */
  expires: number;
  nonce: string;
}

export function makeTicket(
  secret: string,
  said: Partial<TicketSaid> & Pick<TicketSaid, 'id' | 'name'>,
  purpose: 'enter' | 'overview' = 'enter',
): string {
  const expires = Math.floor(Date.now() / 1_000) + 60;
  const all = { expires, nonce: randomBytes(16).toString('base64url'), ...said };
  const payload = Buffer.from(JSON.stringify(all)).toString('base64url');
  const key = Buffer.from(hkdfSync('sha256', secret, '', `licensing door ${purpose}`, 32));
  return `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`;
}
