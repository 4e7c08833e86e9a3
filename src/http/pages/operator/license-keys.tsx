import { viewKey, viewKeys, type LicenseView } from '../../../licensing/license-view';
import { isOpen, type KeyUse } from '../../../licensing/license-keys';
import type { License } from '../../../licensing/licenses';
import { listKeyPage } from '../../../licensing/lists';
import { keyJson } from '../../../licensing/views';
import { notFound } from '../../../operations/failures';
import { readId } from '../../../operations/reading';
import { act, attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { Form, Submit } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Paging, Table, type Column } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { crumbsOf, licenseOf, licenseName, pathOf } from './license-call';
import { FormPage } from './license-form';
import { licenseKeyOperations } from '../../../operations/license-keys';

/** A licence's keys: the list, and showing one. */

export const licenseKeyRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/keys', get: showKeys },
  { path: '/licenses/:id/keys.csv', get: downloadKeys, hasDeadline: false },
  {
    path: '/licenses/:id/keys/:key/show',
    scope: 'write',
    isSecret: true,
    get: (call) => askToShow(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => reveal(call, sent),
        (form) => askToShow(call, form),
      ),
  },
];

const LIMIT = 50;
const CSV_PAGE = 500;

/** The licence and the key of the path. @throws ManageError (404) when there is none */
export async function keyOf(call: OperatorCall): Promise<{ license: License; use: KeyUse }> {
  const license = await licenseOf(call);
  const use = await viewKey(call.db, license, readId(call, 'key', 'key'));
  if (use === undefined) throw notFound('key');
  return { license, use };
}

async function showKeys(call: OperatorCall): Promise<Answer> {
  const license = await licenseOf(call);
  const after = call.query.get('after') ?? undefined;
  const { mainKey, otherKeys } = await viewKeys(call.db, license, { limit: LIMIT, after });
  const keys = [...(after === undefined ? [mainKey] : []), ...otherKeys.items];
  const canShow = call.settings.keySecret !== undefined;
  return { page: <KeysPage {...{ license, keys, after, canShow }} next={otherKeys.next} /> };
}

async function downloadKeys(call: OperatorCall): Promise<Answer> {
  const license = await licenseOf(call);
  async function* rows() {
    let after: string | undefined;
    do {
      const { items, next } = await listKeyPage(call.db, license.id, { limit: CSV_PAGE, after });
      const lines = items.map(keyJson);
      const [first] = lines;
      if (after === undefined && first) yield Object.keys(first);
      for (const line of lines) yield Object.values(line);
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: call.view.t.license.keys.csvName(String(license.id)), rows: rows() };
}

async function askToShow(call: OperatorCall, form: FormState): Promise<Answer> {
  const { license, use } = await keyOf(call);
  return { page: <AskPage {...{ license, use, form }} /> };
}

async function reveal(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { license, use } = await keyOf(call);
  const { license_key } = await act(call, sent, licenseKeyOperations.revealLicense, {
    path: { id: license.id },
    body: use.isMain ? {} : { key_id: use.key.id },
  });
  const { shownTitle, shown } = call.view.t.license.keys;
  return {
    page: <KeyPage license={license} title={shownTitle} licenseKey={license_key} notes={[shown]} />,
  };
}

/** What a key is called in a sentence: by its end. */
export function useHint({ key: { keyHint } }: KeyUse): string {
  return keyHint ?? useView().t.license.keys.noHint;
}

/** The panel of the licence's page. */
export function KeyPanel({ shown, canShow }: { shown: LicenseView; canShow: boolean }) {
  const { t, to, operator } = useView();
  const texts = t.license.keys;
  const { license, mainKey, otherKeys } = shown;
  const mayWrite = operator?.scope === 'write';
  const isKept = canShow && license.keySealed !== null;
  return (
    <Panel
      id="keys"
      title={texts.title}
      aside={
        <>
          {otherKeys.next === null ? null : <a href={to(pathOf(license, '/keys'))}>{texts.all}</a>}{' '}
          {mayWrite ? <a href={to(pathOf(license, '/keys/add'))}>{texts.add}</a> : null}
        </>
      }
      {...(mayWrite
        ? { footer: <span class="muted small">{isKept ? texts.showHint : texts.notKept}</span> }
        : {})}
    >
      <KeyTable license={license} keys={[mainKey, ...otherKeys.items]} canShow={canShow} />
    </Panel>
  );
}

function KeyTable({ license, keys, canShow }: { license: License; keys: KeyUse[]; canShow: boolean }) {
  const { t, format, now, operator } = useView();
  const texts = t.license.keys;
  const slotsOf = ({ key, used }: KeyUse) => {
    const limit = key.activationLimit ?? license.activationLimit;
    return t.license.facts.slotsOf(
      format.number(used),
      limit === 0 ? t.common.unlimited : format.number(limit),
    );
  };
  const endOf = ({ key }: KeyUse) => {
    if (key.endsAt === null) return texts.withLicense;
    return isOpen(key, now) ? format.day(key.endsAt) : texts.ended(format.day(key.endsAt));
  };
  const columns: Column<KeyUse>[] = [
    { title: texts.hint, kind: 'mono', cell: ({ key }) => key.keyHint ?? texts.noHint },
    { title: texts.for, cell: ({ key, isMain }) => key.label ?? (isMain ? texts.main : t.common.none) },
    { title: texts.slots, cell: slotsOf },
    { title: texts.ends, cell: endOf },
  ];
  if (operator?.scope === 'write')
    columns.push({
      title: '',
      cell: (use) => (isOpen(use.key, now) ? <KeyActions {...{ license, use, canShow }} /> : null),
    });
  return <Table caption={texts.caption} rows={keys} empty={null} columns={columns} />;
}

function KeyActions({ license, use, canShow }: { license: License; use: KeyUse; canShow: boolean }) {
  const { t, to } = useView();
  const texts = t.license.keys;
  const { key, isMain } = use;
  const path = (action: string) => pathOf(license, `/keys/${key.id}/${action}`);
  const about = <span class="visually-hidden"> {texts.ofKey(useHint(use))}</span>;
  const link = (action: string, title: string) => (
    <a class="btn btn-quiet btn-row" href={to(path(action))}>
      {title}
      {about}
    </a>
  );
  const isCurrent = key.replacedBy === null;
  return (
    <div class="acts">
      {canShow && key.keySealed !== null ? (
        <Form path={path('show')} form={formState()}>
          <Submit kind="quiet" small>
            {texts.show}
            {about}
          </Submit>
        </Form>
      ) : null}
      {isCurrent ? link('new', texts.newKey) : null}
      {isCurrent ? link('change', texts.change) : null}
      {isMain ? null : link('end', texts.end)}
    </div>
  );
}

function KeysPage({
  license,
  keys,
  canShow,
  after,
  next,
}: {
  license: License;
  keys: KeyUse[];
  canShow: boolean;
  after: string | undefined;
  next: string | null;
}) {
  const { t, to, operator } = useView();
  const texts = t.license.keys;
  return (
    <OperatorPage title={texts.title} nav="licenses" crumbs={crumbsOf(license, t)}>
      <Head
        title={texts.title}
        sub={licenseName(license, t)}
        actions={
          <>
            {operator?.scope === 'write' ? (
              <a class="btn btn-primary" href={to(pathOf(license, '/keys/add'))}>
                {texts.add}
              </a>
            ) : null}
            <a class="btn btn-quiet" href={to(pathOf(license, '/keys.csv'))}>
              {t.common.csv}
            </a>
          </>
        }
      />
      <Panel id="list">
        <KeyTable license={license} keys={keys} canShow={canShow} />
        <Paging path={pathOf(license, '/keys')} query={{ after }} next={next} limit={LIMIT} />
      </Panel>
    </OperatorPage>
  );
}

function AskPage({ license, use, form }: { license: License; use: KeyUse; form: FormState }) {
  const { t } = useView();
  const texts = t.license.keys;
  return (
    <FormPage
      {...{ license, form }}
      rest={`/keys/${use.key.id}/show`}
      title={texts.showTitle(useHint(use))}
      about={texts.showAbout}
      submit={texts.showButton}
    />
  );
}

/** A whole key, with what to know about it and a text for the customer. */
export function KeyPage({
  license,
  title,
  licenseKey,
  notes,
  letter,
}: {
  license: License;
  title: string;
  licenseKey: string;
  notes: string[];
  letter?: string;
}) {
  const { t, to } = useView();
  return (
    <OperatorPage title={title} nav="licenses" crumbs={crumbsOf(license, t)}>
      <Head title={title} sub={licenseName(license, t)} />
      <div class="stack">
        <Panel id="key" kind="narrow">
          <Inside>
            <CopyText id="license-key" label={title} text={licenseKey} />
            {notes.map((note) => (
              <p class="small muted mb-0 mt-2">{note}</p>
            ))}
          </Inside>
        </Panel>
        {letter === undefined ? null : (
          <Panel id="letter" kind="narrow" title={t.licenses.issuePage.forCustomer}>
            <Inside>
              <CopyText id="letter-text" label={t.licenses.issuePage.forCustomer} text={letter} rows={12} />
            </Inside>
          </Panel>
        )}
      </div>
      <p class="acts mt-3">
        <a class="btn btn-quiet" href={to(pathOf(license))}>
          {t.license.keys.toLicense}
        </a>
      </p>
    </OperatorPage>
  );
}
