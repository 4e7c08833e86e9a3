import { allowedTransitions, isFinal, liveStatus } from '../../../licensing/core/states';
import type { License } from '../../../licensing/licenses';
import { licenseJson } from '../../../licensing/views';
import { licenseOperations } from '../../../operations/licenses';
import { mailOperations } from '../../../operations/mails';
import { findLicensesByIds } from '../../../store/licenses';
import { act, attempt, filled, refusalOf } from '../act';
import { csvRows } from '../csv';
import { formState, type FormState } from '../form-state';
import { ButtonLink } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { Panel } from '../kit/panel';
import type { Answer, OperatorCall, Route } from '../page';
import { canSendKey, licenseName, pathOf, Reason } from './license-call';
import { LICENSE_FIELD, LIST_FIELD } from './license-select';
import { LicenseTable } from './licenses';

/**
 * One action for several licences of a page of the list: first a page that says what will happen, then each by the
 * operation that one licence has. A licence that changed between the two is left as it is, and named.
 */

export const licenseBulkRoutes: Route<OperatorCall>[] = [
  // A page of the list at most, each in a transaction of its own.
  { path: '/licenses/bulk', get: showDone, post: choose, goesOn: true, hasDeadline: false },
  ...(['suspend', 'mail'] as const).map((action): Route<OperatorCall> => ({
    path: `/licenses/bulk/${action}`,
    get: () => ({ to: '/licenses' }),
    post: (call, sent) => perform(call, sent, action),
    goesOn: true,
    hasDeadline: false,
  })),
];

/** As many as the list shows. */
const MOST = 50;

type Action = 'suspend' | 'mail';

async function choose(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { at, view } = call;
  const ids = sent.get('all') === '1' ? (sent.get('page') ?? '').split(' ') : [...selectedIn(sent).keys()];
  const licenses = await selected(call, ids);
  const list = listIn(sent);
  if (licenses.length === 0) return { to: list, said: { code: 'licensesNone', values: [] } };
  const action = sent.get('action');
  if (action === 'export') {
    const rows = csvRows(
      () => Promise.resolve({ items: licenses, next: null }),
      (license) => {
        const { metadata: _metadata, ...fields } = licenseJson(license, at);
        return fields;
      },
    );
    return { csv: view.t.licenses.bulk.csvName, rows };
  }
  return ask(call, formState(), { action: action === 'mail' ? 'mail' : 'suspend', licenses, list });
}

/** The page of the list that it came from, by its path. */
function listIn(sent: URLSearchParams): string {
  const query = String(new URLSearchParams(sent.get(LIST_FIELD) ?? ''));
  return query === '' ? '/licenses' : `/licenses?${query}`;
}

/** What a form selects: the revisions that were seen, by licence id. */
function selectedIn(sent: URLSearchParams): Map<string, string> {
  const fields = [...sent].filter(([name]) => name.startsWith(LICENSE_FIELD));
  return new Map(fields.map(([name, value]) => [name.slice(LICENSE_FIELD.length), value]));
}

/** Licences by the ids that a form names, in its order. */
async function selected({ db }: OperatorCall, ids: string[]): Promise<License[]> {
  const numbers = [...new Set(ids.filter((id) => /^[1-9]\d{0,14}$/.test(id)).map(Number))].slice(0, MOST);
  const found = new Map((await findLicensesByIds(db, numbers)).map((one) => [one.id, one]));
  return numbers.flatMap((id) => found.get(id) ?? []);
}

/** Why a licence stays as it is; undefined: it does not. */
function stays(
  call: OperatorCall,
  license: License,
  action: Action,
): 'suspended' | 'final' | 'unmailable' | undefined {
  const status = liveStatus(license, call.at);
  if (isFinal(status)) return 'final';
  if (action === 'mail') return canSendKey(call, license) ? undefined : 'unmailable';
  return allowedTransitions(status).includes('suspend') ? undefined : 'suspended';
}

interface Asked {
  action: Action;
  licenses: License[];
  /** the way back */
  list: string;
}

/** Says what will happen. */
function ask(call: OperatorCall, form: FormState, { action, licenses, list }: Asked): Answer {
  const { t, format } = call.view;
  const texts = t.licenses.bulk;
  const left = new Map(licenses.map((one) => [one.id, stays(call, one, action)]));
  const count = [...left.values()].filter((why) => why === undefined).length;
  const because = (['suspended', 'final', 'unmailable'] as const).flatMap((why) => {
    const many = [...left.values()].filter((one) => one === why).length;
    return many === 0 ? [] : [texts[why](many, format.number(many))];
  });
  const will = action === 'suspend' ? texts.willSuspend : texts.willMail;
  return {
    page: (
      <FormPage
        title={(action === 'suspend' ? texts.suspendTitle : texts.mailTitle)(count, format.number(count))}
        nav="licenses"
        crumbs={[[t.licenses.title, list]]}
        path={`/licenses/bulk/${action}`}
        form={form}
        points={[
          ...(count === 0 ? [] : [will(count, format.number(count))]),
          ...because,
          ...(action === 'suspend' && count > 0 ? [texts.noMail] : []),
        ]}
        submit={count === 0 ? undefined : action === 'suspend' ? texts.suspendSubmit : texts.mailSubmit}
        back={[texts.back, list]}
        below={
          <Panel id="selected" kind="mt-3">
            <LicenseTable
              licenses={licenses}
              caption={texts.caption(format.number(licenses.length))}
              further={[
                {
                  title: texts.what,
                  phone: 'bare',
                  cell: ({ id }) =>
                    left.get(id) !== undefined
                      ? texts.stays
                      : action === 'suspend'
                        ? texts.suspends
                        : texts.mails,
                },
              ]}
              empty={null}
            />
          </Panel>
        }
      >
        <input type="hidden" name={LIST_FIELD} value={list.slice('/licenses?'.length)} />
        {licenses
          .filter(({ id }) => left.get(id) === undefined)
          .map(({ id, revision }) => (
            <input type="hidden" name={`${LICENSE_FIELD}${id}`} value={String(revision)} />
          ))}
        {action === 'suspend' && count > 0 ? <Reason form={form} hint={t.license.reasonSuspend} /> : null}
      </FormPage>
    ),
  };
}

/** Does it with each that is as it was when it was asked about. */
async function perform(call: OperatorCall, sent: URLSearchParams, action: Action): Promise<Answer> {
  const asked = selectedIn(sent);
  const licenses = await selected(call, [...asked.keys()]);
  return attempt(
    call,
    sent,
    async () => {
      const changed: number[] = [];
      let done = 0;
      for (const license of licenses) {
        const isAsItWas = asked.get(String(license.id)) === String(license.revision);
        // By a first click, whose answer counts then; or by somebody else, and the operation refuses it.
        const isSuspended = action === 'suspend' && license.status === 'suspended';
        if ((isAsItWas || isSuspended) && (await doOne(call, sent, action, license))) done++;
        else changed.push(license.id);
      }
      const list = sent.get(LIST_FIELD) ?? '';
      const result = new URLSearchParams({ did: action, count: String(done), [LIST_FIELD]: list });
      if (changed.length > 0) result.set('left', changed.join(' '));
      return { to: `/licenses/bulk?${String(result)}` };
    },
    (form) => ask(call, form, { action, licenses, list: listIn(sent) }),
  );
}

/** @returns false: it had changed in the moment before */
async function doOne(
  call: OperatorCall,
  sent: URLSearchParams,
  action: Action,
  { id }: License,
): Promise<boolean> {
  // Each has its own one-time id, so that a second click repeats none.
  const given = sent.get('once') ?? '';
  const once = new URLSearchParams({ once: given === '' ? '' : `${given}-${id}` });
  try {
    if (action === 'suspend')
      await act(call, once, licenseOperations.suspendLicense, { path: { id }, body: filled(sent, 'reason') });
    else await act(call, once, mailOperations.sendLicenseMail, { path: { id }, body: {} });
    return true;
  } catch (error) {
    if (refusalOf(error, sent)?.status !== 409) throw error;
    return false;
  }
}

/** What was done, and which licences were left. */
async function showDone(call: OperatorCall): Promise<Answer> {
  const { t, format } = call.view;
  const { query } = call;
  const texts = t.licenses.bulk;
  const did = query.get('did');
  const count = Number(query.get('count'));
  if ((did !== 'suspend' && did !== 'mail') || !Number.isInteger(count) || count < 0 || count > MOST)
    return { to: '/licenses' };
  const left = await selected(call, (query.get('left') ?? '').split(' '));
  const title = (did === 'suspend' ? texts.suspendedTitle : texts.mailedTitle)(count, format.number(count));
  return {
    page: (
      <ListPage
        title={title}
        nav="licenses"
        crumbs={[[t.licenses.title, listIn(query)]]}
        actions={<ButtonLink path={listIn(query)}>{texts.back}</ButtonLink>}
        above={left.length === 0 ? undefined : <p class="msg msg-warn">{texts.leftAbout}</p>}
        list={left.length === 0 ? undefined : texts.left}
        caption={texts.leftCaption(format.number(left.length))}
        rows={left}
        empty={<p class="mb-0">{texts.allDone}</p>}
        columns={[
          {
            title: t.licenses.columns.customer,
            kind: 'name',
            cell: (one) => <a href={call.view.to(pathOf(one))}>{licenseName(one, t)}</a>,
          },
          { title: t.licenses.columns.plan, cell: ({ product, plan }) => `${product.name} · ${plan.name}` },
          { title: t.licenses.columns.id, kind: 'number', cell: ({ id }) => String(id) },
        ]}
      />
    ),
  };
}
