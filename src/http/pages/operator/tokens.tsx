import { listTokenPage, listTokens, type ApiToken } from '../../../access/tokens';
import { tokenJson } from '../../../licensing/views';
import { notFound } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { tokenOperations } from '../../../operations/tokens';
import { clearSessionCookie } from '../../session-cookies';
import { submitOperation, nonEmptyFields } from '../submit';
import { manageAddress } from '../address';
import { csvNameOf, csvRows } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, RadioGroup, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';

/** The API tokens: the list, a new token, which is shown once, and revoking one. */

const LIMIT = 50;
const CSV_PAGE = 500;
/** The scope of a shop is first, because most tokens need it. */
const SCOPES = ['issue', 'read', 'write'];

export const tokenRoutes: Route<OperatorCall>[] = [
  { path: '/tokens', scope: 'write', get: showTokens },
  { path: '/tokens.csv', scope: 'write', get: downloadTokens, hasDeadline: false },
  formRoute('/tokens/new', { isSecret: true, show: showNew, work: make }),
  formRoute('/tokens/:id/revoke', {
    isSecret: true,
    find: tokenOf,
    show: askRevoke,
    work: revoke,
    whenDeleted: '/tokens',
  }),
];

async function showTokens({ db, at, query, caller, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format } = view;
  const { tokens: texts, scopes } = t.system;
  const { columns } = texts;
  const after = query.get('after') ?? undefined;
  const { items, next } = await listTokenPage(db, { after, limit: LIMIT });
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="system"
        crumbs={[[t.system.title, '/system']]}
        sub={texts.about}
        actions={
          <>
            <ButtonLink kind="primary" path="/tokens/new" label={texts.add} />
            <ButtonLink path="/tokens.csv" label={t.common.csv} />
          </>
        }
        caption={texts.caption}
        rows={items}
        empty={<p>{texts.none}</p>}
        columns={[
          {
            title: columns.name,
            kind: 'name',
            cell: ({ id, name }) => (
              <>
                {name}
                {id === caller.tokenId ? <span class="sub">{texts.own}</span> : null}
              </>
            ),
          },
          { title: columns.scope, cell: ({ scope }) => scopes[scope] },
          { title: columns.made, kind: 'time', cell: ({ createdAt }) => format.localDay(createdAt) },
          {
            title: columns.used,
            kind: 'time',
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? t.common.never : format.moment(lastUsedAt)),
          },
          {
            title: columns.ends,
            cell: ({ expiresAt }) =>
              expiresAt === null ? (
                t.common.noEnd
              ) : (
                <>
                  {format.day(expiresAt)}
                  {expiresAt <= at ? <span class="sub">{texts.ended}</span> : null}
                </>
              ),
          },
          { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
          {
            title: '',
            kind: 'act',
            cell: ({ id, name }) => (
              <a href={to(`/tokens/${id}/revoke`)} aria-label={texts.revokeOne(name)}>
                {texts.revoke}
              </a>
            ),
          },
        ]}
        paging={{ path: '/tokens', query: { after }, next, limit: LIMIT }}
        below={<p class="small muted">{t.system.asksAgain}</p>}
      />
    ),
  };
}

function downloadTokens({ db, view }: OperatorCall): PageResponse {
  const rows = csvRows((after) => listTokenPage(db, { after, limit: CSV_PAGE }), tokenJson);
  return { csv: csvNameOf(view.t.system.tokens.title), rows };
}

function showNew({ caller, view: { t } }: OperatorCall, form: FormState): PageResponse {
  const { tokens: texts, scopes } = t.system;
  // A token of a Joomla account also ends with that account.
  const hint = caller.joomlaUserId === null ? '' : ` ${texts.joomla(caller.name)}`;
  return {
    page: (
      <FormPage
        title={texts.add}
        nav="system"
        crumbs={[[texts.title, '/tokens']]}
        path="/tokens/new"
        form={form}
        submit={texts.submit}
        busy={texts.busy}
        back="/tokens"
      >
        <TextField name="name" label={texts.name} hint={texts.nameHint} required />
        <RadioGroup
          name="scope"
          label={texts.scope}
          value="issue"
          options={SCOPES.map((scope) => ({
            value: scope,
            label: texts.scopeHints[scope] ?? scope,
            hint: scopes[scope] ?? '',
          }))}
        />
        <TextField name="expires_at" type="date" label={texts.ends} hint={`${texts.endsHint}${hint}`} />
      </FormPage>
    ),
  };
}

async function make(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = nonEmptyFields(sent, 'name', 'scope', 'expires_at');
  const { name, token } = await submitOperation(call, sent, tokenOperations.addToken, { body });
  const texts = call.view.t.system.tokens;
  const title = texts.doneTitle(name);
  return {
    page: (
      <TitledPage title={title} nav="system" crumbs={[[texts.title, '/tokens']]}>
        <div class="stack">
          <Panel id="token" title={texts.token} inside>
            <CopyText id="token-text" label={texts.token} text={token} />
            <p>
              <strong>{texts.once}</strong> {texts.lost}
            </p>
          </Panel>
          <Panel id="example" title={texts.example} inside>
            <p>{texts.exampleAbout}</p>
            <pre>
              <code>{`curl -H 'Authorization: Bearer ${token}' \\\n  ${manageAddress(call)}/me`}</code>
            </pre>
          </Panel>
        </div>
        <p class="acts">
          <ButtonLink path="/tokens" label={texts.toList} />
        </p>
      </TitledPage>
    ),
  };
}

async function tokenOf(call: OperatorCall): Promise<ApiToken> {
  const id = readId(call);
  const token = (await listTokens(call.db)).find((one) => one.id === id);
  if (token === undefined) throw notFound('token');
  return token;
}

function askRevoke(
  { caller, view: { t, format } }: OperatorCall,
  form: FormState,
  token: ApiToken,
): PageResponse {
  const texts = t.system.revokeToken;
  const { id, name, scope, lastUsedAt } = token;
  const isOwn = caller.tokenId === id;
  const isSession = scope !== 'issue';
  return {
    page: (
      <FormPage
        danger
        title={texts.title(name)}
        nav="system"
        crumbs={[[t.system.tokens.title, '/tokens']]}
        path={`/tokens/${id}/revoke`}
        form={form}
        points={[
          ...(isOwn ? [<strong>{texts.own}</strong>] : []),
          texts.stops(scope),
          lastUsedAt === null ? texts.unused : texts.used(format.moment(lastUsedAt)),
          texts.stays,
          ...(isSession && !isOwn ? [texts.sessions] : []),
          texts.again,
        ]}
        submit={texts.submit}
        busy={texts.busy}
        back={[texts.back, '/tokens']}
      />
    ),
  };
}

async function revoke(
  call: OperatorCall,
  sent: URLSearchParams,
  { id, name }: ApiToken,
): Promise<PageResponse> {
  await submitOperation(call, sent, tokenOperations.removeToken, { path: { id } });
  if (call.caller.tokenId !== id) return redirectWithFlash('/tokens', 'tokenRevoked', name);
  // The session ended with its token.
  clearSessionCookie(call.ctx, 'operator', call.isTrusted);
  return redirectWithFlash('/sign-in', 'tokenRevoked', name);
}
