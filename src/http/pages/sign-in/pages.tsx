import type { Child } from 'hono/jsx';
import { OperatorPage } from '../kit/operator-page';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { NoteLine } from '../kit/note';
import { PageHeader, Panel } from '../kit/panel';
import { formState, type FormState } from '../form-state';
import { useView } from '../view';
import { TokenField } from './token-field';

/** A narrow page for visitors who are not signed in. */
export function SignInLayout({
  title,
  stack,
  children,
}: {
  title: string;
  stack?: boolean;
  children: Child;
}) {
  return (
    <OperatorPage title={title} nav={undefined}>
      <div class={stack ? 'narrow stack' : 'narrow'}>
        <PageHeader title={title} />
        {children}
      </div>
    </OperatorPage>
  );
}

/**
 * Offers a mailed link (if mail is set up), then the sign-in through Joomla, then an API token. Users without a shell
 * find their token in Joomla.
 */
export function SignIn({
  form,
  next,
  why,
  door,
  byDoor,
  hasMail,
}: {
  form: FormState;
  next: string;
  why: 'ended' | 'again' | undefined;
  /** the address of the component in Joomla; undefined if there is no site */
  door: string | undefined;
  /** true if the session to renew was opened through Joomla */
  byDoor: boolean;
  hasMail: boolean;
}) {
  const { t } = useView();
  const { signIn } = t;
  const byTheDoor =
    door === undefined ? null : (
      <Panel id="door" title={signIn.door.title} inside>
        <p>{signIn.door.about}</p>
        {byDoor ? (
          <p>
            <a class="btn btn-primary" href={door}>
              {signIn.door.go}
            </a>
          </p>
        ) : null}
      </Panel>
    );
  return (
    <SignInLayout title={signIn.title} stack>
      {why === undefined ? null : <NoteLine role="status">{signIn.why[why]}</NoteLine>}
      {byDoor ? byTheDoor : null}
      {hasMail ? (
        <Panel id="link" title={signIn.withLink} inside>
          <Form path="/sign-in/link" form={formState()} label={signIn.withLink}>
            <input type="hidden" name="next" value={next} />
            <TextField
              name="email"
              type="email"
              autocomplete="email"
              label={signIn.email}
              hint={signIn.emailHint}
              required
            />
            <Submit kind={byDoor ? 'quiet' : 'primary'} label={signIn.mailLink} />
          </Form>
        </Panel>
      ) : null}
      {byDoor ? null : byTheDoor}
      <Panel id="token" title={signIn.withToken} inside>
        <Form path="/sign-in" form={form}>
          <FormErrors form={form} />
          <input type="hidden" name="next" value={next} />
          <TokenField form={form} name="token" />
          <Submit kind={hasMail || byDoor ? 'quiet' : 'primary'} busy={signIn.busy} label={signIn.submit} />
        </Form>
      </Panel>
      <p class="small muted">
        {signIn.linkHint} <code>licensing sign-in</code>
      </p>
    </SignInLayout>
  );
}

/** The page of a one-time link. It changes nothing, because mail scanners open it too; its button uses the link. */
export function SignInLinkPage({ code }: { code: string }) {
  const { signIn } = useView().t;
  return (
    <SignInLayout title={signIn.title}>
      <p>{signIn.enterHint}</p>
      <Form path={`/enter/${code}`} form={formState()}>
        <Submit busy={signIn.busy} label={signIn.enter} />
      </Form>
    </SignInLayout>
  );
}

/** The page for an invalid code, without showing whether it was used, has expired or never existed. */
export function InvalidCodePage() {
  const { t, to } = useView();
  const { signIn } = t;
  return (
    <SignInLayout title={signIn.usedTitle}>
      <p>{signIn.used}</p>
      <p>
        <a href={to('/sign-in')}>{signIn.other}</a>
      </p>
    </SignInLayout>
  );
}
