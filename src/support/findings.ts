import type { LoggedAccess } from '../store/access-log';
import type { LicenseEvent } from '../store/events';
import type { License } from '../store/licenses';
import type { Release } from '../store/releases';
import type { Slip } from './near-keys';

/** What support is told, and what that is read off. */

/** One thing to know. The code is stable, for programs; the text is for people, and never holds a key. */
export interface Finding {
  code: string;
  text: string;
  /** what to do about it, often a command; null when nothing is to be done */
  remedy: string | null;
}

/** Consecutive accesses that were the same, told once. */
export interface Told extends Finding {
  /** how often */
  count: number;
  firstAt: Date;
  lastAt: Date;
  /** the latest of them */
  access: LoggedAccess;
}

/** A licence that an unknown key may have been meant for. */
export interface Likely {
  license: License;
  /** `replaced`: the key was that licence's until it got another */
  slip: Slip | 'replaced';
  /** whether the whole key was compared, or its end alone, which may be another's as well */
  by: 'key' | 'hint';
}

/** What a text may be to a licence, beside its id and its key. */
export type Name =
  | 'customer'
  | 'reference'
  | 'hint'
  | 'identifier'
  | 'access'
  /** their customer's e-mail begins with it */
  | 'beginning'
  /** their customer's e-mail differs from it by one slip */
  | 'near'
  /** their customer has the same name at another provider */
  | 'provider';

/** A licence, and what it was found by. */
export interface NamedLicense {
  license: License;
  by: Name;
}

/** What tells of a licence now, beside its row. */
export interface Circumstances {
  now: Date;
  /** the version an updater is offered; undefined: nothing is published */
  latestVersion: string | undefined;
  /** what ended or interrupted it, when it is not active */
  stopped: LicenseEvent | undefined;
  /** downloads refused since it stopped being usable */
  refusedSince: number;
}

/** What accesses are judged by: the present, so that a sentence can say whether its cause still stands. */
export interface Facts {
  now: Date;
  /** those that accesses name */
  licenses: Map<number, License>;
  /** for the hints of unknown keys: whose they may have been meant to be, the likeliest first */
  likely: Map<string, Likely[]>;
  /** which licence and identifier are activated now, as `activationKey` writes them */
  activated: Set<string>;
  /** products and their latest published version */
  latest: Map<number, string | undefined>;
  /** products and all their versions */
  releases: Map<number, Release[]>;
  /** of licences that were refused as not active: what suspended or ended them, the latest first */
  stops: Map<number, LicenseEvent[]>;
  /** the licence that was asked about, and the ends of its key: as it is, as it was, and mistyped */
  about?: { licenseId: number; keyHints: Set<string> };
}

/** Why it ended as it did. */
export type Cause = Pick<Finding, 'code' | 'remedy'> & { because: string };
