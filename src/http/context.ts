import type { ParameterizedContext, Middleware as KoaMiddleware } from 'koa';
import type { Access } from '../store/access-log';
import type { ClientAddress } from './client-address';

export type Endpoint = Access['endpoint'];

/** What the middleware in app.ts puts on every request before a handler sees it. */
export interface State {
  requestId: string;
  client: ClientAddress;
  /** the endpoint's name, for logs and metrics; undefined outside them */
  endpoint: Endpoint | undefined;
  /** the code of the refusal or fault that was answered, for logs and metrics */
  code: string | undefined;
  /** nothing is written any more: a handler that the deadline overtook goes on, and may come to an end later */
  answered: boolean;
  /** what the log should know of a fault and the client should not */
  fault: unknown;
}

export type Context = ParameterizedContext<State>;
export type Middleware = KoaMiddleware<State>;
/** Answers a request that was let through and read. */
export type Handler = (ctx: Context) => Promise<void>;
