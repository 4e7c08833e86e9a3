import type { RecordContext } from '../orders/record';
import type { Config } from '../settings/config';
import type { Letterhead } from '../mail/compose';
import type { Mailing } from '../mail/queue';
import type { XmlHome } from '../joomla/update-xml/place';
import type { Examined } from '../doctor/finding';
import type { OwnFile } from '../packages/replace-file';

/** What the operator's API needs to know of the installation. What a seller may change is read at each use. */
export interface ManageSettings {
  packagesDir: string;
  /** seals keys; undefined: keys are not kept */
  keySecret: Buffer | undefined;
  /** networks that webhooks may reach besides public ones */
  webhookNetworks: readonly string[];
  /** shops' APIs are asked there instead of at their own addresses, for a test on this machine */
  shopApiUrl?: string | undefined;
  /** bytes of a package */
  uploadLimit: number;
  /** undefined: mail is not set up */
  mailing: Mailing | undefined;
  /** of shops that say nothing else */
  graceDays: number;
  /** see `RecordContext` */
  onFailed?: RecordContext['onFailed'];
  /** what mails are written with */
  letterhead: Letterhead;
  updateXml: XmlHome;
  /** where the API is called from outside; undefined: it is not known */
  operatorUrl: string | undefined;
  /** no update XML is written over them */
  ownFiles?: OwnFile[];
  /** this program's own, with its folder php */
  programFolder: string;
  /** see LICENSING_SPREAD_FACTOR */
  spreadFactor: number;
  /** how long the access log is kept */
  logDays: number;
  /** examines the installation, as far as the service can look */
  examine: () => Promise<Examined[]>;
  /** all settings as they count now */
  config: Config;
  /** takes over what was just stored, before the next look */
  refresh: () => Promise<void>;
  /** whether a program that sends mails gains no rights (mail/transport.ts) */
  mailGainsNoRights: () => Promise<boolean>;
}
