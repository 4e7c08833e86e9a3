import { findReleaseById, releasesOf, type Release } from '../../../packages/releases';
import { latestOf } from '../../../licensing/updates';
import { compareVersions, isPrerelease } from '../../../licensing/versions';
import { ManageError } from '../../../operations/failures';
import { readId } from '../../../operations/reading';
import { act, attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Form, FormErrors, Submit, TextArea } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { offeredVersion } from './catalogue';
import { allowedIn, Allowances, explainPackage, published } from './release-new';
import { releaseOperations } from '../../../operations/releases';

/** One version: its changelog, publishing a draft, and taking it back. */

type Doing = (call: OperatorCall, release: Release, sent: URLSearchParams) => Promise<Answer>;
type Showing = (call: OperatorCall, release: Release, form: FormState) => Promise<Answer> | Answer;

export const releaseActionRoutes: Route<OperatorCall>[] = [
  {
    ...action('edit', edit, (_call, release, form) => ({ page: <EditPage {...{ release, form }} /> })),
    goesOn: true,
  },
  action('publish', publish, async (call, release, form) => ({
    page: <PublishPage {...{ release, form, latest: await latestBeside(call, release) }} />,
  })),
  action('withdraw', withdraw, async (call, release, form) => ({
    page: <WithdrawPage {...{ release, form, latest: await latestBeside(call, release) }} />,
  })),
];

function action(name: string, work: Doing, show: Showing): Route<OperatorCall> {
  return {
    path: `/releases/:id/${name}`,
    scope: 'write',
    hasDeadline: false,
    get: async (call) => show(call, await requireRelease(call), formState()),
    post: async (call, sent) => {
      const release = await requireRelease(call);
      return attempt(
        call,
        sent,
        () => work(call, release, sent),
        (form) => show(call, release, form),
        (refused) => explainPackage(call, sent, refused),
      );
    },
  };
}

async function requireRelease(call: OperatorCall): Promise<Release> {
  const release = await findReleaseById(call.db, readId(call));
  if (release === undefined) throw new ManageError('NOT_FOUND', '');
  return release;
}

const listOf = ({ productId }: Release) => `/releases?product_id=${productId}`;

/** What a download gives without this version. */
async function latestBeside({ db }: OperatorCall, { id, productId }: Release): Promise<string | undefined> {
  const others = (await releasesOf(db, productId)).filter(
    (one) => one.state === 'published' && one.id !== id,
  );
  return latestOf(others, ({ version }) => version)?.version;
}

async function edit(call: OperatorCall, release: Release, sent: URLSearchParams): Promise<Answer> {
  const body = { changelog: sent.get('changelog') ?? '' };
  await act(call, sent, releaseOperations.updateRelease, { path: { id: release.id }, body });
  return done(listOf(release), 'saved');
}

async function publish(call: OperatorCall, release: Release, sent: URLSearchParams): Promise<Answer> {
  const body = allowedIn(sent);
  const data = await act(call, sent, releaseOperations.publishRelease, { path: { id: release.id }, body });
  return published(call, release.productId, data);
}

async function withdraw(call: OperatorCall, release: Release, sent: URLSearchParams): Promise<Answer> {
  const body = sent.get('allow_downgrade') === 'true' ? { allow_downgrade: true } : {};
  const { update_xml } = await act(call, sent, releaseOperations.withdrawRelease, {
    path: { id: release.id },
    body,
  });
  const offered = await offeredVersion(call, release.productId);
  return done(listOf(release), 'releaseWithdrawn', release.version, update_xml.state, offered);
}

function EditPage({ release, form }: { release: Release; form: FormState }) {
  const { t, to } = useView();
  const { editPage, form: fields, title: list } = t.releases;
  const title = editPage.title(release.version);
  return (
    <OperatorPage title={title} nav="releases" crumbs={[[list, listOf(release)]]}>
      <Head title={title} />
      <Panel id="edit" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <Form path={`/releases/${release.id}/edit`} form={form}>
            <TextArea
              form={form}
              name="changelog"
              label={fields.changelog}
              hint={fields.changelogHint}
              value={release.changelog}
              rows={8}
            />
            <p class="hint">{editPage.about}</p>
            <p class="acts mb-0">
              <Submit>{t.common.save}</Submit>
              {release.state === 'draft' ? (
                <a class="btn btn-quiet" href={to(`/releases/${release.id}/publish`)}>
                  {editPage.publish(release.version)}
                </a>
              ) : null}
              {release.state === 'withdrawn' ? null : (
                <a class="btn btn-quiet" href={to(`/releases/${release.id}/withdraw`)}>
                  {editPage.withdraw(release.version)}
                </a>
              )}
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

interface AskingProps {
  release: Release;
  form: FormState;
  latest: string | undefined;
}

function PublishPage({ release, form, latest }: AskingProps) {
  const { t, to } = useView();
  const { publishPage, title: list } = t.releases;
  const { version, id } = release;
  const title = publishPage.title(version);
  return (
    <OperatorPage title={title} nav="releases" crumbs={[[list, listOf(release)]]}>
      <Head title={title} />
      <Panel id="publish" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <ul>
            <li>
              {latest === undefined || isGivenFirst(version, latest)
                ? publishPage.download(version)
                : publishPage.stays(version, latest)}
            </li>
            <li>{publishPage.never}</li>
          </ul>
          <Form path={`/releases/${id}/publish`} form={form}>
            <Allowances form={form} value="true" />
            <p class="acts mb-0">
              <Submit busy={publishPage.busy}>{publishPage.submit(version)}</Submit>
              <a class="btn btn-quiet" href={to(listOf(release))}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

/** Whether a download gives the first of two versions. */
function isGivenFirst(version: string, other: string): boolean {
  const ordered = [version, other].sort((a, b) => compareVersions(b, a));
  return latestOf(ordered, (one) => one) === version;
}

function WithdrawPage({ release, form, latest }: AskingProps) {
  const { t } = useView();
  const { withdrawPage: texts, title: list } = t.releases;
  const { id, version, state } = release;
  // A higher one stays offered.
  const staying =
    latest === undefined || isGivenFirst(version, latest) || isPrerelease(version) ? undefined : latest;
  const offers = isPrerelease(version) ? texts.offersBefore(version) : texts.offers(version);
  const consequences =
    state === 'draft'
      ? [texts.draft, texts.number]
      : [
          texts.nobody,
          latest === undefined ? texts.nothing : texts.then(latest),
          staying === undefined ? offers : texts.same(staying),
          texts.number,
        ];
  return (
    <FormPage
      danger
      title={texts.title(version)}
      nav="releases"
      crumbs={[[list, listOf(release)]]}
      path={`/releases/${id}/withdraw`}
      form={form}
      points={consequences}
      submit={texts.submit(version)}
      busy={texts.busy}
      back={[texts.back, listOf(release)]}
    >
      {state === 'draft' || staying !== undefined ? null : (
        <Checkbox
          form={form}
          name="allow_downgrade"
          value="true"
          label={texts.allow}
          hint={texts.allowHint}
        />
      )}
    </FormPage>
  );
}
