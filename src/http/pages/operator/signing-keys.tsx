import { listSigningKeys, type SigningKeyInUse } from '../../../licensing/signing-keys';
import { ManageError } from '../../../operations/failures';
import { act, attempt, filled } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Form, FormErrors, Submit } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { signingKeyOperations } from '../../../operations/signing-keys';

/** The keys that sign answers: which there are, a new one, and ending one. */

export const signingKeyRoutes: Route<OperatorCall>[] = [
  { path: '/signing-keys', get: showKeys },
  {
    path: '/signing-keys/new',
    scope: 'write',
    isSecret: true,
    get: (call) => askAdd(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => add(call, sent),
        (form) => askAdd(call, form),
      ),
  },
  {
    path: '/signing-keys/:kid/retire',
    scope: 'write',
    isSecret: true,
    get: (call) => askRetire(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => retire(call, sent),
        (form) => askRetire(call, form),
      ),
  },
];

async function showKeys({ db }: OperatorCall): Promise<Answer> {
  return { page: <KeyList keys={await listSigningKeys(db)} /> };
}

async function askAdd({ db }: OperatorCall, form: FormState): Promise<Answer> {
  const keys = await listSigningKeys(db);
  return { page: <AskAdd form={form} isFirst={keys.every(({ state }) => state === 'retired')} /> };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { kid } = await act(call, sent, signingKeyOperations.addSigningKey, { body: {} });
  return done('/signing-keys', 'signingKeyAdded', kid);
}

async function askRetire({ db, path }: OperatorCall, form: FormState): Promise<Answer> {
  const keys = await listSigningKeys(db);
  const key = keys.find(({ kid }) => kid === path.kid);
  if (key === undefined) throw new ManageError('NOT_FOUND', '');
  const next = keys.find(({ state, kid }) => state !== 'retired' && kid !== key.kid);
  return { page: <AskRetire form={form} signingKey={key} next={next?.kid} /> };
}

async function retire(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const kid = call.path.kid ?? '';
  const { compromised } = filled(sent, 'compromised');
  await act(call, sent, signingKeyOperations.retireSigningKey, {
    path: { kid },
    body: { compromised: compromised === '1' },
  });
  return done('/signing-keys', 'signingKeyRetired', kid);
}

function KeyList({ keys }: { keys: SigningKeyInUse[] }) {
  const { t, to, format, operator } = useView();
  const { signingKeys: texts } = t.system;
  const { columns } = texts;
  const mayChange = operator?.scope === 'write';
  return (
    <OperatorPage title={texts.title} nav="system" crumbs={[[t.system.title, '/system']]}>
      <Head
        title={texts.title}
        sub={texts.about}
        actions={
          mayChange ? (
            <a class="btn btn-primary" href={to('/signing-keys/new')}>
              {texts.add}
            </a>
          ) : null
        }
      />
      <Panel id="list">
        <Table
          caption={texts.caption}
          rows={keys}
          empty={<p class="mb-0">{texts.none}</p>}
          columns={[
            {
              title: columns.state,
              cell: ({ state, compromised }) => (
                <>
                  {texts.states[state]}
                  {compromised ? <span class="sub">{texts.compromised}</span> : null}
                </>
              ),
            },
            { title: columns.kid, kind: 'name', cell: ({ kid }) => kid },
            { title: columns.x, kind: 'long', cell: ({ x }) => <code>{x}</code> },
            { title: columns.made, cell: ({ createdAt }) => format.localDay(createdAt) },
            {
              title: columns.retired,
              cell: ({ retiredAt }) => (retiredAt === null ? t.common.none : format.localDay(retiredAt)),
            },
            { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
            ...(mayChange
              ? [
                  {
                    title: '',
                    kind: 'act' as const,
                    cell: ({ kid, compromised }: SigningKeyInUse) =>
                      compromised ? null : (
                        <a href={to(`/signing-keys/${kid}/retire`)} aria-label={texts.retireOne(kid)}>
                          {texts.retire}
                        </a>
                      ),
                  },
                ]
              : []),
          ]}
        />
      </Panel>
      {mayChange ? <p class="small muted mt-2">{t.system.asksAgain}</p> : null}
    </OperatorPage>
  );
}

function AskAdd({ form, isFirst }: { form: FormState; isFirst: boolean }) {
  const { t, to } = useView();
  const { signingKeys: texts } = t.system;
  return (
    <OperatorPage title={texts.add} nav="system" crumbs={[[texts.title, '/signing-keys']]}>
      <Head title={texts.add} />
      <Panel id="new" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <ul>
            <li>{isFirst ? texts.addFirst : texts.addNext}</li>
            <li>{texts.sealed}</li>
          </ul>
          <Form path="/signing-keys/new" form={form}>
            <p class="acts mb-0">
              <Submit busy={texts.busy}>{texts.add}</Submit>
              <a class="btn btn-quiet" href={to('/signing-keys')}>
                {texts.toList}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

/** @param next the key that signs after it; undefined: there is none */
function AskRetire({
  form,
  signingKey: { kid, state },
  next,
}: {
  form: FormState;
  signingKey: SigningKeyInUse;
  next: string | undefined;
}) {
  const { t } = useView();
  const texts = t.system.retireKey;
  const first = {
    current: next === undefined ? texts.last : texts.current(next),
    next: texts.next,
    retired: texts.retired,
  }[state];
  return (
    <FormPage
      danger
      title={texts.title(kid)}
      nav="system"
      crumbs={[[t.system.signingKeys.title, '/signing-keys']]}
      path={`/signing-keys/${kid}/retire`}
      form={form}
      points={[first, ...(state === 'current' ? [texts.counts] : []), texts.final]}
      submit={texts.submit}
      busy={texts.busy}
      back={[texts.back, '/signing-keys']}
    >
      <Checkbox form={form} name="compromised" label={texts.compromised} hint={texts.compromisedHint} />
    </FormPage>
  );
}
