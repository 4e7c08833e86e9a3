import type { Catalogue } from '../licensing/bundles';
import type { Activation } from '../store/licenses/activations';
import type { Product } from '../store/catalogue';
import type { LicenseEvent } from '../store/events';
import type { LicenseKey } from '../store/licenses/license-keys';
import type { License } from '../store/licenses/licenses';
import type { OutboxRow } from '../store/outbox';
import type { Release } from '../store/releases';
import type { ReportedSite } from '../store/reported-sites';
import type { Name, Slip } from './finding-model';

/** The data that is read from the database before findings are made of it. */

/** A licence for which an unknown key may have been meant. */
export interface Likely {
  license: License;
  /** `replaced`: the licence's former key; `ended`: another of its keys, which has ended */
  slip: Slip | 'replaced' | 'ended';
  /** whether the key that was meant has ended */
  hasEnded?: boolean;
  /** the way of comparison: the whole key, or only its end, which other keys may share */
  by: 'key' | 'hint';
}

export interface SearchMatch {
  license: License;
  by: Name;
}

export interface LicenseCase {
  now: Date;
  /** the version offered to updaters; undefined: none is published */
  latestVersion: string | undefined;
  /** the highest version above it that was published and then withdrawn */
  withdrawnVersion: string | undefined;
  /** the products that the licence covers in addition to its own */
  included: Product[];
  /** whether any of them can be downloaded; not read if the licence's own product can */
  includedPublished: boolean;
  /** the failure of its last payment, unless it was renewed since */
  failedPayment: LicenseEvent | undefined;
  /** the event that suspended or ended an inactive licence */
  stopped: LicenseEvent | undefined;
  /** downloads refused since the licence became unusable; with `isMore`, `times` is a minimum */
  refusedSince: { times: number; isMore: boolean };
  /** the first of its activations without a slot */
  free: Activation[];
  /** activations with a slot that share a registrable domain with them */
  holders: Activation[];
  /** the reports of its sites, latest first */
  told: ReportedSite[];
  /** the latest mail with its key, if it failed or is retried */
  undelivered: OutboxRow | undefined;
}

/** A key, and the key that replaced it, if any. */
export interface KeyWithSuccessor {
  key: LicenseKey;
  successor: LicenseKey | undefined;
  /** the slots taken by it, or by its replacement */
  used: number;
}

/** The present state that explains accesses, so that a finding can state whether its cause persists. */
export interface CaseState {
  now: Date;
  /** licences named by accesses */
  licenses: Map<number, License>;
  /** the licences for which an unknown key may have been meant, by its hint, likeliest first */
  likely: Map<string, Likely[]>;
  /** the keys named by accesses, by id */
  keys: Map<number, KeyWithSuccessor>;
  /** the key ids of activated licences and identifiers, as `activationKey` writes them; null: the main key */
  activated: Map<string, number | null>;
  /** the activations of full licences with free staging sites, by licence */
  sites: Map<number, Activation[]>;
  /** all versions of the products without a download, highest first */
  releases: Map<number, Release[]>;
  /** the events that suspended or ended licences which were refused as inactive, latest first */
  stops: Map<number, LicenseEvent[]>;
  /** all products; empty unless an access was refused because of its product */
  catalogue: Catalogue;
  /** the licence asked about, and the ends of its present, former and mistyped keys */
  about?: { licenseId: number; keyHints: Set<string> };
}
