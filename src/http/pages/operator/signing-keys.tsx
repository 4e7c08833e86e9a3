import { listKeysInUse, type SigningKeyInUse } from '../../../licensing/signing-keys';
import { signingKeyJson } from '../../../licensing/views';
import { notFound } from '../../../operations/kit/failures';
import { signingKeyOperations } from '../../../operations/signing-keys';
import { submitOperation, nonEmptyFields } from '../submit';
import { csvNameOf, csvOf } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';

/** The keys that sign responses: the list, adding a key, and retiring one (key rotation). */

export const signingKeyRoutes: Route<OperatorCall>[] = [
  { path: '/signing-keys', get: showKeys },
  { path: '/signing-keys.csv', get: downloadKeys },
  formRoute('/signing-keys/new', { isSecret: true, show: askAdd, work: add }),
  formRoute('/signing-keys/:kid/retire', { isSecret: true, show: askRetire, work: retire }),
];

async function showKeys({ db, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format, mayWrite } = view;
  const texts = t.system.signingKeys;
  const { columns } = texts;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="system"
        crumbs={[[t.system.title, '/system']]}
        sub={texts.about}
        actions={
          <>
            {mayWrite ? <ButtonLink kind="primary" path="/signing-keys/new" label={texts.add} /> : null}
            <ButtonLink path="/signing-keys.csv" label={t.common.csv} />
          </>
        }
        caption={texts.caption}
        rows={await listKeysInUse(db)}
        empty={<p>{texts.none}</p>}
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
          { title: columns.made, kind: 'time', cell: ({ createdAt }) => format.localDay(createdAt) },
          {
            title: columns.retired,
            kind: 'time',
            cell: ({ retiredAt }) => (retiredAt === null ? t.common.none : format.localDay(retiredAt)),
          },
          { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
          mayWrite && {
            title: '',
            kind: 'act',
            cell: ({ kid, compromised }) =>
              compromised ? null : (
                <a href={to(`/signing-keys/${kid}/retire`)} aria-label={texts.retireOne(kid)}>
                  {texts.retire}
                </a>
              ),
          },
        ]}
        below={mayWrite ? <p class="small muted">{t.system.asksAgain}</p> : null}
      />
    ),
  };
}

async function downloadKeys({ db, view }: OperatorCall): Promise<PageResponse> {
  const rows = csvOf(await listKeysInUse(db), signingKeyJson);
  return { csv: csvNameOf(view.t.system.signingKeys.title), rows };
}

async function askAdd({ db, view }: OperatorCall, form: FormState): Promise<PageResponse> {
  const texts = view.t.system.signingKeys;
  const isFirst = (await listKeysInUse(db)).every(({ state }) => state === 'retired');
  return {
    page: (
      <FormPage
        title={texts.add}
        nav="system"
        crumbs={[[texts.title, '/signing-keys']]}
        path="/signing-keys/new"
        form={form}
        points={[isFirst ? texts.addFirst : texts.addNext, texts.sealed]}
        submit={texts.add}
        busy={texts.busy}
        back={[texts.toList, '/signing-keys']}
      />
    ),
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { kid } = await submitOperation(call, sent, signingKeyOperations.addSigningKey, { body: {} });
  return redirectWithFlash('/signing-keys', 'signingKeyAdded', kid);
}

async function askRetire({ db, path, view: { t } }: OperatorCall, form: FormState): Promise<PageResponse> {
  const keys = await listKeysInUse(db);
  const key = keys.find(({ kid }) => kid === path.kid);
  if (key === undefined) throw notFound('signing key');
  const { kid, state } = key;
  // The key that signs after this one is retired
  const next = keys.find((one) => one.state !== 'retired' && one.kid !== kid);
  const texts = t.system.retireKey;
  const first: Record<SigningKeyInUse['state'], string> = {
    current: next === undefined ? texts.last : texts.current(next.kid),
    next: texts.next,
    retired: texts.retired,
  };
  return {
    page: (
      <FormPage
        danger
        title={texts.title(kid)}
        nav="system"
        crumbs={[[t.system.signingKeys.title, '/signing-keys']]}
        path={`/signing-keys/${kid}/retire`}
        form={form}
        points={[first[state], ...(state === 'current' ? [texts.counts] : []), texts.final]}
        submit={texts.submit}
        busy={texts.busy}
        back={[texts.back, '/signing-keys']}
      >
        <Checkbox name="compromised" label={texts.compromised} hint={texts.compromisedHint} />
      </FormPage>
    ),
  };
}

async function retire(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const kid = call.path.kid ?? '';
  const { compromised } = nonEmptyFields(sent, 'compromised');
  await submitOperation(call, sent, signingKeyOperations.retireSigningKey, {
    path: { kid },
    body: { compromised: compromised === '1' },
  });
  return redirectWithFlash('/signing-keys', 'signingKeyRetired', kid);
}
