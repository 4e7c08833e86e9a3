import type { ReadUpdateXml } from '../../joomla/follow-xml';
import type { MailOff } from '../../mail/settings';
import type { TableSize } from '../../store/server';

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

export type Sizes = readonly Pick<TableSize, 'name' | 'bytes' | 'rows'>[];

export interface UnmappedArticle {
  shop: string;
  sku: string;
}

export type StaleXml = Pick<ReadUpdateXml, 'xml' | 'out' | 'offered' | 'reason'>;
