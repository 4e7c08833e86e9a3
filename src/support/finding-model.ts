import type { LiveStatus, NextPayment } from '../licensing/core/states';
import type { Access, LoggedAccess } from '../store/access-log';

/**
 * What support is told, as data: a code, the facts that a sentence is built from, and the action that mends it. Facts
 * are JSON in snake_case with times as ISO text, and never contain a key. The sentences are in `sentences.ts`.
 */

/** How a text names a licence, besides its id and key. */
export type Name =
  | 'customer'
  | 'reference'
  /** it is of an order of a shop with this number */
  | 'order'
  | 'hint'
  | 'identifier'
  | 'access'
  | 'beginning'
  /** the customer's e-mail with one slip */
  | 'near'
  /** the customer's name at another e-mail provider */
  | 'provider';

/** How what was typed differs from the key that was meant. */
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
  /** the hints are equal, so the slip is before them */
  | 'elsewhere'
  /** as `elsewhere`, and the key sent does not have a key's format */
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

/** How the key was named: as a whole, or by its end. */
interface Asked {
  named_by: 'key' | 'hint';
}

/** What became of a key of a licence. */
export interface EndedKey {
  ended_at: string | null;
  /** null: no other took its place */
  successor: { key_id: number; key_hint: string | null; ended: boolean } | null;
  /** false: the log does not say which key it was */
  is_known: boolean;
  license_status: LiveStatus;
}

/** The licence that an unknown key was probably meant for. */
export interface MeantKey {
  license_id: number;
  license_status: LiveStatus;
  /** `replaced`: the licence's former key; `ended`: another of its keys, which has ended */
  slip: Slip | 'replaced' | 'ended';
  /** whether the whole key was compared; else only its end, which other keys may share */
  certain: boolean;
  compared: 'key' | 'key_asked_about' | 'end' | 'last_group' | 'end_asked_about';
  /** other licences that it may be meant for */
  also: number[];
  key_ended: boolean;
}

interface Stopped extends LicenseFacts {
  stopped_at: string | null;
  actor: string | null;
  reason: string | null;
  refused_since: number;
  /** so many at least */
  refused_more: boolean;
  /** null: it has not expired */
  expired_at: string | null;
  plan_id: number;
  customer: string | null;
}

/** An order of a shop; `order` is the shop's number of it. */
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
  /** told by the client, not proven */
  site: string | null;
  installed_version: string | null;
  /** `trial`: the seller's own, of the update XML */
  client: 'joomla' | 'trial' | 'browser' | 'other' | 'unnamed';
  joomla_version: string | null;
  /** it came from an address of the licence asked about, but with a key that cannot be meant for it */
  other_key: boolean;
  last_at: string;
}

interface OfRequest {
  request: RequestFacts;
}

/** Findings about a licence, a key, or what was looked for. */
export interface StateFacts {
  ACTIVE: LicenseFacts &
    Slots & {
      activation_type: string;
      /** what is paid, without the grace */
      expires_at: string | null;
      next_payment: NextPayment;
      /** the last payment failed */
      payment_failed_at: string | null;
    };
  EXPIRED: LicenseFacts & {
    /** what was paid, without the grace */
    expires_at: string | null;
    payment_failed_at: string | null;
    refused_since: number;
    /** so many at least */
    refused_more: boolean;
    /** by its plan it still downloads what was published before its end */
    still_downloads: boolean;
  };
  SUSPENDED: Stopped;
  REVOKED: Stopped;
  CANCELLED: Stopped;
  COVERS: { product_id: number; includes: Named[] };
  SLOTS_FULL: Slots & { license_id: number };
  FREE_SITES: {
    /** by registrable domain; null: reached only from their own machine or network */
    sites: { site: string | null; free: string[]; holders: string[] }[];
    more: boolean;
  };
  NOTHING_PUBLISHED: { product_id: number; product: string; includes: Named[] };
  /** the newest that was published and is above the latest; a site may have been offered it */
  OFFER_WITHDRAWN: { product_id: number; version: string; latest: string | null };
  MAIL_NOT_DELIVERED: {
    license_id: number;
    /** it was given up; else it is tried again */
    given_up: boolean;
    queued_at: string;
    attempts: number;
    /** the code of the latest failure, such as `ADDRESS_REFUSED`, and the mail server's status */
    reason: string;
    status: number | null;
  };
  /** the latest that sites told, of each its version */
  SITES_RUN: { sites: { site: string; version: string; told_at: string }[] };
  VALIDATED: { last_check_at: string; last_check_ip: string | null; check_count: number };
  KEY_REPLACED: (Asked & EndedKey) | (Asked & MeantKey);
  KEY_ENDED: (Asked & EndedKey) | (Asked & MeantKey);
  KEY_MISTYPED: Asked & MeantKey;
  KEY_ENDS: Asked &
    KeyName & { license_id: number; ends_at: string; successor: { key_hint: string | null } | null };
  KEY_SLOTS_FULL: KeyName & Slots;
  KEY_SLOTS: KeyName & Slots;
  /** used in more networks than its slots explain */
  KEY_SHARED: { key_id: number; key_hint: string | null; networks: number; days: number; slots: number };
  UNKNOWN_KEY: Record<string, never>;
  NEAR_EMAIL: { license_id: number; customer: string; matched: Name };
  SEVERAL_LICENSES: { matched: { by: Name; license_ids: number[] }[]; more: boolean };
  ALSO_A_REFERENCE: { license_id: number; reference: string };
  ORDER_MAIL: OrderName & { state: string; to: string | null; at: string | null; reason: string | null };
  ORDER: OrderName & { issued: number[]; renewed: number[]; event: string; event_at: string };
  ORDER_WAITS: OrderName & { line: string; waits_for: string; sku: string | null; renews: string | null };
  /** a line that cannot be taken as it came; it is listed among the unmatched */
  ORDER_LINE_UNUSABLE: OrderName & { line: string; problem: string };
  /** more lines than are taken without the seller */
  ORDER_TOO_LARGE: OrderName;
  ORDER_FAILED: OrderName & { reason: string; failed_at: string | null; retry_at: string | null };
  ORDER_ISSUED_NOTHING: OrderName & { event: string; reason: string };
  IN_ACCESS_LOG: { last_at: string; access: { code: Code; facts: object } };
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

/** Why a staging or local site needs a slot, though the plan leaves such sites free. */
export type SitePlace = { kind: 'staging'; site: string } | { kind: 'staging' | 'local'; free_sites: number };

interface Unusable {
  /** at that time; null: the history does not say */
  was: LiveStatus | null;
  /** whether the licence has been in its present state since before the refusal */
  still: boolean;
  expires_at: string | null;
  older_versions: boolean;
}

/** Causes of recorded refusals: clauses that follow what was refused. */
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
export type Code = StateCode | CauseCode;

/** What mends a finding, or leads to it: operations of the operator's API with their members. */
export type Action =
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
  /** without an identifier where the one that was sent is not valid */
  | { type: 'add_activation'; license_id: number; identifier?: string }
  | { type: 'remove_activation'; license_id: number; identifier: string }
  /** with a release's id: that draft; else a new version */
  | { type: 'publish'; product_id: number; release_id?: number; version?: string }
  | { type: 'write_update_xml'; product_id: number }
  | { type: 'change_product'; product_id: number; includes: number[] }
  | { type: 'map_sku'; shop: string; sku: string }
  | { type: 'run_orders'; shop: string }
  | { type: 'confirm_order'; order_id: number }
  /** assign, issue or leave what is unmatched of the shop */
  | { type: 'settle_unmatched'; shop: string }
  /** ask about this licence */
  | { type: 'why'; license_id: number };

/** One fact for support. */
export interface Finding {
  /** stable, for programs */
  code: Code;
  /** those of the code: StateFacts, or CauseFacts with the request */
  facts: object;
  since: string | null;
  count: number | null;
  action: Action | null;
}

/** A finding about recorded accesses; `count` of them since the first. */
export interface AccessFinding extends Finding {
  count: number;
  firstAt: Date;
  lastAt: Date;
  access: LoggedAccess;
}

/** Why a request was refused, without the request. */
export interface Cause {
  code: CauseCode;
  facts: object;
  action: Action | null;
}

/** All is well; it failed and works again; updates work and new sites do not; updates are refused. */
export type WorksNowState = 'fine' | 'again' | 'no_new_site' | 'refused';

/** What refuses a licence now. */
export type RefusingCode = 'EXPIRED' | 'SUSPENDED' | 'REVOKED' | 'CANCELLED' | 'SLOTS_FULL';
