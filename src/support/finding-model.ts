import type { LiveStatus, NextPayment } from '../licensing/core/states';
import type { Access, LoggedAccess } from '../store/access-log';

/**
 * The findings for support, as data: a code, the facts for a sentence, and the action that helps. Facts are JSON in
 * snake_case with times as ISO text, and never contain a key. The sentences are in `sentences.ts`.
 */

/** The ways in which a text names a licence, apart from its id and key. */
export type Name =
  | 'customer'
  | 'reference'
  /** a shop's order with this number has it */
  | 'order'
  | 'hint'
  | 'identifier'
  | 'access'
  | 'beginning'
  /** the customer's e-mail with one slip */
  | 'near'
  /** the customer's name at another e-mail provider */
  | 'provider';

/** The difference between the typed key and the key that was meant. */
export type Slip =
  /** one character differs */
  | 'one-character'
  /** two neighbouring characters are swapped */
  | 'transposed'
  /** a character is missing */
  | 'missing'
  /** there is an extra character */
  | 'extra'
  /** a letter O for the digit 0, or I or l for 1 */
  | 'confused'
  /** the same characters with other separators or in another case */
  | 'spelling'
  /** the hints are equal, so the typing error is before them */
  | 'elsewhere'
  /** like `elsewhere`, and the sent key does not have a key's format */
  | 'shape';

export interface Named {
  id: number;
  name: string;
}

interface LicenseFacts {
  license_id: number;
  product: string;
  plan: string;
}

interface Slots {
  activation_limit: number;
  activations_used: number;
}

export interface KeyName {
  key_id: number;
  label: string | null;
}

/** The way in which the key was named: completely, or by its end. */
interface Asked {
  named_by: 'key' | 'hint';
}

/** The end of a licence's key. */
export interface EndedKey {
  ended_at: string | null;
  /** null: no key replaced it */
  successor: { key_id: number; key_hint: string | null; ended: boolean } | null;
  /** false: the log does not show which key it was */
  is_known: boolean;
  license_status: LiveStatus;
}

/** The licence that an unknown key was probably meant for. */
export interface MeantKey {
  license_id: number;
  license_status: LiveStatus;
  /** `replaced`: the licence's former key; `ended`: another of its keys, which has ended */
  slip: Slip | 'replaced' | 'ended';
  /** whether the whole key was compared, not only its end, which other keys may share */
  certain: boolean;
  compared: 'key' | 'key_asked_about' | 'end' | 'last_group' | 'end_asked_about';
  /** other licences for which it may be meant */
  also: number[];
  key_ended: boolean;
}

interface Stopped extends LicenseFacts {
  stopped_at: string | null;
  actor: string | null;
  reason: string | null;
  refused_since: number;
  /** whether `refused_since` is a minimum */
  refused_more: boolean;
  /** null: it has not expired */
  expired_at: string | null;
  plan_id: number;
  customer: string | null;
}

/** An order of a shop; `order` is the number that the shop uses. */
interface OrderName {
  order_id: number;
  shop: string;
  order: string;
}

/** A recorded request. */
export interface RequestFacts {
  endpoint: Access['endpoint'];
  outcome: string;
  license_id: number | null;
  key_hint: string | null;
  product_id: number | null;
  version: string | null;
  identifier: string | null;
  ip: string | null;
  user_agent: string | null;
  /** reported by the client, not proven */
  site: string | null;
  installed_version: string | null;
  /** `trial`: the seller's own request for the update XML */
  client: 'joomla' | 'trial' | 'browser' | 'other' | 'unnamed';
  joomla_version: string | null;
  /** whether it came from an address of the licence asked about, with a key that cannot be meant for it */
  other_key: boolean;
  last_at: string;
}

interface OfRequest {
  request: RequestFacts;
}

/** Findings about a licence, a key, or the search text. */
export interface StateFacts {
  ACTIVE: LicenseFacts &
    Slots & {
      activation_type: string;
      /** the paid-through date, without the grace period */
      expires_at: string | null;
      next_payment: NextPayment;
      /** the time at which the last payment failed */
      payment_failed_at: string | null;
    };
  EXPIRED: LicenseFacts & {
    /** the paid-through date, without the grace period */
    expires_at: string | null;
    payment_failed_at: string | null;
    refused_since: number;
    /** whether `refused_since` is a minimum */
    refused_more: boolean;
    /** whether its plan still permits downloads of versions published before its end */
    still_downloads: boolean;
    /** whether its plan also permits security releases of the branches that it had */
    security_updates: boolean;
    /** whether all payments were given back, so that nothing remains after the end */
    all_returned: boolean;
  };
  SUSPENDED: Stopped;
  REVOKED: Stopped;
  CANCELLED: Stopped;
  COVERS: { product_id: number; includes: Named[] };
  SLOTS_FULL: Slots & { license_id: number };
  FREE_SITES: {
    /** grouped by registrable domain; null: reachable only from their own machine or network */
    sites: { site: string | null; free: string[]; holders: string[] }[];
    more: boolean;
  };
  NOTHING_PUBLISHED: { product_id: number; product: string; includes: Named[] };
  /** the newest published version above the latest; a site may have been offered it */
  OFFER_WITHDRAWN: { product_id: number; version: string; latest: string | null };
  MAIL_NOT_DELIVERED: {
    license_id: number;
    /** true: it was given up; false: it is retried */
    given_up: boolean;
    queued_at: string;
    attempts: number;
    /** the code of the latest failure, such as `ADDRESS_REFUSED`, and the mail server's status */
    reason: string;
    status: number | null;
  };
  /** the latest reports of sites, each with its version */
  SITES_RUN: { sites: { site: string; version: string; told_at: string }[] };
  VALIDATED: { last_check_at: string; last_check_ip: string | null; check_count: number };
  KEY_REPLACED: (Asked & EndedKey) | (Asked & MeantKey);
  KEY_ENDED: (Asked & EndedKey) | (Asked & MeantKey);
  KEY_MISTYPED: Asked & MeantKey;
  KEY_ENDS: Asked &
    KeyName & { license_id: number; ends_at: string; successor: { key_hint: string | null } | null };
  KEY_SLOTS_FULL: KeyName & Slots;
  KEY_SLOTS: KeyName & Slots;
  /** a key used in more networks than its slots explain */
  KEY_SHARED: { key_id: number; key_hint: string | null; networks: number; days: number; slots: number };
  UNKNOWN_KEY: Record<string, never>;
  NEAR_EMAIL: { license_id: number; customer: string; matched: Name };
  SEVERAL_LICENSES: { matched: { by: Name; license_ids: number[] }[]; more: boolean };
  ALSO_A_REFERENCE: { license_id: number; reference: string };
  ORDER_MAIL: OrderName & { state: string; to: string | null; at: string | null; reason: string | null };
  ORDER: OrderName & { issued: number[]; renewed: number[]; event: string; event_at: string };
  ORDER_WAITS: OrderName & { line: string; waits_for: string; sku: string | null; renews: string | null };
  /** a line that cannot be accepted as it arrived; it is listed among the unmatched */
  ORDER_LINE_UNUSABLE: OrderName & { line: string; problem: string };
  /** an order with more lines than are accepted without the seller */
  ORDER_TOO_LARGE: OrderName;
  ORDER_FAILED: OrderName & { reason: string; failed_at: string | null; retry_at: string | null };
  ORDER_ISSUED_NOTHING: OrderName & { event: string; reason: string };
  IN_ACCESS_LOG: { last_at: string; access: { code: FindingCode; facts: object } };
  ONLY_NEARBY: { license_id: number; log_days: number };
  NOTHING_RECORDED: {
    about: 'license' | 'key' | 'hint' | 'ip';
    license_id?: number;
    ip?: string;
    log_days: number;
  };
  CHECKED: OfRequest;
  GRANTED: OfRequest;
  GRANTED_REPEATEDLY: OfRequest & { count: number };
}

/** The reason why a staging or local site needs a slot on a plan where such sites are free. */
export type SitePlace = { kind: 'staging'; site: string } | { kind: 'staging' | 'local'; free_sites: number };

interface Unusable {
  /** the status at that time; null: the history does not contain it */
  was: LiveStatus | null;
  /** whether the licence has been in its present state since before the refusal */
  still: boolean;
  expires_at: string | null;
  older_versions: boolean;
}

/** The causes of recorded refusals: clauses that follow the refused request. */
export interface CauseFacts {
  RATE_LIMITED: object;
  RATE_LIMITED_PROXY: { loopback: boolean };
  BAD_IDENTIFIER: { activation_type: string };
  MALFORMED: object;
  BAD_PRODUCT_ID: object;
  NO_KEY: object;
  KEY_REPLACED: EndedKey | MeantKey;
  KEY_ENDED: EndedKey | MeantKey;
  KEY_MISTYPED: MeantKey;
  UNKNOWN_KEY: object;
  EXPIRED: Unusable;
  SUSPENDED: Unusable;
  REVOKED: Unusable;
  CANCELLED: Unusable;
  ACTIVE_AGAIN: { was: LiveStatus | null };
  COVERED_SINCE: { product: Named };
  WRONG_PRODUCT: { product: Named; includes: Named[]; asked: Named | null };
  HELD: object;
  OTHER_KEY: KeyName & { activation_type: string; activated_by: number | null };
  SLOTS_FULL: Slots & {
    license_status: LiveStatus;
    key: (KeyName & Slots) | null;
    place: SitePlace | null;
  };
  KEY_SLOTS_FULL: KeyName & Slots & { license: Slots; place: SitePlace | null };
  SLOT_FREE: { free_site: boolean };
  NOT_ACTIVATED: { license_status: LiveStatus };
  ACTIVATED_SINCE: object;
  NOTHING_PUBLISHED: { includes: Named[] };
  PUBLISHED_SINCE: { version: string };
  VERSION_NOT_PUBLISHED: { latest: string | null; draft: boolean };
  VERSION_WITHDRAWN: { latest: string | null; withdrawn_then: boolean };
  PACKAGE_MISSING: object;
  OMITTED: object;
  /** an outcome without an explanation */
  REFUSED: object;
}

export type StateCode = keyof StateFacts;
export type CauseCode = keyof CauseFacts;
export type FindingCode = StateCode | CauseCode;

/** The action that resolves a finding, or leads there: an operation of the operator's API with its members. */
export type RemedyAction =
  | { type: 'renew'; license_id: number; for: string }
  | { type: 'reinstate'; license_id: number }
  | { type: 'issue'; plan_id: number; customer: string | null }
  /** without a key's id: the main key */
  | { type: 'reveal'; license_id: number; key_id?: number }
  | { type: 'add_key'; license_id: number }
  | { type: 'rekey'; license_id: number; key_id: number }
  | { type: 'send_key'; license_id: number }
  | { type: 'change_limit'; license_id: number; activation_limit: number }
  | { type: 'change_key_limit'; license_id: number; key_id: number; activation_limit: number }
  /** without an identifier if the sent one is invalid */
  | { type: 'add_activation'; license_id: number; identifier?: string }
  | { type: 'remove_activation'; license_id: number; identifier: string }
  /** with a release's id: that draft; otherwise a new version */
  | { type: 'publish'; product_id: number; release_id?: number; version?: string }
  | { type: 'write_update_xml'; product_id: number }
  | { type: 'change_product'; product_id: number; includes: number[] }
  | { type: 'map_sku'; shop: string; sku: string }
  | { type: 'run_orders'; shop: string }
  | { type: 'confirm_order'; order_id: number }
  /** assign, issue or leave the shop's unmatched entries */
  | { type: 'settle_unmatched'; shop: string }
  /** explain this licence */
  | { type: 'why'; license_id: number };

/** A single finding for support. */
export interface Finding {
  /** stable, for programs */
  code: FindingCode;
  /** the facts of the code: StateFacts, or CauseFacts with the request */
  facts: object;
  since: string | null;
  count: number | null;
  action: RemedyAction | null;
}

/** A finding about recorded accesses; `count` of them since the first. */
export interface AccessFinding extends Finding {
  count: number;
  firstAt: Date;
  lastAt: Date;
  access: LoggedAccess;
}

/** The reason why a request was refused, without the request. */
export interface Cause {
  code: CauseCode;
  facts: object;
  action: RemedyAction | null;
}

/** all is well; failed and works again; updates work but new sites do not; updates are refused */
export type WorksNowState = 'fine' | 'again' | 'no_new_site' | 'refused';

/** The reason that refuses a licence now. */
export type RefusingCode = 'EXPIRED' | 'SUSPENDED' | 'REVOKED' | 'CANCELLED' | 'SLOTS_FULL';
