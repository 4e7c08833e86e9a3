import { networkOfClient } from '../ip-addresses';
import type { Transaction } from '../store/database';
import {
  findEventsAt,
  insertEvents,
  repeatEvent,
  type LicenseEvent,
  type RecordedEvent,
} from '../store/events';
import { createMemory } from './memory';

/** Writes what a client changed on licences, in the transaction of the change. */
export type RecordChanges = (trx: Transaction, events: LicenseEvent[]) => Promise<void>;

/** An event is repeated for this long after it was first written. */
const WINDOW_MS = 60 * 60 * 1000;
/** Events that one client may add to one licence's history in that time; further ones lose their identifier and name. */
const MAX_EVENTS = 200;
/** About 5 MB. What is forgotten is written as a new event. */
const MAX_REMEMBERED = 20_000;

/** What a client's event on one licence was first written as. */
interface First {
  at: Date;
  actor: string;
}

type Folded = LicenseEvent & Pick<RecordedEvent, 'times' | 'lastAt'>;

/**
 * Keeps a client from filling the disk with history: a repeated change of the same activation is counted on the event
 * of the hour that was written first, and tells of the first "before" and the latest "after". The memory is this
 * process's own, so each process may write one such event.
 */
export function createClientHistory(): RecordChanges {
  const firsts = createMemory<First>(MAX_REMEMBERED, WINDOW_MS);
  const budgets = createMemory<{ at: Date; events: number }>(MAX_REMEMBERED, WINDOW_MS);

  /** The event as it is to be written, and what it repeats. */
  function classify(event: LicenseEvent): { key: string; event: LicenseEvent; first: First | undefined } {
    const client = `${event.licenseId} ${clientOf(event.actor)}`;
    const key = `${client} ${event.action} ${JSON.stringify(identifierOf(event))}`;
    const first = firsts.get(key, event.at);
    if (first) return { key, event, first };
    const budget = budgets.get(client, event.at) ?? budgets.set(client, { at: event.at, events: 0 });
    if (budget.events++ < MAX_EVENTS) return { key, event, first };
    const shared = `${client} ${event.action}`;
    return { key: shared, event: withoutTexts(event), first: firsts.get(shared, event.at) };
  }

  return async (trx, events) => {
    const added = new Map<string, Folded>();
    const repeated = new Map<string, { event: Folded; first: First }>();
    for (const change of events) {
      const { key, event, first } = classify(change);
      const pending = added.get(key) ?? repeated.get(key)?.event;
      if (pending) {
        pending.times++;
        pending.lastAt = event.at;
        pending.after = event.after;
      } else if (first) repeated.set(key, { event: { ...event, times: 1, lastAt: event.at }, first });
      else {
        firsts.set(key, { at: event.at, actor: event.actor });
        added.set(key, { ...event, times: 1, lastAt: null });
      }
    }
    for (const [key, { event, first }] of repeated) {
      const written = await findEventsAt(trx, { ...event, ...first });
      const same = written.find((one) => identifierOf(one) === identifierOf(event));
      if (same) await repeatEvent(trx, same.id, event);
      else {
        // It was rolled back, or erased with its customer.
        firsts.set(key, { at: event.at, actor: event.actor });
        added.set(key, { ...event, lastAt: event.times > 1 ? event.lastAt : null });
      }
    }
    if (added.size > 0) await insertEvents(trx, [...added.values()]);
  };
}

/** As the rate limits count clients. */
function clientOf(actor: string): string {
  return networkOfClient(actor.slice(actor.indexOf(':') + 1));
}

function identifierOf({ before, after }: LicenseEvent): unknown {
  return after?.identifier ?? before?.identifier;
}

/** What is left of an event over the budget. While a site is activated, its activation still tells the rest. */
function withoutTexts(event: LicenseEvent): LicenseEvent {
  const strip = (fields: LicenseEvent['before']) =>
    fields && 'activations_used' in fields ? { activations_used: fields.activations_used } : null;
  return { ...event, before: strip(event.before), after: strip(event.after) };
}
