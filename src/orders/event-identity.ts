import type { OrderEvent } from '../store/orders/orders';
import { toSqlTime } from '../store/engine/time';
import type { OrderMessage } from './message';
import { digest } from './names';
import type { StoredLine } from './order-events';

/** The identity of an order's events, which makes processing them idempotent. */

type Identified = Pick<OrderMessage, 'event' | 'at' | 'eventId' | 'payment' | 'formerly'> & {
  lines?: { line: string }[] | undefined;
};

/** Returns a digest of the sender's event id; without an id, of the event's name, payment, lines and exact time. */
export function eventIdentity({ event, at, eventId, payment, lines }: Identified): string {
  if (eventId !== undefined) return digest('id', eventId);
  const names = lines === undefined ? null : lines.map(({ line }) => line).sort();
  return digest('event', event, payment ?? '', JSON.stringify(names), at.toISOString());
}

/** Reports whether a stored event is the same as a received one, even if an earlier version stored it. */
export function isSameEvent(stored: OrderEvent, told: Identified): boolean {
  const { event, at, eventId, formerly } = told;
  if (stored.identity === eventIdentity(told)) return true;
  if (eventId === undefined) return stored.identity === digest('at', event, toSqlTime(at));
  if (formerly === undefined || stored.event !== event || stored.eventId !== formerly.eventId) return false;
  const lines = JSON.parse(stored.linesJson ?? '[]') as StoredLine[];
  const isOfLine = formerly.line === undefined || lines.some(({ line }) => line === formerly.line);
  return isOfLine && (formerly.at === undefined || toSqlTime(stored.at) === toSqlTime(at));
}
