import type { Link } from './sold';
import type { EndWithGrace } from '../licensing/core/states';
import type { Order, OrderEvent, OrderLine } from '../store/orders/orders';

/**
 * The changes that a decision about an order consists of. A `Ref` is a row's id. Rows that a decision adds have
 * negative ids until they are stored.
 */
export type Ref = number;

export type RenewableEnd = EndWithGrace & { renewsItself: boolean };

/** A change of a licence, with its reason for the history. */
interface OfLicense {
  license: Ref;
  reason: string;
}

/** The changes, which are applied in the order of the list. */
export type Change =
  | { type: 'set_order'; changes: Partial<Order> }
  | { type: 'tell_profile'; email: string; name: string | null; language: string | null; at: Date }
  | { type: 'name_customer'; license: Ref; email: string }
  | { type: 'add_line'; id: Ref; line: Omit<OrderLine, 'id'> }
  | { type: 'set_line'; id: Ref; changes: Partial<Omit<OrderLine, 'id' | 'orderId' | 'line'>> }
  /** The keys are generated when this is applied. */
  | {
      type: 'issue';
      licenses: { id: Ref; reference: string }[];
      planId: number;
      limit: number;
      end: RenewableEnd;
    }
  | { type: 'link'; id: Ref; link: Omit<Link, 'id'> }
  | { type: 'set_link'; id: Ref; changes: Partial<Pick<Link, 'state' | 'plans'>> }
  | ({ type: 'set_end'; end: RenewableEnd; isRenewal: boolean } & OfLicense)
  | ({ type: 'change_plan'; planId: number } & OfLicense)
  | ({ type: 'set_limit'; limit: number } & OfLicense)
  | { type: 'set_returned'; license: Ref; allReturned: boolean }
  | ({ type: 'suspend' | 'reinstate' | 'cancel' } & OfLicense)
  | { type: 'add_event'; event: Omit<OrderEvent, 'id'> }
  | {
      type: 'set_event';
      id: number;
      changes: Partial<Pick<OrderEvent, 'outcomeJson' | 'payment' | 'linesJson'>>;
    }
  | { type: 'keep_unmatched'; digest: string; event: string; reason: string; at: Date }
  | { type: 'drop_unmatched'; ids: number[] }
  | { type: 'mail_keys'; licenses: Ref[] }
  | { type: 'note_failed_payment'; licenses: Ref[]; failedAt: Date; mail: FailedPaymentNote | null };

export interface FailedPaymentNote {
  once: string;
  end: Date | null;
}
