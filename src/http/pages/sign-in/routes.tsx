import { clearSessionCookie, readSessionCookie, setSessionCookie } from '../../session-cookies';
import { requestOperatorLink } from '../../../access/link-requests';
import { endSession, openOperatorSession, type OperatorSignIn } from '../../../access/sessions';
import { findCode } from '../../../access/one-time-codes';
import { ManageError } from '../../manage/failures';
import type { Child } from 'hono/jsx';
import { keepChoices } from '../browser-choices';
import { formState, type FormState } from '../form-state';
import { done, type Answer, type PageCall, type Route } from '../page';
import { Enter, SignIn, UsedCode } from './pages';

/** How an operator signs in: by an API token, or by a one-time link. */

const signIn: Route<PageCall> = {
  path: '/sign-in',
  get: (call) => showSignIn(call, formState()),
  async post(call, sent) {
    const { authenticate } = call;
    const token = sent.get('token')?.trim() ?? '';
    const form = (sentence: string) =>
      formState(new URLSearchParams({ token: '' }), { field: 'token', sentence });
    const { t } = call.view;
    // As the API judges it, from either header.
    const caller = await authenticate({ authorization: `Bearer ${token}`, joomlaToken: undefined });
    if ('refused' in caller) {
      await countFailure(call);
      const say = caller.refused === 'FORBIDDEN' ? t.signIn.wrongGroup : t.signIn.wrongToken;
      return { ...showSignIn(call, form(say)), status: 401 };
    }
    const replaces = readSessionCookie(call.ctx, 'operator');
    const opened = await openOperatorSession(call.db, { caller }, call.at, { replaces });
    if ('refused' in opened) return { ...showSignIn(call, form(t.signIn.shopToken)), status: 403 };
    return enter(call, opened, nextOf(sent));
  },
};

/** Mails a link to an operator. It says the same, whether the address is one. */
const mailedLink: Route<PageCall> = {
  path: '/sign-in/link',
  async post(call, sent) {
    const { db, at: now, settings, view } = call;
    const { queueMail: queue } = settings;
    if (queue === undefined) throw new ManageError('NOT_FOUND', '');
    await countRequest(call);
    await requestOperatorLink(db, sent.get('email') ?? '', { now, language: view.language, queue });
    return done('/sign-in', 'operatorLinkAsked');
  },
};

const link: Route<PageCall> = {
  path: '/enter/:code',
  async get(call) {
    const found = await findCode(call.db, 'operator', call.path.code ?? '', call.at);
    return found === undefined ? refuseCode(call) : { page: <Enter code={call.path.code ?? ''} /> };
  },
  async post(call) {
    const replaces = readSessionCookie(call.ctx, 'operator');
    const opened = await openOperatorSession(call.db, { code: call.path.code ?? '' }, call.at, { replaces });
    return 'refused' in opened ? refuseCode(call) : enter(call, opened, '/');
  },
};

const signOut: Route<PageCall> = {
  path: '/sign-out',
  async post(call) {
    const cookie = readSessionCookie(call.ctx, 'operator');
    if (cookie !== undefined) await endSession(call.db, 'operator', cookie, call.at);
    clearSessionCookie(call.ctx, 'operator', call.isTrusted);
    return done('/sign-in', 'signedOut');
  },
};

/** What the footer chooses: theme and language, for operators and customers. */
const preferences = (path: string): Route<PageCall> => ({
  path,
  post(call, sent) {
    keepChoices(call.ctx, sent, call.view.to(''));
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

function showSignIn({ query, view, settings }: PageCall, form: FormState): { page: Child } {
  const next = nextOf(form.wasSent ? new URLSearchParams({ next: query.get('next') ?? '/' }) : query);
  const why = view.operator === undefined ? query.get('why') : null;
  return {
    page: (
      <SignIn
        form={form}
        next={next}
        hasMail={settings.queueMail !== undefined}
        why={why === 'ended' || why === 'again' ? why : undefined}
      />
    ),
  };
}

function enter(call: PageCall, opened: Extract<OperatorSignIn, { cookie: string }>, next: string): Answer {
  setSessionCookie(call.ctx, 'operator', opened.cookie, call.isTrusted);
  return { to: next };
}

async function refuseCode(call: PageCall): Promise<Answer> {
  await countFailure(call);
  return { page: <UsedCode />, status: 404 };
}

/** Asking for mails counts like downloads. @throws ManageError */
async function countRequest({ limiter, ctx }: PageCall): Promise<void> {
  const { allowed, retryAfter } = await limiter('download', ctx.state.client.limitKey);
  if (!allowed) throw new ManageError('RATE_LIMITED', '', { retryAfter });
}

/** @throws ManageError for the eleventh failure of a client in a minute */
async function countFailure({ limiter, ctx }: PageCall): Promise<void> {
  const { allowed, retryAfter } = await limiter('manage_failures', ctx.state.client.limitKey);
  if (!allowed) throw new ManageError('RATE_LIMITED', '', { retryAfter });
}

/** Where to go after it: a path of ours, and nothing else. */
function nextOf(sent: URLSearchParams, name = 'next'): string {
  const next = sent.get(name) ?? '/';
  return /^\/(?![/\\])[\x21-\x7e]*$/.test(next) && !next.startsWith('/enter/') ? next : '/';
}
