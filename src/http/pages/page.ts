import type { Child } from 'hono/jsx';
import type { Authenticate } from '../../access/authenticate';
import type { Caller } from '../../access/caller';
import type { CustomerLink, OperatorLink, EnqueueLink } from '../../access/link-requests';
import type { CustomerSession, OperatorSession } from '../../access/sessions';
import type { ProbeUpdateXml } from '../../joomla/regenerate-update-xml';
import type { Db, Licensing } from '../../licensing/licensing';
import type { Picture } from '../../packages/pictures';
import type { ChangeMail } from '../../selfservice/changes';
import type { Context } from '../context';
import type { DownloadSettings } from '../downloads';
import type { ManageSettings } from '../../operations/settings';
import type { Limiter } from '../limits/rate-limit';
import type { Assets } from './assets';
import type { Cell } from './csv';
import type { GuideAddress } from './guide';
import type { FlashMessage, View } from './view';
import type { LastFigures } from './load-optional';

/** The types of a page. A route states what its GET shows and what its POST does. */

export interface PagesDependencies extends Assets {
  db: Db;
  now: () => Date;
  authenticate: Authenticate;
  limiter: Limiter;
  licensing: Licensing;
  settings: PagesSettings;
  guide: GuideAddress;
  lastFigures: LastFigures;
  isTrusted: (request: Context['req']) => boolean;
}

export interface PagesSettings extends ManageSettings {
  /** the version of this program */
  version: string;
  /** LICENSING_TIMEOUT_FACTOR, by which waiting times are multiplied */
  timeoutFactor: number;
  shopName: string;
  shopLogo: Picture | undefined;
  publicUrl: string | undefined;
  pagesHost: string | undefined;
  /** a name in the time-zone database */
  timeZone: string;
  downloads: DownloadSettings;
  /** reports whether the address of an update XML answers */
  askForXml: ProbeUpdateXml;
  /** queues a mail in the caller's transaction; undefined if mail is off */
  queueMail?: EnqueueLink<CustomerLink | OperatorLink | ChangeMail> | undefined;
}

/** A request for a page. */
export interface PageCall extends PagesDependencies {
  ctx: Context;
  /** the time of this request */
  at: Date;
  view: View;
  /** the parameters of the path by name */
  path: Record<string, string>;
  query: URLSearchParams;
}

/** A request of an operator who is signed in. */
export interface OperatorCall extends PageCall {
  session: OperatorSession;
  caller: Caller;
}

export interface CustomerCall extends PageCall {
  session: CustomerSession;
}

export type PageResponse =
  | { page: Child; status?: number }
  | Redirect
  /** a table as a file */
  | { csv: string; rows: AsyncIterable<Cell[]> }
  | { file: string; type: string; content: string | Buffer }
  /** an answer that the handler has already written */
  | { sent: true };

/** A redirect (303) to another page, by its path below `pages`, with a flash message. */
export interface Redirect {
  to: string;
  flash?: FlashMessage;
}

export interface Route<Call extends PageCall> {
  /** the path below `pages`, such as `/licenses/:id` */
  path: string;
  /** shows the page */
  get?: (call: Call) => Promise<PageResponse> | PageResponse;
  /** does the work of its form; `sent` is empty for an upload, which the operation reads itself */
  post?: (call: Call, sent: URLSearchParams) => Promise<PageResponse> | PageResponse;
  /** the scope that GET needs too; POST always needs `write`, unless this is `read` */
  scope?: 'read' | 'write' | undefined;
  /** true for a page that shows a secret or destroys: its GET also needs a sign-in within the last hour */
  isSecret?: boolean;
  /**
   * true if the form needs no recent sign-in: its operation has `needsNoRecentSignIn`, or checks this itself
   * (`noRecentSignInWith`)
   */
  needsNoRecentSignIn?: true;
  /** true if the form may come from another origin, which the route checks itself (CSRF) */
  handlesCsrfItself?: true;
  /** true if the form has a file */
  upload?: boolean;
  /** false if the work may take longer than a request's deadline */
  hasDeadline?: boolean;
}

/** Returns the scope that a request needs. */
export function scopeOf({ scope }: Pick<Route<never>, 'scope'>, method: string): 'read' | 'write' {
  return scope ?? (method === 'POST' ? 'write' : 'read');
}

/** Redirects to another page, with a flash message about the work that was done. */
export function redirectWithFlash(to: string, code?: FlashMessage['code'], ...values: string[]): Redirect {
  return code === undefined ? { to } : { to, flash: { code, values } };
}
