import { myPageUrl } from '../../../licensing/api';
import { customerDigest, findEmail, storedCustomer } from '../../../licensing/customer-email';
import type { License } from '../../../licensing/licenses';
import { canonicalKey, keyHint } from '../../../licensing/core/keys';
import { listCatalogue } from '../../../licensing/catalogue';
import { requirePlan } from '../../../licensing/find-or-throw';
import { OperatorError } from '../../../licensing/operator-error';
import { searchByText, type FindResult, type FoundLicense } from '../../../support/search';
import { writeReply, type Reply } from '../../../support/reply';
import { isOfRequest, groupFindings } from '../../../support/grouped-findings';
import { requestHistory, type HistoryEntry } from '../../../support/request-history';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView, type View } from '../view';
import { mailOffReason, SuggestedReply } from './answer';
import { CUSTOMER_LANGUAGES, CUSTOMERS, type CustomerLanguage } from '../../../texts/customers/languages';
import { JoomlaErrors } from './joomla-errors';
import { replyLanguageOf } from './license-why';
import { LicenseTable } from './licenses';
import { EntryLog, type ProductNames } from './request-table';

/**
 * The results of the search field. A single licence opens at once. No address and no page contains the searched key.
 */

/** The number of latest requests that a result is based on. */
const LATEST = 20;
/** The longest search text; the field on every page has the same limit. */
const MAX_LENGTH = 500;

export const findRoutes: Route<OperatorCall>[] = [
  {
    path: '/find',
    scope: 'read',
    get: () => ({ page: <SearchPage form={formState()} /> }),
    post: search,
  },
];

async function search(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { db, at, view, settings } = call;
  const { operatorLanguage: language, format, t } = view;
  const about = sent.get('about')?.trim() ?? '';
  const refuse = (sentence: string, shown = sent): PageResponse => ({
    page: <SearchPage form={formState(shown, { field: 'about', sentence })} />,
    status: 400,
  });
  if (canonicalKey(about) === '') return refuse(t.search.nothingTyped);
  // Do not show the text again, because it may contain a key.
  const tooLong = () => refuse(t.search.tooLong, new URLSearchParams({ about: '' }));
  if (about.length > MAX_LENGTH) return tooLong();
  const { packagesDir, logDays } = settings;
  const options = { language, now: at, limit: LATEST, logDays, packagesDir, pageDays: true };
  const found = await searchByText(db, about, options).catch((error: unknown) => {
    if (!(error instanceof OperatorError) || error.code !== 'INVALID_REQUEST') throw error;
    return undefined;
  });
  if (found === undefined) return tooLong();
  if (found.kind === 'license')
    return redirectWithFlash(
      `/licenses/${found.id}${found.key === null || found.key.ended ? '' : `?key=${found.key.id}`}`,
      found.key === null ? undefined : found.key.ended ? 'foundEndedKey' : 'foundOtherKey',
    );
  if (found.kind === 'orders') {
    const [only, ...others] = found.ids;
    const query = String(new URLSearchParams({ order: about }));
    return redirectWithFlash(others.length === 0 ? `/orders/${only}` : `/orders?${query}`);
  }
  if (found.kind === 'several') return showSeveral(view, about, found);
  const { answer } = found;
  const entries = requestHistory(groupFindings(answer), { language, now: at, zone: format.zone });
  const products: ProductNames = new Map((await listCatalogue(db)).map(({ id, name }) => [id, name]));
  const ready = await suggestReplies(found, entries, call, about);
  const off = mailOffReason(call);
  return showNone(view, about, { ...found, entries, products, ready, off });
}

/** The suggested replies, first in the customer's language. */
interface Suggestions {
  license: License | undefined;
  to: string | null;
  replies: { language: CustomerLanguage; reply: Reply }[];
}

/**
 * Suggests replies about an unknown key, an e-mail address without a licence, or the refused requests of an IP address.
 */
async function suggestReplies(
  { answer, licenses, of }: Extract<FindResult, { kind: 'none' }>,
  entries: HistoryEntry[],
  call: OperatorCall,
  about: string,
): Promise<Suggestions | undefined> {
  const { at: now, settings } = call;
  // Suggest nothing for an IP address without a refused request, because its user has no problem to explain.
  if (of === 'other' || (of === 'address' && !entries.some(({ kind }) => kind === 'refused')))
    return undefined;
  const { shopName, publicUrl } = settings;
  // Ignore a match that is only a guess by the end of a key, because it may be another customer's licence.
  const isCertain = answer.findings.some((one) => 'certain' in one.facts && one.facts.certain === true);
  const license = of === 'key' && isCertain ? licenses[0]?.license : undefined;
  const to = license?.customer ?? (of === 'email' ? (findEmail(about) ?? null) : null);
  const upgradeUrl = license && (await requirePlan(call.db, license.plan.id)).upgradeUrl;
  const first = await replyLanguageOf(call, to);
  const sorted = groupFindings(answer);
  const languages = [first, ...CUSTOMER_LANGUAGES.filter((language) => language !== first)];
  return {
    license,
    to,
    replies: languages.map((language) => ({
      language,
      reply: writeReply(sorted, entries, {
        language,
        now,
        license,
        shopName,
        upgradeUrl,
        isAddress: of === 'email',
        myUrl: publicUrl && myPageUrl(publicUrl),
      }),
    })),
  };
}

function SearchPage({ form }: { form: FormState }) {
  const { t } = useView();
  const texts = t.search;
  return (
    <TitledPage title={texts.title} nav={undefined} sub={<span class="small muted">{texts.intro}</span>}>
      <div class="stack">
        <Panel id="ask" inside>
          <Form path="/find" form={form}>
            <FormErrors form={form} />
            <TextField
              name="about"
              label={texts.field}
              required
              placeholder={t.common.findHint}
              hint={texts.notLogged}
            />
            <Submit busy={texts.busy} label={texts.submit} />
          </Form>
        </Panel>
        <Panel id="examples">
          <Table
            caption={texts.examples}
            rows={Object.values(texts.what)}
            empty={null}
            columns={[
              { title: texts.columns.what, kind: 'name', cell: ([what]) => what },
              { title: texts.columns.example, cell: ([, example]) => example },
              { title: texts.columns.finds, cell: ([, , finds]) => finds },
            ]}
          />
        </Panel>
      </div>
    </TitledPage>
  );
}

function showSeveral(
  { t, to, format }: View,
  about: string,
  { heading, licenses, more }: Extract<FindResult, { kind: 'several' }>,
): PageResponse {
  const texts = t.search;
  const email = storedCustomer(about);
  const isCustomer = licenses.every(({ license }) => license.customer === email);
  return {
    page: (
      <TitledPage
        title={heading}
        nav="licenses"
        about={about}
        actions={
          isCustomer ? (
            <a class="btn" href={to(`/customers/${customerDigest(email)}`)}>
              {texts.openCustomer}
            </a>
          ) : undefined
        }
      >
        <Panel id="found">
          <FoundTable licenses={licenses} caption={texts.caption(format.number(licenses.length))} />
          {more && !isCustomer ? (
            <p class="in small">
              {/* Do not offer a link with an e-mail address, because logs would contain it. */}
              {about.includes('@') ? (
                texts.typeMore
              ) : (
                <a href={to('/licenses', { q: about })}>{texts.listAll}</a>
              )}
            </p>
          ) : null}
        </Panel>
      </TitledPage>
    ),
  };
}

function FoundTable({ licenses, caption }: { licenses: FoundLicense[]; caption: string }) {
  const { t } = useView();
  const foundAs = new Map(licenses.map((one) => [one.license.id, one.foundAs]));
  const [same, ...others] = new Set(foundAs.values());
  // A column with the same words in each row would leave the names too little room.
  const isColumn = others.length > 0;
  return (
    <LicenseTable
      licenses={licenses.map(({ license }) => license)}
      caption={isColumn || !same ? caption : `${caption} ${t.search.foundAs}: ${same}.`}
      further={
        isColumn ? [{ title: t.search.foundAs, cell: ({ id }) => foundAs.get(id) ?? t.common.none }] : []
      }
      empty={null}
    />
  );
}

interface NothingFound extends Extract<FindResult, { kind: 'none' }> {
  entries: HistoryEntry[];
  products: ProductNames;
  ready: Suggestions | undefined;
  /** the reason why no mail can be sent; undefined if it can */
  off: string | undefined;
}

function showNone(
  { t, to, format }: View,
  about: string,
  { of, heading, answer, licenses, entries, products, ready, off }: NothingFound,
): PageResponse {
  const texts = t.search;
  const told = answer.findings.filter((one) => !isOfRequest(one));
  const [likeliest] = licenses;
  const isKey = of === 'key';
  return {
    page: (
      <TitledPage
        title={heading}
        nav={undefined}
        about={isKey ? (keyHint(canonicalKey(about)) ?? '') : about}
        sub={
          isKey ? (
            <span class="small muted">{texts.notKept}</span>
          ) : of === 'other' ? (
            <a href={to('/find')}>{texts.examples}</a>
          ) : undefined
        }
      >
        <div class="stack">
          {told.length === 0 ? null : (
            <Panel id="told" inside>
              {told.map(({ sentence, advice }) => (
                <p>
                  {sentence} {advice}
                </p>
              ))}
              {likeliest === undefined ? null : (
                <p class="acts">
                  <a class="btn btn-primary" href={to(`/licenses/${likeliest.license.id}`)}>
                    {texts.openLicense(String(likeliest.license.id))}
                  </a>
                </p>
              )}
            </Panel>
          )}
          {entries.length === 0 ? null : (
            <Panel
              id="happened"
              title={texts.happened}
              aside={
                of === 'address' ? (
                  <a href={to('/requests', { ip: heading })}>{texts.allRequests}</a>
                ) : undefined
              }
            >
              <EntryLog entries={entries} products={products} />
            </Panel>
          )}
          {licenses.length === 0 ? null : (
            <Panel id="near" title={isKey || of === 'email' ? texts.near : texts.named}>
              <FoundTable licenses={licenses} caption={texts.nearCaption(format.number(licenses.length))} />
            </Panel>
          )}
          {ready === undefined ? null : (
            <Panel id="reply" title={texts.answer}>
              {ready.replies.map(({ language, reply }, i) => (
                <details class="fold" open={i === 0}>
                  <summary lang={language}>{CUSTOMERS[language].language.name}</summary>
                  <div class="in">
                    <SuggestedReply
                      id={`reply-${language}`}
                      label={`${texts.answerBody} (${CUSTOMERS[language].language.name})`}
                      license={ready.license}
                      reply={reply}
                      language={language}
                      off={off}
                      to={ready.to}
                      rows={12}
                    />
                  </div>
                </details>
              ))}
            </Panel>
          )}
          {answer.untraced.length === 0 || isKey ? null : (
            <Panel id="elsewhere">
              <JoomlaErrors />
            </Panel>
          )}
        </div>
      </TitledPage>
    ),
  };
}
