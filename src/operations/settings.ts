import type { RecordContext } from '../orders/record';
import type { Config } from '../settings/config';
import type { Letterhead } from '../mail/compose';
import type { Mailing } from '../mail/queue';
import type { XmlLocation } from '../joomla/update-xml/location';
import type { Examined } from '../doctor/finding';
import type { ProtectedFile } from '../packages/replace-file';

/** The parts of the installation that the operator's API needs. The seller's settings are read at each use. */
export interface ManageSettings {
  packagesDir: string;
  /** the secret that seals keys; undefined if keys are not kept */
  keySecret: Buffer | undefined;
  /** networks that webhooks may reach in addition to public ones */
  webhookNetworks: readonly string[];
  /** the address of shops' APIs in a test on this machine, instead of their own */
  shopApiUrl?: string | undefined;
  /** the maximum size of a package in bytes */
  uploadLimit: number;
  /** undefined if mail is not configured */
  mailing: Mailing | undefined;
  /** the grace period of shops that do not set their own, in days */
  graceDays: number;
  /** see `RecordContext` */
  onFailed?: RecordContext['onFailed'];
  /** the values that mails use */
  letterhead: Letterhead;
  updateXml: XmlLocation;
  /** the external address of the API; undefined if it is unknown */
  operatorUrl: string | undefined;
  /** files that no update XML replaces */
  ownFiles?: ProtectedFile[];
  /** this program's own folder, which contains php */
  programFolder: string;
  /** see LICENSING_SPREAD_FACTOR */
  spreadFactor: number;
  /** the days for which the access log is kept */
  logDays: number;
  /** runs the doctor's checks that the service can make */
  examine: () => Promise<Examined[]>;
  /** all settings as they apply now */
  config: Config;
  /** applies settings that were just stored, before the next regular check */
  refresh: () => Promise<void>;
  /** reports whether a program that sends mails gains no privileges (mail/transport.ts) */
  mailGainsNoRights: () => Promise<boolean>;
}
