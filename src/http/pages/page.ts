import type { Child } from 'hono/jsx';
import type { Authenticate } from '../../access/authenticate';
import type { Caller } from '../../access/caller';
import type { CustomerLink, OperatorLink, QueueLink } from '../../access/link-requests';
import type { CustomerSession, OperatorSession } from '../../access/sessions';
import type { AskForXml } from '../../joomla/follow-xml';
import type { Db, Licensing } from '../../licensing/licensing';
import type { Picture } from '../../packages/pictures';
import type { ChangeMail } from '../../selfservice/changes';
import type { Context } from '../context';
import type { DownloadSettings } from '../downloads';
import type { ManageSettings } from '../../operations/settings';
import type { Limiter } from '../limits/rate-limit';
import type { AssetAddress } from './assets';
import type { Cell } from './csv';
import type { GuideAddress } from './guide';
import type { Said, View } from './view';
import type { LastFigures } from './within';

/** What a page is made of: a route says what its GET shows and what its POST does. */

export interface PagesDependencies {
  db: Db;
  now: () => Date;
  authenticate: Authenticate;
  limiter: Limiter;
  licensing: Licensing;
  settings: PagesSettings;
  asset: AssetAddress;
  guide: GuideAddress;
  lastFigures: LastFigures;
  isTrusted: (request: Context['req']) => boolean;
}

export interface PagesSettings extends ManageSettings {
  /** The version of this program. */
  version: string;
  /** LICENSING_TIMEOUT_FACTOR, by which waits grow */
  timeoutFactor: number;
  shopName: string;
  shopLogo: Picture | undefined;
  publicUrl: string | undefined;
  pagesHost: string | undefined;
  /** a name of the time-zone database */
  timeZone: string;
  downloads: DownloadSettings;
  /** whether the address of an update XML answers */
  askForXml: AskForXml;
  /** queues a mail in the caller's transaction; undefined: mail is off */
  queueMail?: QueueLink<CustomerLink | OperatorLink | ChangeMail> | undefined;
}

/** One request for a page. */
export interface PageCall extends PagesDependencies {
  ctx: Context;
  /** of this request */
  at: Date;
  view: View;
  /** the parts of the path, by name */
  path: Record<string, string>;
  query: URLSearchParams;
}

/** A request of somebody who is signed in. */
export interface OperatorCall extends PageCall {
  session: OperatorSession;
  caller: Caller;
}

export interface CustomerCall extends PageCall {
  session: CustomerSession;
}

export type Answer =
  | { page: Child; status?: number }
  | Redirect
  /** a table as a file */
  | { csv: string; rows: AsyncIterable<Cell[]> }
  | { file: string; type: string; content: string | Buffer }
  /** the handler has written the answer itself */
  | { sent: true };

/** Another page, by its path below `pages` (303), and what it says on top. */
export interface Redirect {
  to: string;
  said?: Said;
}

export interface Route<Call extends PageCall> {
  /** below `pages`, such as `/licenses/:id` */
  path: string;
  /** what it shows */
  get?: (call: Call) => Promise<Answer> | Answer;
  /** what its form does; `sent` is empty for an upload, which the operation reads itself */
  post?: (call: Call, sent: URLSearchParams) => Promise<Answer> | Answer;
  /** the scope that GET needs as well; POST always needs `write` unless this says `read` */
  scope?: 'read' | 'write' | undefined;
  /** it shows a secret or destroys: its GET needs a sign-in within the last hour as well */
  isSecret?: boolean;
  /** its form needs no such sign-in, as its operation (`goesOn`), or leaves that to the operation (`goesOnWith`) */
  goesOn?: true;
  /** its form may come from another origin: it looks itself where from */
  checksOrigin?: true;
  /** its form has a file */
  upload?: boolean;
  /** false: it may take longer than a request's deadline */
  hasDeadline?: boolean;
}

/** The scope that a request needs. */
export function scopeOf({ scope }: Pick<Route<never>, 'scope'>, method: string): 'read' | 'write' {
  return scope ?? (method === 'POST' ? 'write' : 'read');
}

/** Goes to another page, which says what was done. */
export function done(to: string, code?: Said['code'], ...values: string[]): Redirect {
  return code === undefined ? { to } : { to, said: { code, values } };
}
