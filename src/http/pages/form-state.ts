import { randomBytes } from 'node:crypto';
import type { RefusalFacts } from '../../licensing/operator-error';
import type { Texts } from '../../texts/operators/texts';
import { wordsOf } from '../../transfer/refusals';

/** A form to show: empty at first, or with the submitted values and the mistake. */
export interface FormState {
  /** a one-time id, new whenever the form is shown, so that sending the form twice has one effect (idempotency) */
  id: string;
  wasSent: boolean;
  /** returns the submitted value; undefined if it was not sent */
  value: (name: string) => string | undefined;
  failure: FormFailure | undefined;
  /** returns the mistake in a field */
  error: (name: string) => string | undefined;
}

/** The reason of a refusal that a sign-in in another tab removes. */
export const SIGN_IN_AGAIN = 'sign-in-again';

export interface FormFailure {
  field: string | undefined;
  /** the message in the page's language */
  sentence: string;
  /** the reason code of the refusal */
  reason?: string | undefined;
}

/**
 * Returns a field of a public form without surrounding blanks. A text of more than `most` characters is cut after one
 * more, so that it cannot match anything and is still shown again.
 */
export function fieldOf(sent: URLSearchParams, name: string, most = 255): string {
  return (sent.get(name) ?? '').trim().slice(0, most + 1);
}

/** Creates a form's state. @param sent undefined for a new form @param id the id of a form whose work is unfinished */
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

/** Returns the page's own sentence for a refusal. The service's message is for programs: English, with field names. */
export function toFormFailure(
  { common: { errors }, moved }: Texts,
  { field, facts, status }: { field: string | undefined; facts?: RefusalFacts | undefined; status: number },
): FormFailure {
  const byReason: Record<string, string> = errors.byReason;
  const byField: Record<string, string> = errors.byField;
  const reason = facts?.reason;
  // Use the first part of a name: "rules.refunded" is one of the fields of "rules".
  const own = wordsOf(moved.refusals, facts) ?? byReason[reason ?? ''] ?? byField[field?.split('.')[0] ?? ''];
  return { field, reason, sentence: own ?? (status === 409 ? errors.conflict : errors.other) };
}
