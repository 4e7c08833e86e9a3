import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import type { RemedyButton, RemedyStep } from '../texts/operators/remedy';
import { extendedUntil } from '../licensing/lifecycle';
import { liveStatus, paidUntil } from '../licensing/core/states';
import type { License } from '../store/licenses/licenses';
import { reactivationAction } from './explain-license';
import type { RemedyAction } from './finding-model';
import type { GroupedFindings } from './grouped-findings';

/** The remedy that makes a refused licence work again, for the licence's page. The functions are pure. */

export type Remedy = RemedyStep & RemedyButton;

interface RemedyOptions {
  license: License;
  /** the duration of the licence's plan; null: lifetime */
  planDuration: string | null;
  language: OperatorLanguage;
  now: Date;
}

/** @returns the best step, null if updates and new sites work or the state is unknown, and the other possible steps */
export function remedyOf(
  answer: GroupedFindings,
  options: RemedyOptions,
): { remedy: Remedy | null; others: Remedy[] } {
  const { now } = answer;
  const steps = [
    ...(now?.updates.allowed === false ? stepsFor(now.updates.code, answer, options) : []),
    ...(now?.new_site.allowed === false ? stepsFor(now.new_site.code, answer, options) : []),
  ];
  const types = steps.map(({ type }) => type);
  const [remedy = null, ...others] = steps
    .filter(({ type }, i) => types.indexOf(type) === i)
    .map((step) => ({
      ...step,
      ...OPERATORS[options.language].remedy(step, options.license.plan.activationType),
    }));
  return { remedy, others };
}

/** Returns the steps that end a refusal, best first. */
function stepsFor(
  code: string | null,
  answer: GroupedFindings,
  { license, planDuration, now }: RemedyOptions,
): RemedyStep[] {
  const { plan, customer, product } = license;
  switch (code) {
    case 'LICENSE_EXPIRED':
    case 'LICENSE_INACTIVE': {
      const action = reactivationAction(license, now);
      if (action?.type === 'reinstate') return [{ type: 'reinstate', until: paidUntil(license) }];
      if (action?.type !== 'renew') return [{ type: 'issue', planId: plan.id, customer }];
      const duration = planDuration ?? action.for;
      return [{ type: 'renew', duration, until: extendedUntil(license, duration, now) }];
    }
    case 'ACTIVATION_LIMIT_REACHED':
      return [{ type: 'remove_site' }, ...moreSlots(answer, license), { type: 'change_plan' }];
    case 'DOWNLOAD_NOT_FOUND': {
      const action = actionOf(answer, 'NOTHING_PUBLISHED');
      return [{ type: 'publish', productId: action?.type === 'publish' ? action.product_id : product.id }];
    }
    case 'FILE_NOT_FOUND':
      return [{ type: 'restore_package' }];
    case 'LICENSE_NOT_FOUND': {
      if (liveStatus(license, now) !== 'active')
        return stepsFor('LICENSE_INACTIVE', answer, { license, planDuration, language: 'en', now });
      const action = actionOf(answer, 'KEY_REPLACED') ?? actionOf(answer, 'KEY_ENDED');
      return action?.type === 'reveal'
        ? [{ type: 'show_key', keyId: action.key_id ?? null }]
        : [{ type: 'add_key' }];
    }
    default:
      return [];
  }
}

/** Returns steps for the limits that are reached: the licence's, the key's, or both. */
function moreSlots(
  { about, fullKey: key }: GroupedFindings,
  { activationLimit, activationsUsed }: License,
): RemedyStep[] {
  if (about.has('KEY_SHARED')) return [];
  return [
    ...(activationLimit !== 0 && activationsUsed >= activationLimit
      ? [{ type: 'raise_limit' as const, slots: activationsUsed + 1 }]
      : []),
    ...(key
      ? [{ type: 'raise_key_limit' as const, keyId: key.key_id, slots: key.activations_used + 1 }]
      : []),
  ];
}

/** Returns the action of a finding about the licence or its key. */
function actionOf({ about }: GroupedFindings, code: string): RemedyAction | null {
  return about.get(code)?.action ?? null;
}
