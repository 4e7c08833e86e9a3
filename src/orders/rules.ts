import { orderError } from './message';
import { ORDER_EVENTS, type Effect, type OrderEventName } from './order-events';

/** The rules of a shop, which give each event its effect. */

const WITHOUT_RULE = ['refund_failed', 'payment_failed', 'renewal_stopped', 'renewal_resumed'] as const;
type WithoutRule = (typeof WITHOUT_RULE)[number];

function hasRule(event: OrderEventName): event is Exclude<OrderEventName, WithoutRule> {
  return !(WITHOUT_RULE as readonly string[]).includes(event);
}

/**
 * The events whose effect a seller may choose, and `reduced`, an upgrade to fewer licences. A failed refund undoes the
 * refund, a failed payment changes nothing, and a stopped or resumed renewal only changes the end's grace period.
 */
export const RULES = [...ORDER_EVENTS.filter(hasRule), 'reduced'] as const;
type RuleName = (typeof RULES)[number];
export type OrderRules = Record<RuleName, Effect>;

/** The default effects. `cancel` is final, so it is only the default for an order that never became valid. */
export const DEFAULT_RULES: OrderRules = {
  paid: 'issue',
  renewed: 'renew',
  upgraded: 'change_plan',
  refunded: 'suspend',
  charged_back: 'suspend',
  chargeback_reversed: 'reinstate',
  subscription_ended: 'none',
  cancelled: 'cancel',
  reduced: 'none',
};

const STOPPING: readonly RuleName[] = ['refunded', 'charged_back', 'subscription_ended', 'cancelled'];

/** Lists the effects that a rule may have. */
export function effectsOf(rule: RuleName): Effect[] {
  if (rule === 'reduced') return ['none', 'cancel'];
  return STOPPING.includes(rule) ? ['none', 'suspend', 'cancel'] : [DEFAULT_RULES[rule], 'none'];
}

/** Returns the effect of an event by these rules. */
export function effectOf(event: OrderEventName, rules: OrderRules): Effect {
  if (hasRule(event)) return rules[event];
  return event === 'refund_failed' ? 'reinstate' : 'none';
}

export function readRules({ rulesJson }: { rulesJson: string | null }): OrderRules {
  return { ...DEFAULT_RULES, ...(rulesJson === null ? {} : (JSON.parse(rulesJson) as Partial<OrderRules>)) };
}

/** Returns the rules that differ from the default, as JSON; null if all are default. */
export function storedRules(rules: OrderRules): string | null {
  const changed = RULES.filter((rule) => rules[rule] !== DEFAULT_RULES[rule]);
  return changed.length === 0
    ? null
    : JSON.stringify(Object.fromEntries(changed.map((rule) => [rule, rules[rule]])));
}

/** Checks a rule and its effect. @throws OperatorError if it does not exist */
export function requireRule(rule: string, effect: string, field: string): [RuleName, Effect] {
  const known = RULES.find((one) => one === rule);
  if (known === undefined)
    throw orderError(`There is no rule for "${rule}". There are rules for ${RULES.join(', ')}.`, field);
  const allowed = effectsOf(known).find((one) => one === effect);
  if (allowed === undefined)
    throw orderError(`"${known}" can be ${effectsOf(known).join(' or ')}, not "${effect}".`, field);
  return [known, allowed];
}
