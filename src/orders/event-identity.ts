import { toSqlTime } from '../store/engine/time';
import { digest } from './names';

/** What tells the events of an order apart. */

interface Identified {
  event: string;
  at: Date;
  eventId?: string | null | undefined;
  payment?: string | undefined;
  lines?: { line: string }[] | undefined;
}

/** Returns the digest of the sender's own id; without one, of the event, what it is about and its full time. */
export function eventIdentity({ event, at, eventId, payment, lines }: Identified): string {
  if (typeof eventId === 'string') return digest('id', eventId);
  const names = lines === undefined ? null : lines.map(({ line }) => line).sort();
  return digest('event', event, payment ?? '', JSON.stringify(names), at.toISOString());
}

/** Returns the digests by which an event is found: its own, and the one that earlier versions stored it with. */
export function knownIdentities(given: Identified): string[] {
  const { event, at, eventId } = given;
  const own = eventIdentity(given);
  return typeof eventId === 'string' ? [own] : [own, digest('at', event, toSqlTime(at))];
}
