import { jsonOf } from '../../../base/json';
import { addOperator, listOperators, removeOperator, type Operator } from '../../../access/operators';
import { notFound } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { actorInWords } from '../../../support/sentences';
import { clearSessionCookie } from '../../session-cookies';
import { csvNameOf, csvOf } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, RadioGroup, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { NoteLine } from '../kit/note';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';

/**
 * The operators who can request a mailed sign-in link. The API has no operation for this, so these forms call the
 * domain directly.
 */

export const operatorListRoutes: Route<OperatorCall>[] = [
  { path: '/operators', scope: 'write', get: showOperators },
  { path: '/operators.csv', scope: 'write', get: downloadOperators, hasDeadline: false },
  formRoute('/operators/new', { isSecret: true, show: showNew, work: add }),
  formRoute('/operators/:id/remove', {
    isSecret: true,
    find: operatorOf,
    show: askRemove,
    work: remove,
    whenDeleted: '/operators',
  }),
];

async function showOperators({ db, settings, view: { t, to, format } }: OperatorCall): Promise<PageResponse> {
  const { operators: texts, scopes } = t.system;
  const { columns } = texts;
  const mayMail = settings.publicUrl !== undefined;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="system"
        crumbs={[[t.system.title, '/system']]}
        sub={`${texts.about} ${mayMail ? texts.needsMail : ''}`}
        actions={
          <>
            <ButtonLink kind="primary" path="/operators/new" label={texts.add} />
            <ButtonLink path="/operators.csv" label={t.common.csv} />
          </>
        }
        above={mayMail ? null : <NoteLine>{texts.noMail}</NoteLine>}
        caption={texts.caption}
        rows={await listOperators(db)}
        empty={<p>{texts.none}</p>}
        columns={[
          { title: columns.email, kind: 'name', cell: ({ email }) => email },
          { title: columns.scope, cell: ({ scope }) => scopes[scope] },
          { title: columns.since, kind: 'time', cell: ({ createdAt }) => format.localDay(createdAt) },
          { title: columns.by, kind: 'long', cell: ({ createdBy }) => actorInWords(createdBy, t) },
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
        below={<p class="small muted">{t.system.asksAgain}</p>}
      />
    ),
  };
}

async function downloadOperators({ db, view }: OperatorCall): Promise<PageResponse> {
  const rows = csvOf(await listOperators(db), (operator) => ({
    ...jsonOf(operator, 'id', 'email', 'scope', 'createdAt'),
    created_by: actorInWords(operator.createdBy, view.t),
  }));
  return { csv: csvNameOf(view.t.system.operators.title), rows };
}

function showNew({ view: { t } }: OperatorCall, form: FormState): PageResponse {
  const { operators: texts, scopes } = t.system;
  return {
    page: (
      <FormPage
        title={texts.add}
        nav="system"
        crumbs={[[texts.title, '/operators']]}
        path="/operators/new"
        form={form}
        submit={texts.submit}
        busy={texts.busy}
        back="/operators"
      >
        <TextField name="email" type="email" label={texts.email} hint={texts.emailHint} required />
        <RadioGroup
          name="scope"
          label={texts.scope}
          value="read"
          options={['read', 'write'].map((scope) => ({
            value: scope,
            label: texts.scopeHints[scope] ?? scope,
            hint: scopes[scope] ?? '',
          }))}
        />
      </FormPage>
    ),
  };
}

async function add({ db, at, caller }: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const scope = sent.get('scope') === 'write' ? 'write' : 'read';
  const given = { email: sent.get('email') ?? '', scope } as const;
  const { email } = await addOperator(db, given, { actor: caller.actor, now: at });
  return redirectWithFlash('/operators', 'operatorAdded', email);
}

async function operatorOf(call: OperatorCall): Promise<Operator> {
  const id = readId(call);
  const operator = (await listOperators(call.db)).find((one) => one.id === id);
  if (operator === undefined) throw notFound('operator');
  return operator;
}

function isOwn({ caller }: OperatorCall, { email }: Operator): boolean {
  return caller.actor === `operator:${email}`;
}

function askRemove(call: OperatorCall, form: FormState, operator: Operator): PageResponse {
  const { operators, removeOperator: texts } = call.view.t.system;
  return {
    page: (
      <FormPage
        danger
        title={texts.title(operator.email)}
        nav="system"
        crumbs={[[operators.title, '/operators']]}
        path={`/operators/${operator.id}/remove`}
        form={form}
        points={[
          ...(isOwn(call, operator) ? [<strong>{texts.own}</strong>] : []),
          texts.sessions,
          texts.history,
          texts.others,
        ]}
        submit={texts.submit}
        busy={texts.busy}
        back={[texts.back, '/operators']}
      />
    ),
  };
}

async function remove(call: OperatorCall, _sent: URLSearchParams, operator: Operator): Promise<PageResponse> {
  await removeOperator(call.db, operator.email);
  if (!isOwn(call, operator)) return redirectWithFlash('/operators', 'operatorRemoved', operator.email);
  // The session ended with the operator.
  clearSessionCookie(call.ctx, 'operator', call.isTrusted);
  return redirectWithFlash('/sign-in', 'operatorRemoved', operator.email);
}
