import { inChunks } from '../../../base/chunks';
import { allowedTransitions, isTerminalStatus, liveStatus } from '../../../licensing/core/states';
import { findLicensesByIds, type License } from '../../../licensing/licenses';
import { licenseJson } from '../../../licensing/views';
import { licenseOperations } from '../../../operations/licenses';
import { mailOperations } from '../../../operations/mails';
import { submitOperation, showFormOnRefusal, nonEmptyFields, refusalOf } from '../submit';
import { csvRows } from '../csv';
import { formState, type FormState } from '../form-state';
import { ButtonLink } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { NoteLine } from '../kit/note';
import { Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { canSendKey, licenseName, pathOf, ReasonTextField } from './license-call';
import { LICENSE_FIELD, LIST_FIELD, MAX_SELECTED } from './license-select';
import { findWholeList, LicenseTable } from './licenses';

/**
 * Bulk actions for licences of the list. A confirmation page (dry run) lists the consequences. Then each licence is
 * changed by the same operation as on its own page, and many licences in several requests. A licence that was changed
 * in the meantime is skipped and listed (optimistic locking).
 */

export const licenseBulkRoutes: Route<OperatorCall>[] = [
  // Set no deadline, because each licence has its own transaction.
  { path: '/licenses/bulk', get: showResult, post: choose, needsNoRecentSignIn: true, hasDeadline: false },
  ...(['suspend', 'mail'] as const).map((action): Route<OperatorCall> => ({
    path: `/licenses/bulk/${action}`,
    get: () => ({ to: '/licenses' }),
    post: (call, sent) => performBulkAction(call, sent, action),
    needsNoRecentSignIn: true,
    hasDeadline: false,
  })),
];

/** The number of rows of the list, and of the tables here. */
const MAX_SHOWN = 50;
/** Licences in one request. A proxy waits one minute for it. */
const BATCH_SIZE = 250;
const CONCURRENCY = 4;
/** The form field with the selected licences: their ids with the revisions that were shown, such as `12:3 14:1`. */
const SELECTED_FIELD = 'selected';

type BulkAction = 'suspend' | 'mail';

async function choose(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { at, view } = call;
  const list = listIn(sent);
  const action = sent.get('action');
  const isWhole = sent.get('found') === '1';
  // The whole list has its own CSV file.
  if (isWhole && action === 'export') return { to: list.replace('/licenses', '/licenses.csv') };
  const licenses = isWhole
    ? await findWholeList(call, queryIn(sent), MAX_SELECTED)
    : await selectedOnPage(call, sent);
  if (licenses === undefined)
    return { to: list, flash: { code: 'licensesTooMany', values: [view.format.number(MAX_SELECTED)] } };
  if (licenses.length === 0) return { to: list, flash: { code: 'licensesNone', values: [] } };
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
  return confirmBulkAction(call, formState(), {
    action: action === 'mail' ? 'mail' : 'suspend',
    licenses,
    list,
  });
}

/** Returns the query of the list's page from which the form was sent. */
function queryIn(sent: URLSearchParams): URLSearchParams {
  return new URLSearchParams(sent.get(LIST_FIELD) ?? '');
}

/** Returns the path of the list's page from which the form was sent. */
function listIn(sent: URLSearchParams): string {
  const query = String(queryIn(sent));
  return query === '' ? '/licenses' : `/licenses?${query}`;
}

/** Returns the selected licences: those with a ticked box, or all on the page. */
function selectedOnPage({ db }: OperatorCall, sent: URLSearchParams): Promise<License[]> {
  const ticked = [...sent.keys()].filter((name) => name.startsWith(LICENSE_FIELD));
  const ids =
    sent.get('all') === '1'
      ? (sent.get('page') ?? '').split(' ')
      : ticked.map((name) => name.slice(LICENSE_FIELD.length));
  return licensesByIds(db, ids, MAX_SHOWN);
}

/** Returns the shown revisions by licence id. */
function selectedIn(sent: URLSearchParams): [id: string, revision: string][] {
  const written = [...(sent.get(SELECTED_FIELD) ?? '').matchAll(/(\d+):(\d+)/g)];
  return written.slice(0, MAX_SELECTED).map(([, id, revision]) => [id as string, revision as string]);
}

/** Returns the licences with these ids, in the order of the ids. */
async function licensesByIds(db: OperatorCall['db'], ids: string[], most: number): Promise<License[]> {
  const numbers = [...new Set(ids.filter((id) => /^[1-9]\d{0,14}$/.test(id)).map(Number))].slice(0, most);
  const licenses = await inChunks(numbers, (some) => findLicensesByIds(db, some));
  const found = new Map(licenses.map((one) => [one.id, one]));
  return numbers.flatMap((id) => found.get(id) ?? []);
}

/** Returns the reason for which an action skips a licence; undefined if it does not. */
function skipReason(
  call: OperatorCall,
  license: License,
  action: BulkAction,
): 'suspended' | 'final' | 'unmailable' | undefined {
  const status = liveStatus(license, call.at);
  if (isTerminalStatus(status)) return 'final';
  if (action === 'mail') return canSendKey(call, license) ? undefined : 'unmailable';
  return allowedTransitions(status).includes('suspend') ? undefined : 'suspended';
}

interface BulkSelection {
  action: BulkAction;
  licenses: License[];
  /** the path of the list, for the back link */
  list: string;
}

/** Shows the confirmation page, with the consequences of an action. */
function confirmBulkAction(
  call: OperatorCall,
  form: FormState,
  { action, licenses, list }: BulkSelection,
): PageResponse {
  const { t, format } = call.view;
  const texts = t.licenses.bulk;
  const left = new Map(licenses.map((one) => [one.id, skipReason(call, one, action)]));
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
          <Panel id="selected">
            <LicenseTable
              licenses={licenses.slice(0, MAX_SHOWN)}
              caption={texts.caption(
                format.number(Math.min(MAX_SHOWN, licenses.length)),
                format.number(licenses.length),
              )}
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
        <input
          type="hidden"
          name={SELECTED_FIELD}
          value={licenses
            .filter(({ id }) => left.get(id) === undefined)
            .map(({ id, revision }) => `${id}:${revision}`)
            .join(' ')}
        />
        {action === 'suspend' && count > 0 ? <ReasonTextField hint={t.license.reasonSuspend} /> : null}
      </FormPage>
    ),
  };
}

/** The progress until now, which the form of the next step contains. */
interface BulkProgress {
  done: number;
  /** the number of skipped licences; `named` has the first of them */
  left: number;
  named: number[];
}

function readProgress(sent: URLSearchParams): BulkProgress {
  const count = (name: string) =>
    Math.min(MAX_SELECTED, Number(/^\d{1,5}$/.exec(sent.get(name) ?? '')?.[0] ?? 0));
  const ids = (sent.get('named') ?? '').split(' ').filter((id) => /^[1-9]\d{0,14}$/.test(id));
  return { done: count('count'), left: count('left'), named: ids.map(Number) };
}

function progressFields({ done, left, named }: BulkProgress): Record<string, string> {
  return {
    count: String(done),
    ...(left > 0 && { left: String(left), named: named.slice(0, MAX_SHOWN).join(' ') }),
  };
}

/**
 * Performs the action for the next licences, and skips those that were changed since. A page continues with the others.
 */
async function performBulkAction(
  call: OperatorCall,
  sent: URLSearchParams,
  action: BulkAction,
): Promise<PageResponse> {
  const asked = selectedIn(sent);
  const seen = new Map(asked.slice(0, BATCH_SIZE));
  const rest = asked.slice(BATCH_SIZE);
  return showFormOnRefusal(
    call,
    sent,
    async () => {
      const { done, left, named: names } = readProgress(sent);
      const licenses = await licensesByIds(call.db, [...seen.keys()], BATCH_SIZE);
      const changed: number[] = [];
      await forEachConcurrently(licenses, async (license) => {
        const isAsItWas = seen.get(String(license.id)) === String(license.revision);
        // Try a suspended licence too. After a double click, the first click suspended it, and its response is returned
        // again. If another operator suspended it, the operation refuses.
        const isSuspended = action === 'suspend' && license.status === 'suspended';
        if (!((isAsItWas || isSuspended) && (await performOne(call, sent, action, license))))
          changed.push(license.id);
      });
      const outcome = {
        done: done + licenses.length - changed.length,
        left: left + changed.length,
        named: [...names, ...changed.sort((a, b) => b - a)],
      };
      if (rest.length > 0) return showProgress(call, sent, action, rest, outcome);
      const result = { did: action, ...progressFields(outcome), [LIST_FIELD]: sent.get(LIST_FIELD) ?? '' };
      return { to: `/licenses/bulk?${String(new URLSearchParams(result))}` };
    },
    async (form) =>
      confirmBulkAction(call, form, {
        action,
        licenses: await licensesByIds(call.db, [...seen.keys(), ...rest.map(([id]) => id)], MAX_SELECTED),
        list: listIn(sent),
      }),
  );
}

async function forEachConcurrently<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Shows the progress. The script submits the form of the next step at once. */
function showProgress(
  call: OperatorCall,
  sent: URLSearchParams,
  action: BulkAction,
  rest: [id: string, revision: string][],
  outcome: BulkProgress,
): PageResponse {
  const { t, format } = call.view;
  const texts = t.licenses.bulk;
  const passed = outcome.done + outcome.left;
  const fields = {
    ...progressFields(outcome),
    ...nonEmptyFields(sent, 'reason'),
    [LIST_FIELD]: sent.get(LIST_FIELD) ?? '',
    [SELECTED_FIELD]: rest.map((one) => one.join(':')).join(' '),
  };
  const list = listIn(sent);
  return {
    page: (
      <FormPage
        title={texts.soFar(format.number(passed), format.number(passed + rest.length))}
        nav="licenses"
        crumbs={[[t.licenses.title, list]]}
        path={`/licenses/bulk/${action}`}
        // Keep the form's id, so that no step is repeated if the user returns to it.
        form={formState(undefined, undefined, sent.get('once') || undefined)}
        about={texts.goesOn(format.number(rest.length))}
        submit={texts.goOn}
        autoSubmit
        busy={texts.goingOn}
        back={[texts.stopHere, list]}
      >
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
      </FormPage>
    ),
  };
}

/** Performs the action for one licence. @returns false if the licence has just been changed */
async function performOne(
  call: OperatorCall,
  sent: URLSearchParams,
  action: BulkAction,
  { id }: License,
): Promise<boolean> {
  // Give each licence its own one-time id (idempotency key), so that a second click repeats nothing.
  const given = sent.get('once') ?? '';
  const once = new URLSearchParams({ once: given === '' ? '' : `${given}-${id}` });
  try {
    if (action === 'suspend')
      await submitOperation(call, once, licenseOperations.suspendLicense, {
        path: { id },
        body: nonEmptyFields(sent, 'reason'),
      });
    else await submitOperation(call, once, mailOperations.sendLicenseMail, { path: { id }, body: {} });
    return true;
  } catch (error) {
    if (refusalOf(error, sent)?.status !== 409) throw error;
    return false;
  }
}

/** Shows the result, with the skipped licences. */
async function showResult(call: OperatorCall): Promise<PageResponse> {
  const { t, format } = call.view;
  const { query } = call;
  const texts = t.licenses.bulk;
  const did = query.get('did');
  if (did !== 'suspend' && did !== 'mail') return { to: '/licenses' };
  const outcome = readProgress(query);
  const count = outcome.done;
  const left = await licensesByIds(call.db, outcome.named.map(String), MAX_SHOWN);
  const title = (did === 'suspend' ? texts.suspendedTitle : texts.mailedTitle)(count, format.number(count));
  return {
    page: (
      <ListPage
        title={title}
        nav="licenses"
        crumbs={[[t.licenses.title, listIn(query)]]}
        actions={<ButtonLink path={listIn(query)} label={texts.back} />}
        above={left.length === 0 ? undefined : <NoteLine>{texts.leftAbout}</NoteLine>}
        list={left.length === 0 ? undefined : texts.left}
        caption={texts.leftCaption(
          format.number(left.length),
          format.number(Math.max(left.length, outcome.left)),
        )}
        rows={left}
        empty={<p>{texts.allDone}</p>}
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
