import { addOperator, listOperators, removeOperator, type Operator } from '../../../access/operators';
import { ManageError } from '../../../operations/failures';
import { clearSessionCookie } from '../../session-cookies';
import { attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { Choices, Form, FormErrors, Submit, TextField } from '../kit/fields';
import { FinalAction } from '../kit/final-action';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';

/** Who may have a sign-in link mailed. The API has no operation for it, so these forms call the domain themselves. */

export const operatorListRoutes: Route<OperatorCall>[] = [
  {
    path: '/operators',
    scope: 'write',
    get: async ({ db, settings }) => ({
      page: <OperatorList operators={await listOperators(db)} mayMail={settings.publicUrl !== undefined} />,
    }),
  },
  {
    path: '/operators/new',
    scope: 'write',
    isSecret: true,
    get: () => ({ page: <OperatorForm form={formState()} /> }),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => add(call, sent),
        (form) => ({ page: <OperatorForm form={form} /> }),
      ),
  },
  {
    path: '/operators/:id/remove',
    scope: 'write',
    isSecret: true,
    get: async (call) => {
      const operator = await findOperator(call);
      if (operator === undefined) throw new ManageError('NOT_FOUND', '');
      return { page: <AskRemove operator={operator} isOwn={isOwn(call, operator)} /> };
    },
    post: remove,
  },
];

async function add({ db, at, caller }: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const scope = sent.get('scope') === 'write' ? 'write' : 'read';
  const given = { email: sent.get('email') ?? '', scope } as const;
  const { email } = await addOperator(db, given, { actor: caller.actor, now: at });
  return done('/operators', 'operatorAdded', email);
}

async function remove(call: OperatorCall): Promise<Answer> {
  const operator = await findOperator(call);
  // Sent a second time
  if (operator === undefined) return done('/operators');
  await removeOperator(call.db, operator.email);
  if (!isOwn(call, operator)) return done('/operators', 'operatorRemoved', operator.email);
  // The session ended with the operator.
  clearSessionCookie(call.ctx, 'operator', call.isTrusted);
  return done('/sign-in', 'operatorRemoved', operator.email);
}

async function findOperator({ db, path }: OperatorCall): Promise<Operator | undefined> {
  return (await listOperators(db)).find(({ id }) => String(id) === path.id);
}

function isOwn({ caller }: OperatorCall, { email }: Operator): boolean {
  return caller.actor === `operator:${email}`;
}

function OperatorList({ operators, mayMail }: { operators: Operator[]; mayMail: boolean }) {
  const { t, to, format } = useView();
  const { operators: texts, scopes } = t.system;
  const { columns } = texts;
  return (
    <OperatorPage title={texts.title} nav="system" crumbs={[[t.system.title, '/system']]}>
      <Head
        title={texts.title}
        sub={`${texts.about} ${mayMail ? texts.needsMail : ''}`}
        actions={
          <a class="btn btn-primary" href={to('/operators/new')}>
            {texts.add}
          </a>
        }
      />
      {mayMail ? null : <p class="alert alert-warning">{texts.noMail}</p>}
      <Panel id="list">
        <Table
          caption={texts.caption}
          rows={operators}
          empty={<p class="mb-0">{texts.none}</p>}
          columns={[
            { title: columns.email, kind: 'name', cell: ({ email }) => email },
            { title: columns.scope, cell: ({ scope }) => scopes[scope] },
            { title: columns.since, cell: ({ createdAt }) => format.localDay(createdAt) },
            { title: columns.by, kind: 'long', cell: ({ createdBy }) => createdBy },
            {
              title: '',
              kind: 'act',
              cell: ({ id, email }) => (
                <a href={to(`/operators/${id}/remove`)} aria-label={texts.removeOne(email)}>
                  {texts.remove}
                </a>
              ),
            },
          ]}
        />
      </Panel>
      <p class="small muted mt-2">{t.system.asksAgain}</p>
    </OperatorPage>
  );
}

function OperatorForm({ form }: { form: FormState }) {
  const { t, to } = useView();
  const { operators: texts, scopes } = t.system;
  return (
    <OperatorPage title={texts.add} nav="system" crumbs={[[texts.title, '/operators']]}>
      <Head title={texts.add} />
      <Panel id="new" kind="narrow">
        <Inside>
          <Form path="/operators/new" form={form}>
            <FormErrors form={form} />
            <TextField
              form={form}
              name="email"
              type="email"
              label={texts.email}
              hint={texts.emailHint}
              required
            />
            <Choices
              form={form}
              name="scope"
              label={texts.scope}
              value="read"
              options={['read', 'write'].map((scope) => ({
                value: scope,
                label: texts.scopeHints[scope] ?? scope,
                hint: scopes[scope] ?? '',
              }))}
            />
            <p class="acts mb-0">
              <Submit busy={texts.busy}>{texts.submit}</Submit>
              <a class="btn btn-quiet" href={to('/operators')}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function AskRemove({ operator: { id, email }, isOwn }: { operator: Operator; isOwn: boolean }) {
  const { t } = useView();
  const texts = t.system.removeOperator;
  return (
    <FinalAction
      title={texts.title(email)}
      nav="system"
      crumbs={[[t.system.operators.title, '/operators']]}
      path={`/operators/${id}/remove`}
      form={formState()}
      consequences={[
        ...(isOwn ? [<strong>{texts.own}</strong>] : []),
        texts.sessions,
        texts.history,
        texts.others,
      ]}
      submit={texts.submit}
      busy={texts.busy}
      back={[texts.back, '/operators']}
    />
  );
}
