import { formatTimestamp } from '../base/days';
import type { LiveStatus } from '../licensing/core/states';
import type {
  RemedyAction,
  Cause,
  CauseCode,
  CauseFacts,
  FindingCode,
  Finding,
  Named,
  StateCode,
  StateFacts,
} from './finding-model';

/** Creates findings; `support/finding-model.ts` describes them. */

const TYPES: Record<RemedyAction['type'], true> = {
  renew: true,
  reinstate: true,
  issue: true,
  reveal: true,
  add_key: true,
  rekey: true,
  send_key: true,
  change_limit: true,
  change_key_limit: true,
  add_activation: true,
  remove_activation: true,
  publish: true,
  write_update_xml: true,
  change_product: true,
  map_sku: true,
  run_orders: true,
  confirm_order: true,
  settle_unmatched: true,
  why: true,
};

/** All types of actions, for a schema. */
export const ACTION_TYPES = Object.keys(TYPES) as RemedyAction['type'][];

type More = Partial<Pick<Finding, 'since' | 'count' | 'action'>>;

export function finding<C extends StateCode>(
  code: C,
  facts: StateFacts[C],
  { since = null, count = null, action = null }: More = {},
): Finding {
  return { code, facts, since, count: count === 0 ? null : count, action };
}

export function cause<C extends CauseCode>(
  code: C,
  facts: CauseFacts[C],
  action: RemedyAction | null = null,
): Cause {
  return { code, facts, action };
}

/** The codes of the states in which a licence does not work. */
export const CODE_OF = {
  expired: 'EXPIRED',
  suspended: 'SUSPENDED',
  revoked: 'REVOKED',
  cancelled: 'CANCELLED',
} as const satisfies Record<Exclude<LiveStatus, 'active'>, FindingCode>;

/** Returns members of a list as facts. */
export function named(things: Named[]): Named[] {
  return things.map(({ id, name }) => ({ id, name }));
}

export function timeOf(date: Date | null | undefined): string | null {
  return date ? formatTimestamp(date) : null;
}
