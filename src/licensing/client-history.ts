import { dayOf } from '../base/days';
import { networkOfClient } from './ip-addresses';
import {
  findEventsAt,
  insertEvents,
  repeatEvent,
  type LicenseEvent,
  type RecordedEvent,
} from '../store/events';
import type { RecordChanges } from './core/ledger';
import { createTtlMap } from './core/ttl-map';
import { enqueueLicenseWebhooks } from './webhook-events';

/** The time for which equal events are counted on the first, but not beyond its day, for the daily sums. */
const WINDOW_MS = 60 * 60 * 1000;
/** The maximum number of a client's events on a licence in that time; later ones lose their identifier and name. */
const MAX_EVENTS = 200;
/** The maximum number of remembered events, about 5 MB. An equal event is inserted again once the first is forgotten. */
const MAX_REMEMBERED = 20_000;

interface First {
  at: Date;
  actor: string;
}

type EventRow = LicenseEvent & Pick<RecordedEvent, 'times' | 'lastAt'>;

/**
 * Keeps clients from filling the disk: repeated changes of an activation are counted on the first event, which keeps
 * the first "before" and the latest "after". Each process remembers only its own events.
 */
export function createClientHistory(): RecordChanges {
  const firsts = createTtlMap<First>(MAX_REMEMBERED, WINDOW_MS);
  const budgets = createTtlMap<{ at: Date; events: number }>(MAX_REMEMBERED, WINDOW_MS);

  function classify(event: LicenseEvent): { key: string; event: LicenseEvent; first: First | undefined } {
    const client = `${event.licenseId} ${clientOf(event.actor)}`;
    const kind = `${client} ${dayOf(event.at)} ${event.action}`;
    const key = `${kind} ${JSON.stringify(identifierOf(event))}`;
    const first = firsts.get(key, event.at);
    if (first) return { key, event, first };
    const budget = budgets.get(client, event.at) ?? budgets.set(client, { at: event.at, events: 0 });
    if (budget.events++ < MAX_EVENTS) return { key, event, first };
    return { key: kind, event: withoutTexts(event), first: firsts.get(kind, event.at) };
  }

  return async (trx, events) => {
    const added = new Map<string, EventRow>();
    const repeated = new Map<string, { event: EventRow; first: First }>();
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
        // The earlier event was rolled back, or erased with its customer.
        firsts.set(key, { at: event.at, actor: event.actor });
        added.set(key, { ...event, lastAt: event.times > 1 ? event.lastAt : null });
      }
    }
    if (added.size > 0) await insertEvents(trx, [...added.values()]);
    await enqueueLicenseWebhooks(trx, events);
  };
}

/** Returns the client of an actor, as rate limits count clients. */
function clientOf(actor: string): string {
  return networkOfClient(actor.slice(actor.indexOf(':') + 1));
}

function identifierOf({ before, after }: LicenseEvent): unknown {
  return after?.identifier ?? before?.identifier;
}

/** Removes the texts of an event above the budget. The activation itself has them while it exists. */
function withoutTexts(event: LicenseEvent): LicenseEvent {
  const strip = (fields: LicenseEvent['before']) =>
    fields && 'activations_used' in fields ? { activations_used: fields.activations_used } : null;
  return { ...event, before: strip(event.before), after: strip(event.after) };
}
