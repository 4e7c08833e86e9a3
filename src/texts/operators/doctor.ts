/** What the doctor's texts are made of. */

/** What a finding says. */
export interface DoctorWords {
  what: string;
  /** what follows from it; missing: nothing */
  why?: string;
  /** what to do; missing: nothing, or it is not known */
  remedy?: string | undefined;
  /** what a server or a library said, in English; missing: nothing, or `what` has it */
  said?: string | undefined;
}

/** The same, as it is shown. */
export interface ToldWords {
  what: string;
  why: string | null;
  remedy: string | null;
  said: string | null;
}

/** Why there is no mail. */
export type MailOff = 'no-site' | 'offline' | 'no-sender' | 'no-server';

export type MailIsOff = Record<MailOff | 'unset', string>;

/** Where settings come from. */
export interface SettingSources {
  file: string | undefined;
  /** names in this file, and in the environment */
  inFile: string;
  inEnvironment: string;
  /** the Joomla site's folder */
  site: string | undefined;
}

export interface SeenNode {
  name: string;
  isInUse: boolean;
  /** why it could not be used, as a clause that follows the name; undefined: it could */
  reason: string | undefined;
  isReadOnly: boolean;
}

export interface Connections {
  instances: number;
  needed: number;
  /** what the server allows, and the name of this setting */
  allowed: number;
  setting: string;
}

/** Of tables, or of the whole database, whose `rows` are not known. */
export type Sizes = readonly { name: string; bytes: number; rows: number | undefined }[];

/** An order that an unexpected error stopped. */
export interface FailedOrder {
  shop: string;
  order: string;
  failure: string;
  failedAt: string;
  retryAt: string;
}

export interface UnmappedArticle {
  shop: string;
  sku: string;
}

/** An update XML that does not offer what is published. */
export interface StaleXml {
  /** its file */
  out: string | null;
  /** the versions in it; null: it cannot be read */
  offered: string[] | null;
  /** what it should have; null: that cannot be made, for the `reason` */
  xml: string | null;
  reason: string | null;
}

/** What keeps a shop from being caught up. */
export type CatchUpLack = 'no_key' | 'no_site' | 'cannot';
