import type { Child } from 'hono/jsx';
import { readMyKey } from '../../../selfservice/by-mail';
import { newMyKey, revealMyKey } from '../../../selfservice/changes';
import { toId } from '../../../operations/kit/request-params';
import { showFormOnRefusal } from '../submit';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { CustomerPage } from '../kit/customer-page';
import { RadioGroup, FormErrors, Submit } from '../kit/fields';
import { Panel } from '../kit/panel';
import type { PageResponse } from '../page';
import { mailSessionRoute, orNotFound, mailQueueOf, redirectToLicenses, type MailCall } from './customer';
import { licenseTitle } from './license';
import { SignOut } from './parts';
import { LicensesLink } from './sites';

/**
 * Shows the whole key of a licence, or replaces it. Both keys are only in answers to a POST, so that no address
 * contains them.
 */

export const keyRoutes = [
  mailSessionRoute('/my/licenses/:id/keys/:key/show', { get: redirectToLicenses, post: show }),
  mailSessionRoute('/my/licenses/:id/keys/:key/new', {
    get: (call) => ask(call, formState()),
    post: replace,
  }),
];

async function show(call: MailCall): Promise<PageResponse> {
  const { db, email, path, at: now, settings, view } = call;
  const { keySecret } = settings;
  const [id, keyId] = [toId(path.id), toId(path.key)];
  const shown = orNotFound(await revealMyKey(db, email, id, { keyId, keySecret, now }));
  const { keys } = view.t.my;
  if ('refused' in shown) {
    const why = shown.refused === 'KEY_ENDED' ? keys.ended : view.t.sentences.keyNotKept;
    return { page: <NoKey title={keys.shown} why={why} />, status: 409 };
  }
  return { page: <WholeKey title={keys.shown} text={shown.key} note={keys.keepSecret} /> };
}

async function ask(
  { db, email, path, at: now, settings, view }: MailCall,
  form: FormState,
): Promise<PageResponse> {
  const [id, keyId] = [toId(path.id), toId(path.key)];
  const { keySecret } = settings;
  const { license, key } = orNotFound(await readMyKey(db, email, id, keyId, { now, keySecret }));
  const { keys } = view.t.my;
  return {
    page: (
      <CustomerPage
        title={key.keyHint === null ? keys.askNoHint : keys.ask(key.keyHint)}
        action={<SignOut />}
        sub={<span class="muted">{licenseTitle({ ...license, plan: license.plan.name })}</span>}
      >
        <Panel id="new" inside>
          <FormErrors form={form} />
          <p>{keys.consequence}</p>
          <form method="post" action={view.to(`/my/licenses/${id}/keys/${keyId}/new`)}>
            <RadioGroup
              form={form}
              name="overlap"
              label={keys.stops}
              value="14d"
              options={[
                { value: '14d', label: keys.overlap, hint: keys.overlapHint },
                { value: 'none', label: keys.atOnce, hint: keys.atOnceHint },
              ]}
            />
            <p class="acts">
              <Submit kind="danger" busy={keys.making} label={keys.make} />
              <a class="btn" href={view.to('/my/mail')}>
                {keys.back}
              </a>
            </p>
          </form>
        </Panel>
      </CustomerPage>
    ),
  };
}

function replace(call: MailCall, sent: URLSearchParams): Promise<PageResponse> {
  const { db, email, path, at: now, settings, view } = call;
  const overlap = sent.get('overlap') === '14d' ? '14d' : undefined;
  const { keys } = view.t.my;
  return showFormOnRefusal(
    call,
    sent,
    async () => {
      const changed = orNotFound(
        await newMyKey(db, email, toId(path.id), {
          keyId: toId(path.key),
          overlap,
          keySecret: settings.keySecret,
          now,
          queue: mailQueueOf(call),
        }),
      );
      if ('refused' in changed) return { page: <NoKey title={keys.made} why={keys.ended} />, status: 409 };
      const oldEndsAt = overlap === undefined ? null : changed.oldEndsAt;
      const note = view.t.sentences.keyChanged({ oldEndsAt });
      return { page: <WholeKey title={keys.made} text={changed.key} note={note} /> };
    },
    (form) => ask(call, form),
  );
}

function WholeKey({ title, text, note }: { title: string; text: string; note: string }) {
  return (
    <KeyPage title={title}>
      <Panel id="key" inside>
        <p>{note}</p>
        <CopyText id="key-text" label={title} text={text} />
      </Panel>
    </KeyPage>
  );
}

function NoKey({ title, why }: { title: string; why: string }) {
  return (
    <KeyPage title={title}>
      <p role="alert">{why}</p>
    </KeyPage>
  );
}

function KeyPage({ title, children }: { title: string; children: Child }) {
  return (
    <CustomerPage title={title} action={<SignOut />} sub={<LicensesLink />}>
      {children}
    </CustomerPage>
  );
}
