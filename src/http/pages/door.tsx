import { getDomain } from 'tldts';
import { openOperatorSession } from '../../access/sessions';
import type { DoorRefusal } from '../../access/door';
import { readSessionCookie, setSessionCookie } from '../session-cookies';
import { takeReturnPath } from './preference-cookies';
import { showFirst } from './operator/first-page';
import type { PageResponse, PageCall, Route } from './page';
import { nextOf } from './sign-in/next';
import { countFailure } from './sign-in/by-token';
import { SignInLayout } from './sign-in/pages';
import { useView } from './view';

/** Sign-in through Joomla (SSO): its component posts a ticket of the signed-in user here (access/door.ts). */

/** The route of the component. Without LICENSING_JOOMLA_ROOT, it answers 404. */
export const doorRoutes: Route<PageCall>[] = [
  { path: '/enter-joomla', handlesCsrfItself: true, post: enter },
];

async function enter(call: PageCall, sent: URLSearchParams): Promise<PageResponse> {
  const { ctx, db, at, authenticate, settings, view } = call;
  const from = originsOf(settings.config).find((origin) => origin === ctx.headers.origin);
  if (from === undefined) return refuse('ORIGIN');
  const caller = await authenticate.door.enter(sent.get('ticket') ?? '');
  if ('refused' in caller) {
    await countFailure(call);
    return refuse(caller.refused);
  }
  const replaces = readSessionCookie(ctx, 'operator');
  const opened = await openOperatorSession(db, { caller }, at, { replaces });
  if ('refused' in opened) return refuse('GROUP');
  setSessionCookie(ctx, 'operator', opened.cookie, call.isTrusted);
  if (isSameSite(from, ctx.state.origin))
    return { to: nextOf(new URLSearchParams({ next: takeReturnPath(ctx, view.to('')) })) };
  // Show the page now: after a redirect, a browser that came from another site would not send the cookie.
  const { session } = opened;
  view.operator = { name: caller.name, scope: caller.scope, byDoor: true };
  view.path = '/';
  return showFirst({ ...call, session, caller: session.caller });
}

/** Returns the origins of the site, by the addresses of its Joomla. */
function originsOf({ publicUrl, liveSite }: PageCall['settings']['config']): string[] {
  return [publicUrl, liveSite].flatMap((url) => (url === undefined ? [] : new URL(url).origin));
}

/** Reports whether two origins are the same site as browsers define it: by scheme and registrable domain. */
function isSameSite(one: string, other: string | undefined): boolean {
  if (other === undefined) return false;
  const [a, b] = [new URL(one), new URL(other)];
  const siteOf = ({ hostname }: URL) => getDomain(hostname, { allowPrivateDomains: true }) ?? hostname;
  return a.protocol === b.protocol && siteOf(a) === siteOf(b);
}

function refuse(reason: DoorRefusal | 'ORIGIN'): PageResponse {
  return { page: <NotIn reason={reason} />, status: 403 };
}

function NotIn({ reason }: { reason: DoorRefusal | 'ORIGIN' }) {
  const view = useView();
  const { signIn } = view.t;
  const { door } = signIn;
  return (
    <SignInLayout title={door.refusedTitle}>
      <p>{door.refused[reason]}</p>
      <p>
        <a href={view.to('/sign-in')}>{signIn.other}</a>
      </p>
    </SignInLayout>
  );
}
