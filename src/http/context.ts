import type { ParameterizedContext, Middleware as KoaMiddleware } from 'koa';
import type { AccessEntry } from '../licensing/access-log';
import type { ClientAddress } from './client-address';

export type Endpoint = AccessEntry['endpoint'];

export interface State {
  requestId: string;
  client: ClientAddress;
  /** ms for the work of a request, after its body is read (faults.ts) */
  deadlineMs: number;
  /** for logs and metrics; undefined outside the endpoints */
  endpoint: Endpoint | 'manage' | 'hooks' | 'document' | 'pages' | undefined;
  /** of a page or the operator's API: the request's own origin; undefined: its Host cannot be read */
  origin?: string | undefined;
  /** of the operator's API and of receivers, for logs: the pattern of the path */
  route?: string;
  /** the answered refusal or fault, for logs and metrics */
  code: string | undefined;
  /** whether a download's key was found, also if it has ended and clients are told that it is unknown; for its limits */
  keyIsKnown?: boolean;
  /** the product and version of an allowed download or check; for its limits */
  granted?: string;
  /** nothing may be written any more: a handler that missed the deadline still runs to its end */
  answered: boolean;
  /** for the log only, never for the client */
  fault: unknown;
}

export type Context = ParameterizedContext<State>;
export type Middleware = KoaMiddleware<State>;
export type Handler = (ctx: Context) => Promise<void>;
