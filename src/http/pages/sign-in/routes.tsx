import { clearSessionCookie, readSessionCookie, setSessionCookie } from '../../session-cookies';
import { requestOperatorLink } from '../../../access/link-requests';
import { endSession, openOperatorSession } from '../../../access/sessions';
import { findCode } from '../../../access/one-time-codes';
import { OperationError } from '../../../operations/kit/failures';
import type { Child } from 'hono/jsx';
import { savePreferences, saveReturnPath, takeReturnPath } from '../preference-cookies';
import { fieldOf, formState, type FormState } from '../form-state';
import { redirectWithFlash, type PageResponse, type PageCall, type Route } from '../page';
import { signInAddress } from './step-up';
import { countFailure, signInByToken, type SignedIn } from './by-token';
import { nextOf } from './next';
import { SignInLinkPage, SignIn, InvalidCodePage } from './pages';
import { hasDoorSession, doorAddress } from './through-joomla';

/** The sign-in of operators: by an API token, or by a one-time link (magic link). */

const MAX_TOKEN_LENGTH = 1_000;

const signIn: Route<PageCall> = {
  path: '/sign-in',
  async get(call) {
    const door = doorAddress(call);
    const isAgain = door !== undefined && call.query.get('why') === 'again' && (await hasDoorSession(call));
    if (!isAgain) return showSignIn(call, formState());
    const { ctx, view } = call;
    // Show a link instead: the CSP of the form's page forbids a redirect to another host.
    if (new URL(door).origin !== ctx.state.origin) return showSignIn(call, formState(), isAgain);
    saveReturnPath(ctx, nextOf(call.query), view.to(''));
    ctx.status = 303;
    ctx.set('Location', door);
    return { sent: true };
  },
  async post(call, sent) {
    const opened = await signInByToken(call, fieldOf(sent, 'token', MAX_TOKEN_LENGTH));
    if ('sentence' in opened) {
      const { sentence, status } = opened;
      const form = formState(new URLSearchParams({ token: '' }), { field: 'token', sentence });
      return { ...showSignIn(call, form), status };
    }
    return enter(call, opened, nextOf(sent));
  },
};

/** Mails a link to an operator. The answer does not reveal whether the address belongs to an operator. */
const mailedLink: Route<PageCall> = {
  path: '/sign-in/link',
  async post(call, sent) {
    const { db, at: now, settings, view } = call;
    const { queueMail: queue } = settings;
    if (queue === undefined) throw new OperationError('NOT_FOUND', '');
    await countRequest(call);
    await requestOperatorLink(db, fieldOf(sent, 'email'), { now, language: view.language, queue });
    return redirectWithFlash(signInAddress(nextOf(sent), undefined), 'operatorLinkAsked');
  },
};

const link: Route<PageCall> = {
  path: '/enter/:code',
  async get(call) {
    const found = await findCode(call.db, 'operator', call.path.code ?? '', call.at);
    return found === undefined ? refuseCode(call) : { page: <SignInLinkPage code={call.path.code ?? ''} /> };
  },
  async post(call) {
    const replaces = readSessionCookie(call.ctx, 'operator');
    const opened = await openOperatorSession(call.db, { code: call.path.code ?? '' }, call.at, { replaces });
    if ('refused' in opened) return refuseCode(call);
    const next = takeReturnPath(call.ctx, call.view.to(''));
    return enter(call, opened, nextOf(new URLSearchParams({ next })));
  },
};

const signOut: Route<PageCall> = {
  path: '/sign-out',
  async post(call) {
    const cookie = readSessionCookie(call.ctx, 'operator');
    if (cookie !== undefined) await endSession(call.db, 'operator', cookie, call.at);
    clearSessionCookie(call.ctx, 'operator', call.isTrusted);
    return redirectWithFlash('/sign-in', 'signedOut');
  },
};

/** Keeps the theme and language chosen in the footer, for operators and customers. */
const preferences = (path: string): Route<PageCall> => ({
  path,
  post(call, sent) {
    savePreferences(call.ctx, sent, call.view.to(''));
    return { to: nextOf(sent, 'back') };
  },
});

export const signInRoutes = [
  signIn,
  mailedLink,
  link,
  signOut,
  preferences('/preferences'),
  preferences('/my/preferences'),
];

/** Shows the sign-in. @param byDoor true if the session to renew was opened through Joomla */
function showSignIn(call: PageCall, form: FormState, byDoor = false): { page: Child } {
  const { ctx, query, view, settings } = call;
  const next = nextOf(query);
  // Keep the page for a one-time link too, whether mailed or printed.
  if (!form.wasSent) saveReturnPath(ctx, next, view.to(''));
  const why = view.operator === undefined ? query.get('why') : null;
  return {
    page: (
      <SignIn
        form={form}
        next={next}
        door={doorAddress(call)}
        byDoor={byDoor}
        hasMail={settings.queueMail !== undefined}
        why={why === 'ended' || why === 'again' ? why : undefined}
      />
    ),
  };
}

function enter(call: PageCall, opened: SignedIn, next: string): PageResponse {
  setSessionCookie(call.ctx, 'operator', opened.cookie, call.isTrusted);
  return { to: next };
}

async function refuseCode(call: PageCall): Promise<PageResponse> {
  await countFailure(call);
  return { page: <InvalidCodePage />, status: 404 };
}

/** Counts a requested mail in the same bucket as downloads. @throws OperationError */
async function countRequest({ limiter, ctx }: PageCall): Promise<void> {
  const { allowed, retryAfter } = await limiter('download', ctx.state.client.limitKey);
  if (!allowed) throw new OperationError('RATE_LIMITED', '', { retryAfter });
}
