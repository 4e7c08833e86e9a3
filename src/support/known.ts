import type { Catalogue } from '../licensing/bundles';
import type { Activation } from '../store/licenses/activations';
import type { Product } from '../store/catalogue';
import type { LicenseEvent } from '../store/events';
import type { LicenseKey } from '../store/licenses/license-keys';
import type { License } from '../store/licenses/licenses';
import type { OutboxRow } from '../store/outbox';
import type { Release } from '../store/releases';
import type { ToldSite } from '../store/told';
import type { Name, Slip } from './finding-model';

/** What is read from the database before findings are made of it. */

/** A licence that an unknown key may have been meant for. */
export interface Likely {
  license: License;
  /** `replaced`: the licence's former key; `ended`: another of its keys, which has ended */
  slip: Slip | 'replaced' | 'ended';
  /** the key that it was meant to be has ended */
  hasEnded?: boolean;
  /** whether the whole key was compared or only its end, which other keys may share */
  by: 'key' | 'hint';
}

export interface NamedLicense {
  license: License;
  by: Name;
}

export interface Circumstances {
  now: Date;
  /** the version offered to updaters; undefined: none is published */
  latestVersion: string | undefined;
  /** the highest version above it that was published and is withdrawn */
  withdrawnVersion: string | undefined;
  /** what the licence covers besides its own product */
  included: Product[];
  /** whether any of those can be downloaded; not looked up where the own product can */
  includedPublished: boolean;
  /** its last payment failed, and nothing has renewed it since */
  failedPayment: LicenseEvent | undefined;
  /** the event that suspended or ended an inactive licence */
  stopped: LicenseEvent | undefined;
  /** downloads refused since the licence became unusable; with `isMore` so many at least */
  refusedSince: { times: number; isMore: boolean };
  /** the first of its activations without a slot */
  free: Activation[];
  /** those with a slot that share a registrable domain with them */
  holders: Activation[];
  /** what sites told of it, the latest first */
  told: ToldSite[];
  /** the latest mail of its key, if that failed or is tried again */
  undelivered: OutboxRow | undefined;
}

/** A key, and the one in its place, if it was replaced. */
export interface KnownKey {
  key: LicenseKey;
  successor: LicenseKey | undefined;
  /** slots taken by it, or by the one in its place */
  used: number;
}

/** The present state by which accesses are judged, so that a finding can say whether its cause persists. */
export interface PresentState {
  now: Date;
  /** licences named by accesses */
  licenses: Map<number, License>;
  /** by hint of an unknown key: the licences it may have been meant for, the likeliest first */
  likely: Map<string, Likely[]>;
  /** the keys named by accesses, by id */
  keys: Map<number, KnownKey>;
  /** the key ids of activated licences and identifiers, as `activationKey` writes them; null: the main key */
  activated: Map<string, number | null>;
  /** by licence on whose plan staging sites are free, and which was full: its activations */
  sites: Map<number, Activation[]>;
  /** all versions of the products that had nothing to download, from the highest */
  releases: Map<number, Release[]>;
  /** for licences refused as inactive: the events that suspended or ended them, the latest first */
  stops: Map<number, LicenseEvent[]>;
  /** all products; empty unless an access was refused for its product */
  catalogue: Catalogue;
  /** the licence asked about, and the ends of its present, former and mistyped keys */
  about?: { licenseId: number; keyHints: Set<string> };
}
