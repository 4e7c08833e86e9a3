import type { ComposeFailure } from '../../mail/compose';
import type { MailFailureCode } from '../../mail/failures';
import type { AskFailure } from '../../orders/catch-up/ask';
import type { NoMailReason } from '../../orders/key-mails';
import type { PostFailure } from '../../webhooks/post';

/** Why something did not happen, in one language. Each text is a clause that follows a colon, without its full stop. */
export interface FailureTexts {
  /** `NOBODYS`: a link that was asked for with an address that no customer has */
  mail: Record<MailFailureCode | ComposeFailure | 'NOBODYS', string>;
  webhook: Record<PostFailure, string>;
  /** why a shop's own list could not be read */
  catchUp: Record<AskFailure, string>;
  /** why a line of an order waits. @param what the article, or the order that it renews; missing: not to be named */
  waits: Record<WaitsFor, (what?: string) => string>;
  /** why an order's keys were not mailed */
  keysNotMailed: Record<NoMailReason, string>;
  /** what helps where the rights of sendmail do not suffice */
  mailRights: (from: string) => string;
}

export type WaitsFor = 'not_mapped' | 'unknown_order' | 'too_many' | 'reference_in_use' | 'no_plan' | 'other';

/** A stored failure, such as `ADDRESS_REFUSED 550`, as a clause. */
export function describeStored(texts: Record<string, string> & { UNKNOWN: string }, stored: string): string {
  const [code = '', status] = stored.split(' ');
  return `${texts[code] ?? texts.UNKNOWN}${status === undefined ? '' : ` (${status})`}`;
}

/** @param what see `FailureTexts.waits` */
export function describeWait(
  { waits }: Pick<FailureTexts, 'waits'>,
  waitsFor: string,
  what?: string,
): string {
  return ((waits[waitsFor as WaitsFor] as FailureTexts['waits'][WaitsFor] | undefined) ?? waits.other)(what);
}

/** What helps against a failure of mail that the settings cause; undefined: nothing general. */
export function mailRemedy(
  { mailRights }: Pick<FailureTexts, 'mailRights'>,
  stored: string,
  from: string,
): string | undefined {
  return stored.startsWith('SENDMAIL_RIGHTS') ? mailRights(from) : undefined;
}
