import type { Child } from 'hono/jsx';
import { isRecentSignIn } from '../../../access/sessions';
import { OperationError } from '../../../operations/kit/failures';
import { setSessionCookie } from '../../session-cookies';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Submit } from '../kit/fields';
import { NoteLine } from '../kit/note';
import { Panel } from '../kit/panel';
import { scopeOf, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { signInByToken } from './by-token';
import { SignInLayout } from './pages';
import { TokenField } from './token-field';

/** Step-up authentication: a new sign-in after more than an hour. Its page keeps the submitted form. */

/** The name of the token's field, which no other form uses. */
const TOKEN = 'sign_in_again';

/**
 * Returns the call if its operator signed in within the last hour, or does so by the token in the form.
 * @param sent loses this token @returns the page that asks for the sign-in, if neither applies @throws OperationError
 */
export async function ensureRecentSignIn(
  call: OperatorCall,
  route: Route<OperatorCall>,
  sent: URLSearchParams,
): Promise<OperatorCall | PageResponse> {
  const token = sent.get(TOKEN)?.trim();
  sent.delete(TOKEN);
  if (isRecentSignIn(call.session, call.at)) return call;
  if (!token) {
    const isExempt = route.needsNoRecentSignIn === true || scopeOf(route, 'POST') === 'read';
    // The form comes from the page that asks, without a token: the operator has not signed in elsewhere yet.
    if (isExempt && token === undefined) return call;
    // Nothing was typed, so show the form's page again after the sign-in.
    const isEmpty = [...sent].every(([name, value]) => name === 'once' || value === '');
    return isEmpty && route.get !== undefined && token === undefined
      ? { to: signInAddress(call.view.path, 'again') }
      : stepUpPage(sent);
  }
  const opened = await signInByToken(call, token);
  if ('sentence' in opened) return { ...stepUpPage(sent, opened.sentence), status: opened.status };
  setSessionCookie(call.ctx, 'operator', opened.cookie, call.isTrusted);
  const { session } = opened;
  const { caller } = session;
  call.view.operator = { name: caller.name, scope: caller.scope, byDoor: caller.byDoor };
  if (scopeOf(route, 'POST') === 'write' && caller.scope !== 'write')
    throw new OperationError('FORBIDDEN', '');
  return { ...call, session, caller };
}

/** Returns the path of the sign-in, which then leads to `next`. */
export function signInAddress(next: string, why: 'ended' | 'again' | undefined): string {
  const query = new URLSearchParams(next === '/' ? {} : { next });
  if (why !== undefined) query.set('why', why);
  return `/sign-in${query.size === 0 ? '' : `?${String(query)}`}`;
}

/** Asks for a sign-in and keeps the form. @param sentence the mistake in the token */
export function stepUpPage(sent: URLSearchParams, sentence?: string): { page: Child; status: number } {
  const failure = sentence === undefined ? undefined : { field: TOKEN, sentence };
  const form = formState(sent, failure, sent.get('once') ?? undefined);
  return { page: <Again sent={sent} form={form} />, status: 403 };
}

function Again({ sent, form }: { sent: URLSearchParams; form: FormState }) {
  const { t, to, path, operator } = useView();
  const { signIn } = t;
  const byDoor = operator?.byDoor === true;
  const fields = [...sent].filter(([name]) => name !== 'once');
  return (
    <SignInLayout title={signIn.again.title} stack>
      <NoteLine role="status">{signIn.again.kept}</NoteLine>
      <Panel id="again" title={signIn.withToken} inside>
        <Form path={path} form={form}>
          <FormErrors form={form} />
          {fields.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <TokenField form={form} name={TOKEN} required={false} />
          <p>
            {byDoor ? signIn.again.byDoor : signIn.again.byLink}{' '}
            <a href={to('/sign-in', byDoor ? { why: 'again' } : {})} target="_blank" rel="noopener">
              {signIn.again.elsewhere}
            </a>
          </p>
          <Submit busy={signIn.busy} label={signIn.again.submit} />
        </Form>
      </Panel>
    </SignInLayout>
  );
}
