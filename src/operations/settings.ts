import type { Letterhead } from '../mail/compose';
import type { Mailing } from '../mail/queue';
import type { XmlHome } from '../joomla/update-xml/place';
import type { OperatorLanguage } from '../texts/operators/languages';
import type { OwnFile } from '../packages/replace-file';

/** A finding of the doctor, as the service can tell it, in every language of its pages. */
export interface Examined extends Record<OperatorLanguage, ExaminedText> {
  id: string;
  state: 'ok' | 'warning' | 'problem';
}

export interface ExaminedText {
  message: string;
  /** what follows from it; null: nothing */
  why: string | null;
  /** what to do; null: nothing, or it is not known */
  remedy: string | null;
  /** what a server or a library said, in English; null: nothing, or the message has it */
  said: string | null;
}

/** What the operator's API needs to know of the installation. */
export interface ManageSettings {
  packagesDir: string;
  /** seals keys; undefined: keys are not kept */
  keySecret: Buffer | undefined;
  /** networks that webhooks may reach besides public ones */
  webhookNetworks: readonly string[];
  /** bytes of a package */
  uploadLimit: number;
  /** undefined: mail is not set up */
  mailing: Mailing | undefined;
  /** what mails are written with */
  letterhead: Letterhead;
  updateXml: XmlHome;
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
}
