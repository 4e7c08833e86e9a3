import { inBothForms } from '../../../licensing/core/identifiers';
import { isKeyActive, type KeyUse } from '../../../licensing/license-keys';
import { viewKey, viewKeys, viewKeySites, type LicenseView } from '../../../licensing/license-view';
import type { License } from '../../../licensing/licenses';
import { listKeyPage } from '../../../licensing/lists';
import { keyJson } from '../../../licensing/views';
import { notFound } from '../../../operations/kit/failures';
import { licenseKeyOperations } from '../../../operations/license-keys';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { csvRows } from '../csv';
import { formRoute } from '../form-route';
import { formState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, Form, Submit } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { MoreMenu } from '../kit/more-menu';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { Table, type TableProps } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView, type View } from '../view';
import { slotLimit } from './catalogue';
import { licenseBreadcrumbs, licenseFormProps, licenseOf, licenseName, pathOf } from './license-call';

/** The list of a licence's keys, and the page that shows a whole key. */

export const licenseKeyRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/keys', get: showKeys },
  { path: '/licenses/:id/keys.csv', get: downloadKeys, hasDeadline: false },
  formRoute('/licenses/:id/keys/:key/show', {
    isSecret: true,
    find: keyOf,
    show({ view }, form, { license, use }) {
      const texts = view.t.license.keys;
      return {
        page: (
          <FormPage
            {...licenseFormProps(view, license, `/keys/${use.key.id}/show`)}
            title={texts.showTitle(hintOf(view, use))}
            form={form}
            about={texts.showAbout}
            submit={texts.showButton}
          />
        ),
      };
    },
    async work(call, sent, { license, use }) {
      const { license_key } = await submitOperation(call, sent, licenseKeyOperations.revealLicense, {
        path: { id: license.id },
        body: use.isMain ? {} : { key_id: use.key.id },
      });
      const { shownTitle, shown } = call.view.t.license.keys;
      return showKey(call, license, license_key, { title: shownTitle, notes: [shown] });
    },
  }),
];

/** The number of sites in a key's row. */
export const KEY_SITES = 2;
const LIMIT = 50;
const CSV_PAGE = 500;

export interface KeyOfLicense {
  license: License;
  use: KeyUse;
}

/** Returns the licence and the key whose ids are in the path. @throws OperationError (404) if one does not exist */
export async function keyOf(call: OperatorCall): Promise<KeyOfLicense> {
  const license = await licenseOf(call);
  const use = await viewKey(call.db, license, readId(call, 'key', 'key'));
  if (use === undefined) throw notFound('key');
  return { license, use };
}

/** Returns the last characters of a key, which sentences show to identify it. */
export function hintOf({ t }: View, { key: { keyHint } }: KeyUse): string {
  return keyHint ?? t.license.keys.noHint;
}

async function showKeys(call: OperatorCall): Promise<PageResponse> {
  const { view } = call;
  const { t, mayWrite } = view;
  const texts = t.license.keys;
  const license = await licenseOf(call);
  const after = call.query.get('after') ?? undefined;
  const { mainKey, otherKeys } = await viewKeys(call.db, license, { limit: LIMIT, after });
  const keys = [...(after === undefined ? [mainKey] : []), ...otherKeys.items];
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="licenses"
        crumbs={licenseBreadcrumbs(license, t)}
        sub={licenseName(license, t)}
        actions={
          <>
            {mayWrite ? (
              <ButtonLink kind="primary" path={pathOf(license, '/keys/add')} label={texts.add} />
            ) : null}
            <ButtonLink path={pathOf(license, '/keys.csv')} label={t.common.csv} />
          </>
        }
        {...keyTable(view, license, keys, {
          canShow: call.settings.keySecret !== undefined,
          sites: await viewKeySites(call.db, license, keys, KEY_SITES + 1),
        })}
        paging={{ path: pathOf(license, '/keys'), query: { after }, next: otherKeys.next, limit: LIMIT }}
      />
    ),
  };
}

async function downloadKeys(call: OperatorCall): Promise<PageResponse> {
  const { id } = await licenseOf(call);
  const rows = csvRows((after) => listKeyPage(call.db, id, { limit: CSV_PAGE, after }), keyJson);
  return { csv: call.view.t.license.keys.csvName(String(id)), rows };
}

/** The panel of the keys on the licence's page. */
export function KeyPanel({
  shown,
  canShow,
  sites,
}: {
  shown: LicenseView;
  canShow: boolean;
  /** the sites of each key, by its id */
  sites: Map<number, string[]>;
}) {
  const view = useView();
  const { t, to, mayWrite } = view;
  const texts = t.license.keys;
  const { license, mainKey, otherKeys } = shown;
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
      footer={
        mayWrite ? <span class="muted small">{isKept ? texts.showHint : texts.notKept}</span> : undefined
      }
    >
      <Table {...keyTable(view, license, [mainKey, ...otherKeys.items], { canShow, sites })} />
    </Panel>
  );
}

/** Returns the table of keys. @param canShow true if keys are stored @param sites by key id, one more than is shown */
function keyTable(
  view: View,
  license: License,
  keys: KeyUse[],
  { canShow, sites }: { canShow: boolean; sites: Map<number, string[]> },
): TableProps<KeyUse> {
  const { t, format, now, mayWrite } = view;
  const texts = t.license.keys;
  return {
    caption: texts.caption,
    rows: keys,
    empty: null,
    columns: [
      { title: texts.hint, kind: 'mono', cell: (use) => hintOf(view, use) },
      {
        title: texts.for,
        kind: 'long',
        cell: ({ key, isMain }) => (
          <>
            {key.label ?? (isMain ? texts.main : t.common.none)}
            <span class="sub">
              <KeySites license={license} sites={sites.get(key.id) ?? []} />
            </span>
          </>
        ),
      },
      {
        title: texts.slots,
        cell: ({ key, used }) =>
          t.license.facts.slotsOf(
            format.number(used),
            slotLimit(view, key.activationLimit ?? license.activationLimit),
          ),
      },
      {
        title: texts.ends,
        cell({ key }) {
          if (key.endsAt === null) return texts.withLicense;
          return isKeyActive(key, now) ? format.day(key.endsAt) : texts.ended(format.day(key.endsAt));
        },
      },
      mayWrite && {
        title: '',
        kind: 'act',
        cell: (use) =>
          isKeyActive(use.key, now) ? <KeyActions license={license} use={use} canShow={canShow} /> : null,
      },
    ],
  };
}

/** The newest sites of a key, with a link to all of them. */
function KeySites({ license, sites }: { license: License; sites: string[] }) {
  const { t, to } = useView();
  if (sites.length === 0) return null;
  return (
    <>
      {sites
        .slice(0, KEY_SITES)
        .map((site) => inBothForms(site, license.plan.activationType))
        .join(', ')}
      {sites.length > KEY_SITES ? (
        <>
          {' '}
          <a href={to(pathOf(license, '/sites'))}>{t.license.keys.moreSites}</a>
        </>
      ) : null}
    </>
  );
}

function KeyActions({ license, use, canShow }: KeyOfLicense & { canShow: boolean }) {
  const view = useView();
  const texts = view.t.license.keys;
  const { key, isMain } = use;
  const path = (action: string) => pathOf(license, `/keys/${key.id}/${action}`);
  const name = texts.ofKey(hintOf(view, use));
  const about = <span class="visually-hidden"> {name}</span>;
  const link = (action: string, title: string) => (
    <a href={view.to(path(action))}>
      {title}
      {about}
    </a>
  );
  const isCurrent = key.replacedBy === null;
  return (
    <>
      {canShow && key.keySealed !== null ? (
        <Form path={path('show')} form={formState()}>
          <Submit
            kind="quiet"
            small
            label={
              <>
                {texts.show}
                {about}
              </>
            }
          />
        </Form>
      ) : null}
      {isMain && !isCurrent ? null : (
        <MoreMenu label={`${view.t.common.actions}: ${name}`}>
          {isCurrent ? link('new', texts.newKey) : null}
          {isCurrent ? link('change', texts.change) : null}
          {isMain ? null : link('end', texts.end)}
        </MoreMenu>
      )}
    </>
  );
}

/** Shows a whole key, with notes about it and a text for the customer. */
export function showKey(
  { view: { t } }: OperatorCall,
  license: License,
  licenseKey: string,
  { title, notes, letter }: { title: string; notes: string[]; letter?: string },
): PageResponse {
  const { forCustomer } = t.licenses.issuePage;
  return {
    page: (
      <OperatorPage title={title} nav="licenses" crumbs={licenseBreadcrumbs(license, t)}>
        <PageHeader title={title} sub={licenseName(license, t)} />
        <div class="stack">
          <Panel id="key" kind="narrow">
            <PanelBody>
              <CopyText id="license-key" label={title} text={licenseKey} />
              {notes.map((note) => (
                <p class="small muted">{note}</p>
              ))}
            </PanelBody>
          </Panel>
          {letter === undefined ? null : (
            <Panel id="letter" kind="narrow" title={forCustomer}>
              <PanelBody>
                <CopyText id="letter-text" label={forCustomer} text={letter} rows={12} />
              </PanelBody>
            </Panel>
          )}
        </div>
        <p class="acts">
          <ButtonLink path={pathOf(license)} label={t.license.keys.toLicense} />
        </p>
      </OperatorPage>
    ),
  };
}
