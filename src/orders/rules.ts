import { OperatorError } from '../licensing/operator-error';
import { ORDER_EVENTS, type Effect, type OrderEventName } from './fold';

/** What a shop's events do. */

export type Rules = Record<OrderEventName, Effect>;

/** `cancel` is final, so it is the default only for an order that never became valid. */
export const DEFAULT_RULES: Rules = {
  paid: 'issue',
  renewed: 'renew',
  upgraded: 'change_plan',
  refunded: 'suspend',
  charged_back: 'suspend',
  chargeback_reversed: 'reinstate',
  subscription_ended: 'none',
  cancelled: 'cancel',
};

const STOPPING: readonly OrderEventName[] = ['refunded', 'charged_back', 'subscription_ended', 'cancelled'];

/** The effects that an event may have. */
export function effectsOf(event: OrderEventName): Effect[] {
  return STOPPING.includes(event) ? ['none', 'suspend', 'cancel'] : [DEFAULT_RULES[event], 'none'];
}

export function readRules({ rulesJson }: { rulesJson: string | null }): Rules {
  return { ...DEFAULT_RULES, ...(rulesJson === null ? {} : (JSON.parse(rulesJson) as Partial<Rules>)) };
}

/** @returns what differs from the default; null: nothing */
export function storedRules(rules: Rules): string | null {
  const changed = ORDER_EVENTS.filter((event) => rules[event] !== DEFAULT_RULES[event]);
  return changed.length === 0
    ? null
    : JSON.stringify(Object.fromEntries(changed.map((event) => [event, rules[event]])));
}

/** @throws OperatorError for an event or effect that there is not */
export function requireRule(event: string, effect: string, field: string): [OrderEventName, Effect] {
  const known = ORDER_EVENTS.find((one) => one === event);
  if (known === undefined)
    throw invalid(`"${event}" is not an event. Events are ${ORDER_EVENTS.join(', ')}.`, field);
  const allowed = effectsOf(known).find((one) => one === effect);
  if (allowed === undefined)
    throw invalid(`"${known}" can be ${effectsOf(known).join(' or ')}, not "${effect}".`, field);
  return [known, allowed];
}

function invalid(message: string, field: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}
