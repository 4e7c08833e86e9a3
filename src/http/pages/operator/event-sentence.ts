import { inBothForms } from '../../../licensing/core/identifiers';
import type { RecordedEvent } from '../../../licensing/license-view';
import { paidUntil } from '../../../licensing/core/states';
import { reasonInWords } from '../../../support/sentences';
import type { Format } from '../format';
import type { Texts } from '../../../texts/operators/texts';

/** Describes audit events of a licence in sentences. Pure functions. */

export interface EventWords {
  /** the activation type of the licence's plan, such as `domain` */
  activationType: string;
  /** names of plans by id; the id is shown for a missing one */
  plans?: ReadonlyMap<number, string>;
}

/** Describes the change, such as `Slots 10 → 25`. */
export function eventSentence(event: RecordedEvent, t: Texts, format: Format, words: EventWords): string {
  const { history } = t;
  const { reason } = event.after ?? {};
  const what = changeOf(event, t, format, words);
  const told = typeof reason === 'string' ? reasonInWords(reason, t) : '';
  const sentence = told === '' ? what : history.because(what, told);
  if (event.times < 2 || event.lastAt === null) return sentence;
  return history.repeated(sentence, format.number(event.times), format.moment(event.lastAt));
}

function changeOf(
  { action, before, after }: RecordedEvent,
  { common, history }: Texts,
  format: Format,
  { activationType, plans = new Map() }: EventWords,
): string {
  const [was, is] = [before ?? {}, after ?? {}];
  const text = (value: unknown) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const orNone = (value: unknown) => text(value) || common.none;
  const day = (value: unknown) => (typeof value === 'string' ? format.day(new Date(value)) : undefined);
  const ends = ({ expires_at: end, grace_days: grace = 0 }: Record<string, unknown>) =>
    typeof end === 'string'
      ? format.day(paidUntil({ expiresAt: new Date(end), graceDays: Number(grace) }) as Date)
      : common.never;
  const slots = (value: unknown) =>
    value === 0 ? common.unlimited : typeof value === 'number' ? format.number(value) : common.none;
  const plan = (id: unknown) => plans.get(Number(id)) ?? text(id);
  const identifier = inBothForms(text(is.identifier) || text(was.identifier), activationType);
  switch (action) {
    case 'issue':
      return history.issued(text(is.reference));
    case 'import':
      return before === null && 'status' in is ? history.imported(text(is.reference)) : history.importChanged;
    case 'suspend':
      return history.suspended;
    case 'reinstate':
      return history.reinstated;
    case 'revoke':
      return history.revoked;
    case 'cancel':
      return history.cancelled;
    case 'renew':
      return was.status === 'suspended' ? history.revived(ends(is)) : history.renewed(ends(is), ends(was));
    case 'set-end':
      if (is.renews_itself === false) return history.renewsNoMore(ends(is));
      if (is.renews_itself === true && ends(is) === ends(was)) return history.renewsItself(ends(is));
      return history.endSet(ends(is), ends(was));
    case 'set-limit':
      return history.limit(slots(was.activation_limit), slots(is.activation_limit));
    case 'change-plan': {
      const change = history.plan(plan(was.plan_id), plan(is.plan_id));
      return was.activation_limit === is.activation_limit
        ? change
        : `${history.limit(slots(was.activation_limit), slots(is.activation_limit))}, ${change}`;
    }
    case 'set-customer':
      return history.customer(orNone(was.customer), orNone(is.customer));
    case 'set-metadata': {
      const names = [was.metadata, is.metadata].flatMap((one) => Object.keys((one as object | null) ?? {}));
      return history.metadata([...new Set(names)].join(', '));
    }
    case 'erase-customer':
      return history.erased;
    case 'add-key':
      return history.keyAdded(orNone(is.key_hint), text(is.label));
    case 'edit-key': {
      const keyEnds = (value: unknown) => day(value) ?? history.withLicense;
      const changes = [
        was.label !== is.label && history.keyLabel(orNone(was.label), orNone(is.label)),
        was.activation_limit !== is.activation_limit &&
          history.keySlots(slots(was.activation_limit), slots(is.activation_limit)),
        was.ends_at !== is.ends_at && history.keyEnds(keyEnds(was.ends_at), keyEnds(is.ends_at)),
      ];
      return history.keyChanged(orNone(is.key_hint), changes.filter(Boolean).join(', '));
    }
    case 'end-key':
      return history.keyEnded(orNone(is.key_hint));
    case 'rekey': {
      const made = history.rekeyed(orNone(is.key_hint), orNone(was.key_hint));
      const until = day(is.old_key_ends_at);
      return until === undefined ? made : `${made}, ${history.overlap(until)}`;
    }
    case 'reveal':
      return history.revealed;
    case 'answer':
      return history.answered(text(is.to));
    case 'notify':
      return history.notified(text(is.version));
    case 'activate':
      return is.free === true
        ? history.activatedFree(activationType, identifier)
        : history.activated(activationType, identifier);
    case 'rename-activation':
      return history.renamed(activationType, identifier, orNone(was.name), orNone(is.name));
    case 'free-activation':
      return history.freed(activationType, identifier);
    case 'hold-activation':
      return history.held(activationType, identifier, day(is.held_until) ?? common.none);
    case 'deactivate':
      return history.deactivated(activationType, identifier);
    case 'payment-failed':
      return history.paymentFailed(day(is.failed_at) ?? common.none, is.mailed === true);
    case 'repair':
      return history.repaired(text(was.activations_used), text(is.activations_used));
  }
}
