import { listTokenPage, listTokens, type Token } from '../../../access/tokens';
import { ManageError, notFound } from '../../../operations/failures';
import { clearSessionCookie } from '../../session-cookies';
import { act, attempt, filled, unlessGone } from '../act';
import { manageAddress } from '../address';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { Choices, Form, FormErrors, Submit, TextField } from '../kit/fields';
import { FinalAction } from '../kit/final-action';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { tokenOperations } from '../../../operations/tokens';

/** Tokens of the API: who has one, a new one, which is shown once, and ending one. */

const LIMIT = 50;
/** A shop's first: most need this one. */
const SCOPES = ['issue', 'read', 'write'];

export const tokenRoutes: Route<OperatorCall>[] = [
  { path: '/tokens', scope: 'write', get: showTokens },
  {
    path: '/tokens/new',
    scope: 'write',
    isSecret: true,
    get: (call) => showForm(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => make(call, sent),
        (form) => showForm(call, form),
      ),
  },
  {
    path: '/tokens/:id/revoke',
    scope: 'write',
    isSecret: true,
    get: ask,
    post: revoke,
  },
];

async function showTokens({ db, at, query, caller }: OperatorCall): Promise<Answer> {
  const after = query.get('after') ?? undefined;
  const { items, next } = await listTokenPage(db, { after, limit: LIMIT });
  return { page: <TokenList {...{ tokens: items, next, after, at, ownId: caller.tokenId }} /> };
}

function showForm({ caller }: OperatorCall, form: FormState): Answer {
  return { page: <TokenForm form={form} account={caller.joomlaUserId === null ? undefined : caller.name} /> };
}

async function make(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const body = filled(sent, 'name', 'scope', 'expires_at');
  const data = await act(call, sent, tokenOperations.addToken, { body });
  const { name, token } = data;
  return { page: <NewToken {...{ name, token, api: manageAddress(call) }} /> };
}

async function findToken({ db, path }: OperatorCall): Promise<Token | undefined> {
  return (await listTokens(db)).find(({ id }) => String(id) === path.id);
}

async function ask(call: OperatorCall): Promise<Answer> {
  const token = await findToken(call);
  if (token === undefined) throw new ManageError('NOT_FOUND', '');
  return { page: <AskRevoke token={token} isOwn={call.caller.tokenId === token.id} /> };
}

function revoke(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  return unlessGone('/tokens', async () => {
    const token = await findToken(call);
    if (token === undefined) throw notFound('token');
    await act(call, sent, tokenOperations.removeToken, { path: { id: token.id } });
    if (call.caller.tokenId !== token.id) return done('/tokens', 'tokenRevoked', token.name);
    // The session ended with its token.
    clearSessionCookie(call.ctx, 'operator', call.isTrusted);
    return done('/sign-in', 'tokenRevoked', token.name);
  });
}

function TokenList({
  tokens,
  next,
  after,
  at,
  ownId,
}: {
  tokens: Token[];
  next: string | null;
  after: string | undefined;
  at: Date;
  ownId: number | null;
}) {
  const { t, to, format } = useView();
  const { tokens: texts, scopes } = t.system;
  const { columns } = texts;
  return (
    <OperatorPage title={texts.title} nav="system" crumbs={[[t.system.title, '/system']]}>
      <Head
        title={texts.title}
        sub={texts.about}
        actions={
          <a class="btn btn-primary" href={to('/tokens/new')}>
            {texts.add}
          </a>
        }
      />
      <Panel id="list">
        <Table
          caption={texts.caption}
          rows={tokens}
          empty={<p class="mb-0">{texts.none}</p>}
          columns={[
            {
              title: columns.name,
              kind: 'name',
              cell: ({ id, name }) => (
                <>
                  {name}
                  {id === ownId ? <span class="sub fw-normal">{texts.own}</span> : null}
                </>
              ),
            },
            { title: columns.scope, cell: ({ scope }) => scopes[scope] },
            { title: columns.made, cell: ({ createdAt }) => format.localDay(createdAt) },
            {
              title: columns.used,
              cell: ({ lastUsedAt }) => (lastUsedAt === null ? t.common.never : format.moment(lastUsedAt)),
            },
            {
              title: columns.ends,
              cell: ({ expiresAt }) =>
                expiresAt === null ? (
                  t.common.never
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
        />
        <Paging path="/tokens" query={{ after }} next={next} limit={LIMIT} />
      </Panel>
      <p class="small muted mt-2">{t.system.asksAgain}</p>
    </OperatorPage>
  );
}

/** @param account the Joomla account that one is signed in with */
function TokenForm({ form, account }: { form: FormState; account: string | undefined }) {
  const { t, to } = useView();
  const { tokens: texts, scopes } = t.system;
  return (
    <OperatorPage title={texts.add} nav="system" crumbs={[[texts.title, '/tokens']]}>
      <Head title={texts.add} />
      <Panel id="new" kind="narrow">
        <Inside>
          <Form path="/tokens/new" form={form}>
            <FormErrors form={form} />
            <TextField form={form} name="name" label={texts.name} hint={texts.nameHint} required />
            <Choices
              form={form}
              name="scope"
              label={texts.scope}
              value="issue"
              options={SCOPES.map((scope) => ({
                value: scope,
                label: texts.scopeHints[scope] ?? scope,
                hint: scopes[scope] ?? '',
              }))}
            />
            <TextField
              form={form}
              name="expires_at"
              type="date"
              label={texts.ends}
              hint={account === undefined ? texts.endsHint : `${texts.endsHint} ${texts.joomla(account)}`}
            />
            <p class="acts mb-0">
              <Submit busy={texts.busy}>{texts.submit}</Submit>
              <a class="btn btn-quiet" href={to('/tokens')}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

/** @param api the address of the operator's API */
function NewToken({ name, token, api }: { name: string; token: string; api: string }) {
  const { t, to } = useView();
  const texts = t.system.tokens;
  const title = texts.doneTitle(name);
  return (
    <OperatorPage title={title} nav="system" crumbs={[[texts.title, '/tokens']]}>
      <Head title={title} />
      <div class="stack">
        <Panel id="token" title={texts.token}>
          <Inside>
            <CopyText id="token-text" label={texts.token} text={token} />
            <p class="mb-0 mt-2">
              <strong>{texts.once}</strong> {texts.lost}
            </p>
          </Inside>
        </Panel>
        <Panel id="example" title={texts.example}>
          <Inside>
            <p>{texts.exampleAbout}</p>
            <pre class="mb-0">
              <code>{`curl -H 'Authorization: Bearer ${token}' \\\n  ${api}/me`}</code>
            </pre>
          </Inside>
        </Panel>
      </div>
      <p class="acts mt-3">
        <a class="btn btn-quiet" href={to('/tokens')}>
          {texts.toList}
        </a>
      </p>
    </OperatorPage>
  );
}

function AskRevoke({ token, isOwn }: { token: Token; isOwn: boolean }) {
  const { t, format } = useView();
  const texts = t.system.revokeToken;
  const { id, name, scope, lastUsedAt } = token;
  const isSession = scope !== 'issue';
  return (
    <FinalAction
      title={texts.title(name)}
      nav="system"
      crumbs={[[t.system.tokens.title, '/tokens']]}
      path={`/tokens/${id}/revoke`}
      form={formState()}
      consequences={[
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
  );
}
