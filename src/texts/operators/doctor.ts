/** The facts for the doctor's texts. */

/** The texts of a finding. */
export interface DoctorWords {
  what: string;
  /** the consequence; missing: none */
  why?: string;
  /** what to do; missing: nothing, or it is unknown */
  remedy?: string | undefined;
  /** the English text of a server or library; missing: none, or `what` contains it */
  said?: string | undefined;
}

/** The texts of a finding as they are shown. */
export interface ToldWords {
  what: string;
  why: string | null;
  remedy: string | null;
  said: string | null;
}

/** The reason why mail is off. */
export type MailOff = 'no-site' | 'offline' | 'no-sender' | 'no-server';

export type MailIsOff = Record<MailOff | 'unset', string>;

/** The places of settings. */
export interface SettingSources {
  file: string | undefined;
  /** the names of settings in this file, and in the environment */
  inFile: string;
  inEnvironment: string;
  /** the folder of the Joomla site */
  site: string | undefined;
}

export interface SeenNode {
  name: string;
  isInUse: boolean;
  /** the reason why it could not be used, as a clause after the name; undefined: it could */
  reason: string | undefined;
  isReadOnly: boolean;
}

/** A response that a CDN or firewall sent instead of the site, because a program sent the request. */
export interface Challenge {
  /** the name of the CDN or firewall */
  by: string;
  url: string;
  status: number;
  /** the paths that programs request, below the folder of the site */
  paths: string[];
  /** the programs that are stopped; missing if only one was tried */
  who?: 'all' | 'joomla' | 'others';
}

export interface Connections {
  instances: number;
  needed: number;
  /** the maximum that the server allows, and the name of this setting */
  allowed: number;
  setting: string;
}

/** The sizes of tables, or of a whole database, whose `rows` are unknown. */
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

/** An update XML that does not offer the published versions. */
export interface StaleXml {
  /** the path of its file */
  out: string | null;
  /** the versions in it; null: it is unreadable */
  offered: string[] | null;
  /** the content it should have; null: it cannot be made, because of the `reason` */
  xml: string | null;
  reason: string | null;
}

/** The reason why a shop cannot be caught up. */
export type CatchUpLack = 'no_key' | 'no_site' | 'cannot';
