import { callerKey } from '../../access/caller';
import { isRecentSignIn, readSession, type CustomerSession } from '../../access/sessions';
import { readPerson } from '../../mail/customer-profile';
import { OperationError } from '../../operations/kit/failures';
import { readSessionCookie } from '../session-cookies';
import { requestedLanguageOf } from './preference-cookies';
import { localeOf } from './call';
import { limitPageViews } from './limits';
import { NAV_COUNTS, NAV_COUNTS_MS } from './load-optional';
import { readCustomerSession } from './my/customer';
import {
  scopeOf,
  type PageResponse,
  type CustomerCall,
  type OperatorCall,
  type PageCall,
  type Route,
} from './page';
import { signInAddress } from './sign-in/step-up';
import type { NavCounts, View } from './view';

/** Decides who may see a page: every visitor, an operator or a customer. All others are redirected to a sign-in. */

export function allowAnonymous(call: PageCall): Promise<PageCall> {
  return Promise.resolve(call);
}

/** Returns the call of a signed-in operator, or a redirect to the sign-in. */
export async function authenticateOperator(
  call: PageCall,
  route: Route<OperatorCall>,
): Promise<OperatorCall | PageResponse> {
  const { ctx, db, at, authenticate, lastFigures, limiter, view } = call;
  const cookie = readSessionCookie(ctx, 'operator');
  const session =
    cookie === undefined
      ? undefined
      : await readSession(db, 'operator', cookie, at, authenticate.isAccountIn);
  const isGet = ctx.method !== 'POST';
  // Return after the sign-in only to a page that can be shown by GET.
  const next = isGet || route.get !== undefined ? `${view.path}${isGet ? ctx.search : ''}` : '/';
  if (session === undefined || session === 'ended') {
    await limitPageViews(ctx, limiter);
    return { to: signInAddress(next, session === 'ended' ? 'ended' : undefined) };
  }
  const { caller } = session;
  const { allowed, retryAfter } = await limiter('manage', callerKey(caller));
  if (!allowed) throw new OperationError('RATE_LIMITED', '', { retryAfter });
  view.operator = { name: caller.name, scope: caller.scope, byDoor: caller.byDoor };
  const counts = lastFigures.kept.get(NAV_COUNTS);
  // A form may change them. Rather none than wrong ones.
  if (!isGet && route.scope !== 'read') lastFigures.kept.delete(NAV_COUNTS);
  else if (counts !== undefined && Number(at) - Number(counts.at) < NAV_COUNTS_MS)
    view.counts = counts.value as NavCounts;
  if (scopeOf(route, ctx.method) === 'write' && caller.scope !== 'write')
    throw new OperationError('FORBIDDEN', '');
  // Keep a form that was sent: its page asks for the sign-in itself.
  if (isGet && route.isSecret && !isRecentSignIn(session, at)) return { to: signInAddress(next, 'again') };
  return { ...call, session, caller };
}

export async function authenticateCustomer(call: PageCall): Promise<CustomerCall | PageResponse> {
  const session = await readCustomerSession(call);
  if (session === undefined || session === 'ended')
    return { to: session === 'ended' ? '/my?why=ended' : '/my' };
  return { ...call, session, view: await inCustomerLanguage(call, session) };
}

/** Returns the view in the language of a customer who opened a mailed link, if the browser requests none. */
async function inCustomerLanguage(
  { ctx, db, view, settings, at }: PageCall,
  session: CustomerSession,
): Promise<View> {
  if (session.by !== 'mail' || requestedLanguageOf(ctx, true) !== undefined) return view;
  const { language } = await readPerson(db, session.email);
  return language === null ? view : { ...view, ...localeOf(language, settings.timeZone, at) };
}
