import { randomBytes } from 'node:crypto';
import type { RefusalFacts } from '../../licensing/operator-error';
import type { Texts } from '../../texts/operators/texts';
import { wordsOf } from '../../transfer/refusals';

/** A form as it is shown: at first, or again with what was typed and what is wrong with it. */
export interface FormState {
  /** new each time it is shown: sending the same one twice does it once */
  id: string;
  wasSent: boolean;
  /** what was typed; undefined: not sent */
  value: (name: string) => string | undefined;
  failure: FormFailure | undefined;
  /** what is wrong with a field */
  error: (name: string) => string | undefined;
}

/** The reason of a refusal that a sign-in in another tab mends. */
export const SIGN_IN_AGAIN = 'sign-in-again';

export interface FormFailure {
  field: string | undefined;
  /** in the page's language */
  sentence: string;
  /** the domain's */
  reason?: string | undefined;
}

/**
 * A field that anybody may fill, without the blanks around it. What is longer than `most` characters is cut, to one more: it is
 * nothing that could be found, and is shown again.
 */
export function fieldOf(sent: URLSearchParams, name: string, most = 255): string {
  return (sent.get(name) ?? '').trim().slice(0, most + 1);
}

/** @param sent undefined: the form is shown for the first time @param id of a form that is not done yet */
export function formState(
  sent?: URLSearchParams,
  failure?: FormFailure,
  id = randomBytes(16).toString('base64url'),
): FormState {
  return {
    id,
    wasSent: sent !== undefined,
    value: (name) => sent?.get(name) ?? undefined,
    failure,
    error: (name) => (failure?.field === name ? failure.sentence : undefined),
  };
}

/** The page's own sentence for a refusal: what the service says is for programs, in English and with the names of its fields. */
export function toFormFailure(
  { common: { errors }, moved }: Texts,
  { field, facts, status }: { field: string | undefined; facts?: RefusalFacts | undefined; status: number },
): FormFailure {
  const byReason: Record<string, string> = errors.byReason;
  const byField: Record<string, string> = errors.byField;
  const reason = facts?.reason;
  // "rules.refunded" is one of the fields of "rules".
  const own = wordsOf(moved.refusals, facts) ?? byReason[reason ?? ''] ?? byField[field?.split('.')[0] ?? ''];
  return { field, reason, sentence: own ?? (status === 409 ? errors.conflict : errors.other) };
}
