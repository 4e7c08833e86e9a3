import type { Child } from 'hono/jsx';
import { invalid, type ErrorResponse } from '../../../operations/kit/failures';
import { configurationOperations } from '../../../operations/configuration';
import {
  EDITABLE,
  EDITABLE_NAMES,
  isEditable,
  type EditableName,
  type SettingGroup,
} from '../../../settings/names';
import { HIDDEN_PASSWORD, writeMailUrl } from '../../../mail/settings';
import { actorInWords } from '../../../support/sentences';
import { describeStored } from '../../../texts/operators/failures';
import { mailServerInWords } from '../../../texts/operators/mail-server';
import { submitOperation, redirectIfDeleted, type DataOf } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox, FileField, Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { CUSTOMERS, CUSTOMER_LANGUAGES } from '../../../texts/customers/languages';
import { mailTextOperations } from '../../../operations/mail-texts';

/** The settings: their effective values, and forms for those that a seller can change. */

type Setting = DataOf<typeof configurationOperations.listSettings>[number];

const GROUPS = ['shop', 'mail', 'limits', 'keeping'] as const;
const FORM_GROUPS = ['shop', 'limits', 'keeping'] as const;
type FormGroup = (typeof FORM_GROUPS)[number];

export const settingsRoutes: Route<OperatorCall>[] = [
  { path: '/settings', get: showSettings, hasDeadline: false },
  formRoute('/settings/mail', {
    isSecret: true,
    find: readAll,
    show: showMail,
    work: saveMail,
    explain,
    hasDeadline: false,
  }),
  formRoute('/settings/mail/test', {
    show: showTest,
    work: sendTest,
    explain: explainTest,
    hasDeadline: false,
  }),
  formRoute('/settings/picture', {
    isSecret: true,
    upload: true,
    show: showPicture,
    work: setPicture,
    explain: ({ view: { t } }, { status }) =>
      status === 413 ? t.settings.picture.tooLarge : t.settings.picture.wrong,
  }),
  { path: '/settings/picture/remove', post: removePicture },
  ...FORM_GROUPS.map((group) =>
    formRoute(`/settings/${group}`, {
      isSecret: true,
      find: readAll,
      show: (call: OperatorCall, form: FormState, all: Setting[]) => showGroup(call, form, all, group),
      work: (call, sent) => saveGroup(call, sent, group),
      explain,
    }),
  ),
];

function readAll(call: OperatorCall): Promise<Setting[]> {
  return submitOperation(call, new URLSearchParams(), configurationOperations.listSettings);
}

function settingsOfGroup(group: SettingGroup): EditableName[] {
  return EDITABLE_NAMES.filter((name) => EDITABLE[name].group === group);
}

async function showSettings(call: OperatorCall): Promise<PageResponse> {
  const { t, mayWrite } = call.view;
  const { settings: texts } = t;
  const all = await readAll(call);
  const mailTexts = await submitOperation(call, new URLSearchParams(), mailTextOperations.listMailTexts);
  const own = mailTexts.filter(({ source }) => source !== 'built_in').length;
  const { to, format } = call.view;
  const fixed = all.filter(({ editable, source }) => !editable || source === 'environment');
  const group = (id: SettingGroup, more: Row[] = [], footer?: Child) => (
    <GroupPanel id={id} all={all} mayChange={mayWrite} more={more} footer={footer} />
  );
  const mailTextsLink = (
    <a href={to('/settings/texts')}>{texts.texts.own(own, call.view.format.number(own))}</a>
  );
  const isOn = call.settings.config.mail !== undefined && call.settings.config.publicUrl !== undefined;
  const sections: [id: string, title: string][] = [
    ...GROUPS.map((id): [string, string] => [id, texts.groups[id]]),
    ['fixed', texts.fixed.title],
  ];
  const others: [path: string, title: string][] = [
    ['/shops', t.orders.shops.title],
    ['/operators', t.system.operators.title],
    ['/tokens', t.system.tokens.title],
    ['/webhooks', t.webhooks.title],
  ];
  return {
    page: (
      <OperatorPage title={texts.title} nav="settings">
        <PageHeader title={texts.title} sub={texts.about} />
        <div class="cols cols-menu">
          <nav class="toc" aria-label={texts.title}>
            {sections.map(([id, title]) => (
              <a href={`#h-${id}`}>{title}</a>
            ))}
            <hr />
            {others.map(([path, title]) => (
              <a href={to(path)}>{title}</a>
            ))}
          </nav>
          <div class="stack">
            {group('shop', [
              { name: texts.picture.title, value: <ShownPicture />, path: '/settings/picture' },
            ])}
            {group(
              'mail',
              [{ name: texts.texts.title, value: mailTextsLink, path: undefined }],
              isOn && mayWrite ? <a href={to('/settings/mail/test')}>{texts.test.go}</a> : undefined,
            )}
            {group('limits')}
            {group('keeping')}
            <Panel id="fixed">
              <details class="fold" id="h-fixed">
                <summary>{texts.fixed.count(fixed.length, format.number(fixed.length))}</summary>
                <PanelBody>
                  <p class="small">{texts.fixed.about}</p>
                </PanelBody>
                <FixedTable rows={fixed} />
              </details>
            </Panel>
          </div>
        </div>
      </OperatorPage>
    ),
  };
}

function ShownPicture() {
  const { t, logo } = useView();
  const { alt, none } = t.settings.picture;
  return logo === undefined ? <>{none}</> : <img src={logo} alt={alt} height="32" />;
}

/** A row of a panel: a setting, and the page that changes it. */
interface Row {
  name: string;
  value: Child;
  /** undefined if it cannot be changed here */
  path: string | undefined;
}

function GroupPanel({
  id,
  all,
  mayChange,
  more,
  footer,
}: {
  id: SettingGroup;
  all: Setting[];
  mayChange: boolean;
  more: Row[];
  footer: Child | undefined;
}) {
  const { t, to } = useView();
  const { settings: texts } = t;
  const rows: Row[] = all
    .filter(({ name }) => isEditable(name) && EDITABLE[name].group === id)
    .map((one) => ({
      name: texts.names[one.name as EditableName],
      value: <Shown setting={one} />,
      path: one.source === 'environment' ? undefined : `/settings/${id}`,
    }));
  return (
    <Panel id={id} title={texts.groups[id]} footer={footer}>
      <dl>
        {[...rows, ...more].map(({ name, value, path }) => (
          <div class="set">
            <dt>{name}</dt>
            <dd>{value}</dd>
            {path !== undefined && mayChange ? (
              <dd>
                <a href={to(path)} aria-label={`${texts.change}: ${name}`}>
                  {texts.change}
                </a>
              </dd>
            ) : null}
          </div>
        ))}
      </dl>
    </Panel>
  );
}

/** A value with its source. */
function Shown({ setting }: { setting: Setting }) {
  const { t, format } = useView();
  const { settings: texts } = t;
  const { source, changed_by: by, changed_at: at } = setting;
  const from =
    source === 'environment'
      ? texts.source.environment
      : source === 'stored'
        ? texts.source.stored(actorInWords(by ?? '', t), at === null ? '' : format.moment(new Date(at)))
        : texts.source.default;
  return (
    <>
      {shownValue(setting, useView())}
      <div class="sub">{from}</div>
    </>
  );
}

function shownValue({ name, value }: Setting, { t, format }: ReturnType<typeof useView>): string {
  if (value === null) return t.settings.none;
  if (name === 'mail_language')
    return CUSTOMER_LANGUAGES.includes(value as never)
      ? CUSTOMERS[value as 'en'].language.name
      : String(value);
  if (name === 'mail_url') return mailServerInWords(t.settings.mail, String(value));
  if (!isEditable(name)) return String(value);
  const isDays = EDITABLE[name].group === 'keeping';
  const text = typeof value === 'number' ? format.number(value) : value;
  return isDays ? t.settings.days(text) : text;
}

function FixedTable({ rows }: { rows: Setting[] }) {
  const view = useView();
  const { fixed: texts, none } = view.t.settings;
  return (
    <Table
      caption={texts.caption}
      rows={rows}
      empty={null}
      columns={[
        { title: texts.columns.name, kind: 'name', cell: ({ variable }) => variable },
        {
          title: texts.columns.value,
          kind: 'long',
          cell: (one) =>
            one.value === null ? none : one.value === '***' ? texts.secretSet : shownValue(one, view),
        },
        {
          title: texts.columns.source,
          cell: ({ source }) => (source === 'environment' ? texts.given : texts.usual),
        },
      ]}
    />
  );
}

function crumbsOf({ view: { t } }: OperatorCall): [string, string][] {
  return [[t.settings.title, '/settings']];
}

function showGroup(call: OperatorCall, form: FormState, all: Setting[], group: FormGroup): PageResponse {
  const { t } = call.view;
  const { settings: texts } = t;
  return {
    page: (
      <FormPage
        title={texts.formTitle[group]}
        nav="settings"
        crumbs={crumbsOf(call)}
        path={`/settings/${group}`}
        form={form}
        submit={t.common.save}
        busy={texts.saving}
        back="/settings"
      >
        {settingsOfGroup(group).map((name) => (
          <SettingField setting={all.find((one) => one.name === name)} name={name} />
        ))}
      </FormPage>
    ),
  };
}

/** The form field of a setting, or its value if an environment variable sets it. */
function SettingField({ name, setting }: { name: EditableName; setting: Setting | undefined }) {
  const view = useView();
  const { settings: texts } = view.t;
  if (setting === undefined) return null;
  const label = texts.names[name];
  const of = EDITABLE[name];
  if (setting.source === 'environment')
    return (
      <div class="fld">
        <strong>{label}</strong>: {shownValue(setting, view)}
        <p class="hint">{texts.isGiven(setting.variable)}</p>
      </div>
    );
  const value = setting.source === 'stored' ? (setting.value ?? '') : '';
  if (of.kind === 'choice')
    return (
      <Select
        name={name}
        label={label}
        hint={texts.hints[name]}
        value={setting.value ?? ''}
        required
        options={of.of.map((one) => ({ value: one, label: CUSTOMERS[one].language.name }))}
      />
    );
  const { kind } = of;
  const usual =
    kind === 'number' && of.fallback !== undefined
      ? ` ${texts.fallback(view.format.number(of.fallback))}`
      : '';
  return (
    <TextField
      name={name}
      label={label}
      hint={`${texts.hints[name]}${usual}`}
      value={value}
      {...(kind === 'number' ? { inputmode: 'numeric' as const } : {})}
      {...(setting.value === null ? {} : { placeholder: String(setting.value) })}
    />
  );
}

/** Returns the submitted settings. An empty field resets its setting to the default. */
function changesOf(
  sent: URLSearchParams,
  names: EditableName[],
): Partial<Record<EditableName, string | null>> {
  return Object.fromEntries(
    names.filter((name) => sent.has(name)).map((name) => [name, sent.get(name)?.trim() || null]),
  );
}

async function saveGroup(call: OperatorCall, sent: URLSearchParams, group: FormGroup): Promise<PageResponse> {
  const body = changesOf(sent, settingsOfGroup(group));
  refuseOtherScheme(call, body.public_url);
  await submitOperation(call, sent, configurationOperations.updateSettings, { body });
  return redirectWithFlash('/settings', 'saved');
}

/**
 * Refuses the same host with another scheme. Otherwise the CSRF check would refuse the next form as one of another
 * site, so that no form could correct the address.
 */
function refuseOtherScheme({ ctx }: OperatorCall, url: string | null | undefined): void {
  if (!url || !URL.canParse(url)) return;
  const { host, origin } = new URL(url);
  if (host === ctx.host && ctx.state.origin !== undefined && origin !== ctx.state.origin)
    throw invalid('public_url', 'This page was opened by another scheme.');
}

function explain(call: OperatorCall, { facts, error: { field } }: ErrorResponse): string | undefined {
  const { t, format } = call.view;
  const { settings: texts } = t;
  switch (facts?.reason) {
    case 'mail-server':
      return texts.mail.refused(describeStored(t.failures.mail, facts.failure), facts.said ?? '');
    case 'in-environment':
      return texts.isGiven(facts.variable);
    case 'no-key-secret':
      return texts.mail.noKeySecret;
    case 'secret-elsewhere':
      return undefined;
    default:
      break;
  }
  if (field === undefined || !isEditable(field)) return undefined;
  const of = EDITABLE[field];
  switch (of.kind) {
    case 'number':
      return texts.wrong.number(format.number(of.min), format.number(of.max));
    case 'text':
      return texts.wrong.text(format.number(of.most));
    case 'url':
      return texts.wrong.url(call.ctx.state.origin ?? `https://${call.ctx.host}`);
    case 'choice':
      return texts.wrong.choice;
    case 'mail':
      return texts.wrong.mail;
  }
}

/** Returns the mail server that the settings store; undefined if they store none. */
function storedServer({ settings: { config } }: OperatorCall) {
  const { mail, stored } = config;
  if (stored.values.mail_url === undefined || mail?.route.kind !== 'smtp') return undefined;
  return { route: mail.route, from: mail.from.address };
}

function showMail(call: OperatorCall, form: FormState, all: Setting[]): PageResponse {
  const { t } = call.view;
  const { mail: texts, saving } = t.settings;
  const isGiven = all.some(({ name, source }) => name === 'mail_url' && source === 'environment');
  const stored = storedServer(call);
  const language = all.find(({ name }) => name === 'mail_language');
  return {
    page: (
      <FormPage
        title={texts.title}
        nav="settings"
        crumbs={crumbsOf(call)}
        path="/settings/mail"
        form={form}
        about={isGiven ? t.settings.isGiven('LICENSING_MAIL_URL') : texts.about}
        submit={isGiven ? t.common.save : texts.submit}
        busy={isGiven ? saving : texts.busy}
        back="/settings"
      >
        {isGiven ? null : <ServerFields stored={stored} />}
        <SettingField name="mail_language" setting={language} />
        {isGiven ? null : <Checkbox name="untried" label={texts.untried} />}
      </FormPage>
    ),
  };
}

function ServerFields({ stored }: { stored: ReturnType<typeof storedServer> }) {
  const { mail: texts } = useView().t.settings;
  const { route, from } = stored ?? {};
  return (
    <>
      <TextField name="host" label={texts.host} hint={texts.hostHint} value={route?.host ?? ''} />
      <Select
        name="tls"
        label={texts.tls}
        value={route?.tls === 'implicit' ? 'smtps' : 'smtp'}
        required
        options={(['smtp', 'smtps'] as const).map((value) => ({ value, label: texts.tlsOptions[value] }))}
      />
      <TextField
        name="port"
        label={texts.port}
        hint={texts.portHint}
        value={route?.port ?? ''}
        inputmode="numeric"
      />
      <TextField name="user" label={texts.user} value={route?.login?.user ?? ''} autocomplete="off" />
      <TextField
        name="password"
        type="password"
        label={texts.password}
        hint={route?.login === undefined ? texts.passwordHint : texts.passwordStays}
        autocomplete="new-password"
      />
      <TextField name="from" type="email" label={texts.from} hint={texts.fromHint} value={from ?? ''} />
    </>
  );
}

async function saveMail(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = {
    ...changesOf(sent, ['mail_language']),
    ...(sent.has('host') ? { mail_url: mailUrlOf(call, sent) } : {}),
    ...(sent.has('untried') ? { untried: true } : {}),
  };
  await submitOperation(call, sent, configurationOperations.updateSettings, { body });
  return redirectWithFlash('/settings', 'saved');
}

function mailUrlOf(call: OperatorCall, sent: URLSearchParams): string | null {
  const text = (name: string) => sent.get(name)?.trim() ?? '';
  const [host, port, user] = [text('host'), text('port'), text('user')];
  if (host === '') return null;
  const typed = sent.get('password') ?? '';
  const isStored = Boolean(storedServer(call)?.route.login?.password);
  const password = typed === '' && isStored ? HIDDEN_PASSWORD : typed;
  return writeMailUrl({
    host,
    port,
    user,
    password,
    isImplicit: text('tls') === 'smtps',
    from: text('from'),
  });
}

function showTest(call: OperatorCall, form: FormState): PageResponse {
  const { test: texts } = call.view.t.settings;
  return {
    page: (
      <FormPage
        title={texts.title}
        nav="settings"
        crumbs={crumbsOf(call)}
        path="/settings/mail/test"
        form={form}
        submit={texts.submit}
        busy={texts.busy}
        back="/settings"
      >
        <TextField name="to" type="email" label={texts.to} autocomplete="email" required />
      </FormPage>
    ),
  };
}

async function sendTest(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = { to: sent.get('to')?.trim() ?? '' };
  const { to, answer } = await submitOperation(call, sent, configurationOperations.sendTestMail, { body });
  return redirectWithFlash('/settings', 'testMailSent', to, answer.slice(0, 200));
}

function explainTest({ view: { t } }: OperatorCall, { facts, status }: ErrorResponse): string | undefined {
  if (facts?.reason === 'mail-refused')
    return t.settings.test.refused(describeStored(t.failures.mail, facts.failure), facts.said ?? '');
  return status === 400 ? t.common.errors.byField.email : undefined;
}

function showPicture(call: OperatorCall, form: FormState): PageResponse {
  const { t } = call.view;
  const { picture: texts } = t.settings;
  const { config } = call.settings;
  const isGiven = Boolean(config.environment.settings.LICENSING_SHOP_LOGO?.trim());
  return {
    page: (
      <OperatorPage title={texts.title} nav="settings" crumbs={crumbsOf(call)}>
        <PageHeader title={texts.title} sub={texts.about} />
        <Panel id="picture" kind="narrow">
          <PanelBody>
            {config.shopLogo === undefined ? null : (
              <p>
                <ShownPicture />
              </p>
            )}
            {isGiven ? (
              <p>{t.settings.isGiven('LICENSING_SHOP_LOGO')}</p>
            ) : (
              <Form path="/settings/picture" form={form} upload>
                <FormErrors form={form} />
                <FileField
                  name="file"
                  label={texts.file}
                  hint={texts.hint}
                  accept="image/png,image/jpeg,image/webp"
                  required
                />
                <p class="acts">
                  <Submit label={texts.submit} />
                  <ButtonLink path="/settings" label={t.common.back} />
                </p>
              </Form>
            )}
          </PanelBody>
        </Panel>
        {config.stored.picture === undefined || isGiven ? null : (
          <div>
            <Form path="/settings/picture/remove" form={form}>
              <Submit kind="quiet" label={texts.remove} />
            </Form>
          </div>
        )}
      </OperatorPage>
    ),
  };
}

async function setPicture(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  await submitOperation(call, sent, configurationOperations.setShopPicture);
  return redirectWithFlash('/settings', 'saved');
}

function removePicture(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  return redirectIfDeleted('/settings', async () => {
    await submitOperation(call, sent, configurationOperations.removeShopPicture);
    return redirectWithFlash('/settings', 'saved');
  });
}
