import { requestCustomerLink } from '../../../access/link-requests';
import { findCode } from '../../../access/one-time-codes';
import { endSession, openCustomerSession, createSession } from '../../../access/sessions';
import { findByTypedKey, findKeysAddress } from '../../../selfservice/by-key';
import { notFound } from '../../../operations/kit/failures';
import { clearSessionCookie, readSessionCookie, setSessionCookie } from '../../session-cookies';
import { fieldOf, formState, type FormState } from '../form-state';
import { redirectWithFlash, type PageResponse, type PageCall, type Route } from '../page';
import { limitAsDownload, readCustomerSession } from './customer';
import { KeyEntryPage, CustomerLinkPage, InvalidLinkPage } from './entry';
import { showByKey } from './by-key';

/** The sign-in of customers: by a license key, or by a one-time link (magic link). */

/** The longest key that is accepted: more than Joomla's field for a download key holds. */
const MAX_KEY_LENGTH = 1_000;

const start: Route<PageCall> = {
  path: '/my',
  async get(call) {
    const session = await readCustomerSession(call);
    if (session === 'ended') {
      clearSessionCookie(call.ctx, 'customer', call.isTrusted);
      return showEntry(call, formState(), true);
    }
    if (session?.by === 'mail') return { to: '/my/mail' };
    return session === undefined ? showEntry(call, formState()) : showByKey({ ...call, session });
  },
  async post(call, sent) {
    await limitAsDownload(call);
    const key = fieldOf(sent, 'key', MAX_KEY_LENGTH);
    const typed = await findByTypedKey(call.db, key, call.at);
    if ('unknown' in typed) {
      const sentence = call.view.t.sentences.unknownKey({ length: typed.length });
      return {
        ...showEntry(call, formState(new URLSearchParams({ key }), { field: 'key', sentence })),
        status: 404,
      };
    }
    const replaces = readSessionCookie(call.ctx, 'customer');
    const opened = await createSession(call.db, { kind: 'customer', by: 'key', ...typed, replaces }, call.at);
    setSessionCookie(call.ctx, 'customer', opened.cookie, call.isTrusted);
    return { to: '/my' };
  },
};

/**
 * Mails a link to a typed address, or to the customer of the session's key. The answer does not reveal whether a mail
 * was sent.
 */
const askForLink: Route<PageCall> = {
  path: '/my/link',
  get: () => ({ to: '/my' }),
  async post(call, sent) {
    const { queueMail: queue } = call.settings;
    if (queue === undefined) throw notFound('page');
    await limitAsDownload(call);
    const isByKey = !sent.has('email');
    const email = isByKey ? await findAddress(call) : fieldOf(sent, 'email');
    await requestCustomerLink(call.db, email, { now: call.at, language: call.view.language, queue });
    return redirectWithFlash('/my', isByKey ? 'linkAskedByKey' : 'linkAsked');
  },
};

async function findAddress(call: PageCall): Promise<string> {
  const session = await readCustomerSession(call);
  return typeof session === 'object' && session.by === 'key'
    ? findKeysAddress(call.db, session.licenseId)
    : '';
}

const link: Route<PageCall> = {
  path: '/my/enter/:code',
  async get(call) {
    const code = call.path.code ?? '';
    const found = await findCode(call.db, 'customer', code, call.at);
    return found === undefined ? refuseCode(call) : { page: <CustomerLinkPage code={code} /> };
  },
  async post(call) {
    const replaces = readSessionCookie(call.ctx, 'customer');
    const opened = await openCustomerSession(call.db, call.path.code ?? '', call.at, { replaces });
    if (opened === undefined) return refuseCode(call);
    setSessionCookie(call.ctx, 'customer', opened.cookie, call.isTrusted);
    return { to: '/my/mail' };
  },
};

const signOut: Route<PageCall> = {
  path: '/my/sign-out',
  get: () => ({ to: '/my' }),
  async post(call) {
    const cookie = readSessionCookie(call.ctx, 'customer');
    if (cookie !== undefined) await endSession(call.db, 'customer', cookie, call.at);
    clearSessionCookie(call.ctx, 'customer', call.isTrusted);
    return redirectWithFlash('/my', 'signedOut');
  },
};

export const enterRoutes = [start, askForLink, link, signOut];

function showEntry({ query, settings }: PageCall, form: FormState, ended = query.get('why') === 'ended') {
  return { page: <KeyEntryPage form={form} hasMail={settings.queueMail !== undefined} ended={ended} /> };
}

async function refuseCode(call: PageCall): Promise<PageResponse> {
  await limitAsDownload(call);
  return { page: <InvalidLinkPage />, status: 404 };
}
