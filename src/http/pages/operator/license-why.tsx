import { myPageUrl } from '../../../licensing/api';
import { updateSites, updateSiteNames, readCatalogue } from '../../../licensing/bundles';
import { viewKey, type LicenseView } from '../../../licensing/license-view';
import { readPerson } from '../../../mail/customer-profile';
import type { License } from '../../../licensing/licenses';
import { isKeyActive } from '../../../licensing/license-keys';
import { JoomlaErrors } from './joomla-errors';
import { remedyOf, type Remedy } from '../../../support/remedy';
import { writeReply, type Reply } from '../../../support/reply';
import { groupFindings, type GroupedFindings } from '../../../support/grouped-findings';
import { requestHistory, type HistoryEntry } from '../../../support/request-history';
import { currentAccess, type CurrentAccess } from '../../../support/current-access';
import { explain, type WhyAnswer } from '../../../support/why';
import { formState } from '../form-state';
import { ButtonLink, Form, Submit } from '../kit/fields';
import { Icon, LineIcon } from '../kit/icons';
import { NoteLine } from '../kit/note';
import { Panel } from '../kit/panel';
import { TimelineItem } from '../kit/timeline';
import type { OperatorCall } from '../page';
import { asCustomerLanguage, type CustomerLanguage } from '../../../texts/customers/languages';
import { useView } from '../view';
import { mailOffReason, SuggestedReply } from './answer';
import { AnswerLanguage } from './answer-language';
import { pathOf } from './license-call';

/** The diagnosis "Does it work now?": the verdict, its evidence, the remedy, and a mail to the customer. */

export interface Why {
  works: CurrentAccess | null;
  /** sorted newest first */
  happened: HistoryEntry[];
  /** requests from the same networks, perhaps of other customers, in the same order */
  nearby: HistoryEntry[];
  remedy: Remedy | null;
  others: Remedy[];
  reply: Reply;
  replyLanguage: CustomerLanguage;
  /** the key that the verdict is about, if it is not the main key */
  key: { id: number; hint: string; label: string | null } | undefined;
  /** a shared key (key sharing) */
  shared: { keyId: number; sentence: string } | undefined;
  /** the reason why no mail can be sent; undefined if it can */
  mailOff: string | undefined;
  /** true if the page's address chose the language of the reply */
  isReplyAsked: boolean;
}

/** The number of latest requests that are examined. */
const LATEST = 50;
const SHOWN = 3;

export async function readWhy(
  call: OperatorCall,
  { license, plan, product, otherKeys }: LicenseView,
): Promise<Why> {
  const { db, at, settings, view, query } = call;
  const { operatorLanguage: language } = view;
  const { packagesDir, logDays, spreadFactor, timeZone: zone, shopName } = settings;
  const judge = (keyId: number | undefined) =>
    explain(db, `id:${license.id}`, {
      language,
      packagesDir,
      logDays,
      spreadFactor,
      now: at,
      limit: LATEST,
      pageDays: true,
      keyId,
    });
  const named = /^[1-9]\d{0,14}$/.test(query.get('key') ?? '') ? Number(query.get('key')) : undefined;
  let answer = await judge(named);
  let keyId = named;
  if (named === undefined && (keyId = fullKeyOf(answer)) !== undefined) answer = await judge(keyId);
  const use =
    keyId === undefined || keyId === license.mainKeyId ? undefined : await viewKey(db, license, keyId);
  const openKeys = otherKeys.items.filter(({ key }) => isKeyActive(key, at));
  const sorted = groupFindings(answer);
  const told = {
    language,
    now: at,
    zone,
    activationType: plan.activationType,
    keyHints: [license.keyHint, ...openKeys.map(({ key }) => key.keyHint)],
  };
  const happened = requestHistory(sorted, told);
  const asked = query.get('reply') ?? '';
  const entries = updateSiteNames(updateSites(await readCatalogue(db), product.id));
  const replyLanguage =
    asCustomerLanguage(asked) ?? (await replyLanguageOf({ db, settings, view }, license.customer));
  return {
    works: currentAccess(sorted, happened, { license, language, now: at, zone, logDays }),
    happened,
    // Remove the advice, which may be for another customer.
    nearby: requestHistory({ requests: sorted.nearby, licenseId: license.id }, { ...told, limit: SHOWN }).map(
      (entry) => ({ ...entry, advice: null }),
    ),
    ...remedyOf(sorted, { license, planDuration: plan.duration, language, now: at }),
    reply: writeReply(sorted, happened, {
      language: replyLanguage,
      now: at,
      license,
      product,
      shopName,
      entries,
      upgradeUrl: plan.upgradeUrl,
      keyHint: use?.key.keyHint,
      myUrl: settings.publicUrl && myPageUrl(settings.publicUrl),
    }),
    shared: sharedOf(sorted),
    mailOff: mailOffReason(call),
    key: use && { id: use.key.id, hint: use.key.keyHint ?? view.t.license.keys.noHint, label: use.key.label },
    replyLanguage,
    isReplyAsked: asCustomerLanguage(asked) !== undefined,
  };
}

function sharedOf({ about }: GroupedFindings): Why['shared'] {
  const found = about.get('KEY_SHARED');
  return found && { keyId: (found.facts as { key_id: number }).key_id, sentence: found.sentence };
}

/** The warning that many sites share a key, with a link to replace it. */
export function SharedKey({ license, why: { shared } }: { license: License; why: Why }) {
  const { t, mayWrite } = useView();
  if (shared === undefined) return null;
  const path = pathOf(license, `/keys/${shared.keyId}/new`);
  const label = t.told.spreading.rekey;
  return (
    <NoteLine>
      {shared.sentence}{' '}
      {mayWrite ? <ButtonLink path={path} query={{ overlap: '14d' }} label={label} /> : null}
    </NoteLine>
  );
}

/** Returns the customer's language. If it is unknown, returns the language of mails, or that of the page. */
export async function replyLanguageOf(
  { db, settings: { mailing }, view }: Pick<OperatorCall, 'db' | 'settings' | 'view'>,
  customer: string | null,
): Promise<CustomerLanguage> {
  return (await readPerson(db, customer)).language ?? mailing?.language ?? view.language;
}

/** Returns the id of the further key whose own limit refused a site although the licence itself has free slots. */
function fullKeyOf({ now, findings }: WhyAnswer): number | undefined {
  if (!now?.new_site.allowed) return undefined;
  const ofKey = findings.filter(({ code, facts }) => code === 'KEY_SLOTS_FULL' && 'request' in facts).at(-1);
  return (ofKey?.facts as { key_id: number | undefined } | undefined)?.key_id;
}

/** The verdict, the reply to the customer, and the requests on which both are based. */
export function WhyPanels({ license, why }: { license: License; why: Why }) {
  const { t, to } = useView();
  const texts = t.license.why;
  const { works, happened, nearby, reply } = why;
  if (works === null) return null;
  const isFine = reply.case === 'fine' || (reply.case === 'full' && works.state === 'fine');
  return (
    <>
      <Verdict license={license} why={why} works={works} />
      <ReplyPanel license={license} why={why} isOpen={why.isReplyAsked || !isFine} />
      {happened.length + nearby.length === 0 ? null : (
        <Panel
          id="happened"
          title={texts.happened}
          aside={<a href={to(pathOf(license, '/requests'))}>{texts.allRequests}</a>}
        >
          {happened.length === 0 ? null : <Log license={license} entries={happened.slice(0, SHOWN)} />}
          {nearby.length === 0 ? null : (
            <details class="fold">
              <summary>{texts.nearby}</summary>
              <Log license={license} entries={nearby} />
            </details>
          )}
        </Panel>
      )}
    </>
  );
}

const GROUNDS = { fine: 'ok', again: 'ok', no_new_site: 'warn', refused: 'bad' } as const;

/** The verdict on "Does it work now?". Its title is the decisive sentence, and the button of the remedy is below it. */
function Verdict({ license, why, works }: { license: License; why: Why; works: CurrentAccess }) {
  const [main, other] =
    works.state === 'no_new_site' ? [works.newSite, works.updates] : [works.updates, works.newSite];
  return (
    <section class={`panel verdict verdict-${GROUNDS[works.state]}`} aria-labelledby="h-why">
      <div class="top">
        <Icon name={main.allowed ? 'yes' : 'no'} />
        <div>
          {why.key === undefined ? null : <JudgedBy license={license} of={why.key} />}
          <h2 id="h-why">{main.sentence}</h2>
          {works.state === 'again' ? <p>{works.summary}</p> : null}
          {main.note === null ? null : <p>{main.note}</p>}
          {works.state === 'fine' ? null : <RemedyBar license={license} why={why} />}
        </div>
      </div>
      <div class="also">
        <OtherIcon isFine={works.state === 'fine'} allowed={other.allowed} />
        <div>
          {other.sentence}
          {other.note === null ? null : <p class="small muted">{other.note}</p>}
          {works.quiet === null ? null : <p class="small muted">{works.quiet}</p>}
        </div>
      </div>
    </section>
  );
}

/** A slot that is used, in a licence that is fine, is a fact and not a refusal. */
function OtherIcon({ isFine, allowed }: { isFine: boolean; allowed: boolean }) {
  if (allowed) return <Icon name="yes" kind="ok" />;
  return isFine ? <Icon name="info" kind="muted" /> : <Icon name="no" kind="bad" />;
}

/** The note that the verdict is about another key than the main key. */
function JudgedBy({ license, of: { hint, label } }: { license: License; of: NonNullable<Why['key']> }) {
  const { t, to } = useView();
  const texts = t.license.why;
  return (
    <p class="small">
      {texts.byKey(hint, label)}{' '}
      <a href={to(pathOf(license), { key: license.mainKeyId })}>{texts.byMainKey}</a>
    </p>
  );
}

/** The remedy as a button, and its alternatives as links. */
function RemedyBar({ license, why: { remedy, others } }: { license: License; why: Why }) {
  const { t, to, mayWrite } = useView();
  if (remedy === null || !mayWrite) return null;
  const sent = remedyRequest(remedy, license);
  const links = others.flatMap((one): [string, string][] => [[remedyPath(one, license), one.button]]);
  if (remedy.type === 'renew') links.unshift([pathOf(license, '/renew'), t.license.why.another]);
  return (
    <div class="acts">
      {sent === undefined ? (
        <a class="btn btn-primary" href={addressOf(remedyPath(remedy, license), to)}>
          {remedy.button}
        </a>
      ) : (
        <Form path={sent.path} form={formState()}>
          {Object.entries(sent.fields).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <Submit kind={remedy.type === 'issue' ? 'quiet' : 'primary'} label={remedy.button} />
        </Form>
      )}
      <p>
        {remedy.note}
        {links.map(([path, title], i) => (
          <>
            {i === 0 && remedy.note === null ? '' : ' · '}
            <a href={addressOf(path, to)}>{title}</a>
          </>
        ))}
      </p>
    </div>
  );
}

/** Returns the request of the remedy's button; undefined if the button opens a page. */
function remedyRequest(
  remedy: Remedy,
  license: License,
): { path: string; fields: Record<string, string> } | undefined {
  switch (remedy.type) {
    case 'renew':
      return { path: pathOf(license, '/renew'), fields: { how: 'time', for: remedy.duration } };
    case 'reinstate':
      return { path: pathOf(license, '/reinstate'), fields: {} };
    case 'issue': {
      const { planId, customer } = remedy;
      return {
        path: '/licenses/new',
        fields: { plan_id: String(planId), ...(customer === null ? {} : { customer }) },
      };
    }
    case 'show_key':
      return { path: pathOf(license, `/keys/${remedy.keyId ?? license.mainKeyId}/show`), fields: {} };
    default:
      return undefined;
  }
}

/** Returns the path of the page of a remedy, or its anchor in this page. */
function remedyPath(step: Remedy, license: License): string {
  switch (step.type) {
    case 'renew':
    case 'reinstate':
      return pathOf(license, `/${step.type}`);
    case 'issue':
      return `/licenses/new?plan_id=${step.planId}`;
    case 'remove_site':
      return '#h-sites';
    case 'raise_limit':
      return pathOf(license, `/slots?slots=${step.slots}`);
    case 'raise_key_limit':
      return pathOf(license, `/keys/${step.keyId}/change?slots=${step.slots}`);
    case 'change_plan':
      return pathOf(license, '/plan');
    case 'publish':
      return `/releases?product_id=${step.productId}`;
    case 'restore_package':
      return '/doctor';
    case 'show_key':
      return pathOf(license, `/keys/${step.keyId ?? license.mainKeyId}/show`);
    case 'add_key':
      return pathOf(license, '/keys/add');
  }
}

function addressOf(path: string, to: (path: string) => string): string {
  return path.startsWith('#') ? path : to(path);
}

function Log({ license, entries }: { license: License; entries: HistoryEntry[] }) {
  return (
    <ol class="tl">
      {entries.map((entry) => (
        <LogEntry entry={entry} license={license} />
      ))}
    </ol>
  );
}

function LogEntry({ entry, license }: { entry: HistoryEntry; license: License }) {
  const { format } = useView();
  const { at, kind, parts, sentence, near, repeated, worksAgainSentence, advice, client } = entry;
  const isGood = kind !== 'refused';
  const of = entry.productId === license.product.id ? license.product.name : '';
  const about = [
    kind === 'refused' && client.version !== null ? `${of} ${client.version}`.trim() : null,
    client.joomla === null ? null : `Joomla ${client.joomla}`,
    client.ip,
  ].filter(Boolean);
  return (
    <TimelineItem
      kind={isGood ? 'ok' : 'bad'}
      icon={<LineIcon name={isGood ? 'check' : 'x'} />}
      when={<time datetime={at.toISOString()}>{format.moment(at)}</time>}
    >
      {parts === null ? (
        sentence
      ) : (
        <>
          {parts.what}: <strong>{parts.because}</strong>
        </>
      )}{' '}
      {[near?.sentence, repeated, worksAgainSentence].filter(Boolean).join(' ')}
      {about.length === 0 ? null : <small>{about.join(' · ')}</small>}
      {advice === null ? null : <small>{advice}</small>}
    </TimelineItem>
  );
}

/** The approximate number of characters in a line of the field. */
const LINE_LENGTH = 85;

/** The suggested reply to the customer, as a letter. */
function ReplyPanel({ license, why, isOpen }: { license: License; why: Why; isOpen: boolean }) {
  const { t, to } = useView();
  const texts = t.license.why;
  const { reply, replyLanguage } = why;
  const { customer } = license;
  const lines = reply.body.split('\n').map((line) => Math.ceil(line.length / LINE_LENGTH) || 1);
  return (
    <section class="panel letter">
      <details class="fold" id="answer" open={isOpen}>
        <summary>{texts.answer}</summary>
        <div class="line">
          <span class="label">{t.answer.to}</span>
          <span class="grow">{customer ?? t.licenses.noCustomer}</span>
          <AnswerLanguage
            chosen={replyLanguage}
            hrefOf={(code) => `${to(pathOf(license), { reply: code, key: why.key?.id })}#answer`}
          />
        </div>
        <div class="line">
          <span class="label">{t.answer.subject}</span>
          <span>{reply.subject}</span>
        </div>
        <SuggestedReply
          id="reply"
          label={texts.answer}
          license={license}
          reply={reply}
          language={replyLanguage}
          to={customer}
          off={why.mailOff}
          rows={lines.reduce((sum, one) => sum + one, 1)}
        >
          {customer === null ? null : (
            <a class="btn btn-plain" href={mailAddress(customer, reply)}>
              {texts.mailProgram}
            </a>
          )}
        </SuggestedReply>
      </details>
      <JoomlaErrors />
    </section>
  );
}

/** Returns the mailto: URL of a reply (RFC 6068). */
function mailAddress(customer: string, { subject, body }: Reply): string {
  const address = customer.split('@').map(encodeURIComponent).join('@');
  const text = encodeURIComponent(body.replaceAll('\n', '\r\n'));
  return `mailto:${address}?subject=${encodeURIComponent(subject)}&body=${text}`;
}
