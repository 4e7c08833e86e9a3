import type { ParameterizedContext, Middleware as KoaMiddleware } from 'koa';
import type { ReportedAccess } from '../licensing/access-log';
import type { ClientAddress } from './client-address';

export type Endpoint = ReportedAccess['endpoint'];

export interface RequestState {
  requestId: string;
  client: ClientAddress;
  /** the milliseconds for the work of a request after its body is read (faults.ts) */
  deadlineMs: number;
  /** the endpoint for logs and metrics; undefined for other addresses */
  endpoint: Endpoint | 'manage' | 'hooks' | 'document' | 'pages' | undefined;
  /** the request's own origin, for pages and the operator's API; undefined if its Host cannot be read */
  origin?: string | undefined;
  /** the pattern of the path, for logs of the operator's API and of shops' receivers */
  route?: string;
  /** the code of the refusal or fault, for logs and metrics */
  code: string | undefined;
  /** the query and the key of a download, which is read once (`readDownload`) */
  download?: { query: ReadonlyMap<string, string>; key?: string; keyDigest?: string };
  /** true if a download's key exists, even if it has ended and is reported as unknown; for limits of downloads */
  keyIsKnown?: boolean;
  /** the product and version of an allowed download or check; for the limits of downloads */
  granted?: string;
  /** true after the answer: a handler that missed the deadline still runs to its end, and must write nothing */
  answered: boolean;
  /** the error for the log only, never for the client */
  fault: unknown;
}

export type Context = ParameterizedContext<RequestState>;
export type Middleware = KoaMiddleware<RequestState>;
export type Handler = (ctx: Context) => Promise<void>;
