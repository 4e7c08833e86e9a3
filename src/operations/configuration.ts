import { Type, type TSchema, type TUnsafe } from '@sinclair/typebox';
import { formatTimestampOrNull } from '../base/days';
import { regenerateUpdateXml } from '../joomla/regenerate-update-xml';
import { listCatalogue } from '../licensing/catalogue';
import { isPreset, withStored, type Config } from '../settings/config';
import { ConfigError } from '../base/errors';
import { OperatorError } from '../licensing/operator-error';
import { describeRoute, withStoredPassword } from '../mail/settings';
import { sendTestMail, tryMailServer } from '../mail/test-mail';
import { requireEmail } from '../licensing/customer-email';
import { MAX_UPLOADED_BYTES, UPLOADED_TYPES, uploadedPicture } from '../packages/pictures';
import {
  EDITABLE,
  EDITABLE_NAMES,
  isEditable,
  NOTHING_STORED,
  variableOf,
  type Editable,
  type EditableName,
  type SettingName,
  type StoredSettings,
} from '../settings/names';
import {
  deleteSetting,
  describeDatabase,
  MAIL_TEXT,
  PICTURE,
  readEffective,
  readStoredSettings,
  SETTING_SOURCES,
  sourceOf,
  storeRow,
  storeSetting,
  type StoredSetting,
} from '../settings/stored';
import { invalid, OperationError, notFound } from './kit/failures';
import { mailTextFault } from './mail-texts';
import { list, patch, post, put, remove, type OperationCall } from './kit/operation';
import { bodyReader } from './kit/read-input';
import { strictObject, enumOf, nullable, Text, TextOrNull, TimeOrNull, textEnum } from './kit/schemas';
import { smallUpload } from './kit/upload';

/** The operations on settings. A seller may change some; those of the environment are only shown. */

const VALUES: Record<EditableName, (config: Config) => string | number | null> = {
  shop_name: ({ shopName }) => shopName || null,
  public_url: ({ publicUrl = null }) => publicUrl,
  mail_url: ({ mail }) => (mail === undefined ? null : describeRoute(mail)),
  mail_language: ({ mailLanguage }) => mailLanguage,
  rate_limit: ({ rateLimit }) => rateLimit,
  rate_window: ({ rateWindow }) => rateWindow,
  download_rate_limit: ({ downloadRateLimit }) => downloadRateLimit,
  manage_rate_limit: ({ manageRateLimit }) => manageRateLimit,
  grace_days: ({ graceDays }) => graceDays,
  log_days: ({ logDays }) => logDays,
  token_days: ({ tokenDays }) => tokenDays,
  offline_days: ({ offlineDays }) => offlineDays,
};

/** The settings of the environment, without passwords and secrets. */
const FIXED: Partial<Record<SettingName, (config: Config) => string | number | null>> = {
  database_url: ({ database }) => describeDatabase(database),
  database_connections: ({ databaseConnections }) => databaseConnections,
  joomla_root: ({ joomlaRoot = null }) => joomlaRoot,
  table_prefix: ({ tablePrefix }) => tablePrefix || null,
  redis_url: ({ redisUrls }) => redisUrls.map((url) => new URL(url).host).join(', ') || null,
  listen: ({ listen }) => describeListen(listen),
  admin_listen: ({ adminListen }) => (adminListen === undefined ? null : describeListen(adminListen)),
  trusted_proxies: ({ trustedProxies }) => trustedProxies.join(', '),
  packages_dir: ({ packagesDir }) => packagesDir,
  xml_dir: ({ xmlDir }) => xmlDir,
  accel_location: ({ accelLocation = null }) => accelLocation,
  pages_host: ({ pagesHost = null }) => pagesHost,
  mail_texts_dir: ({ mailTexts }) => mailTexts.own ?? null,
  key_secret: ({ keySecret }) => (keySecret === undefined ? null : '***'),
  webhook_networks: ({ webhookNetworks }) => webhookNetworks.join(', ') || null,
  operator_groups: ({ operatorGroups }) => operatorGroups.join(', '),
  upload_limit: ({ uploadLimit }) => uploadLimit / 1_048_576,
  log_level: ({ logLevel }) => logLevel,
};

function describeListen(listen: Config['listen']): string {
  if ('passenger' in listen) return 'passenger';
  return 'path' in listen ? `unix:${listen.path}` : `${listen.host}:${listen.port}`;
}

const Setting = strictObject(
  {
    name: Text,
    variable: Type.String({
      description: 'The environment variable, which takes precedence over the stored value.',
    }),
    editable: Type.Boolean(),
    value: Type.Unsafe<string | number | null>({
      type: ['string', 'integer', 'null'],
      description: 'The value in effect. A password or secret is shown as `***`.',
    }),
    source: textEnum(SETTING_SOURCES),
    changed_by: TextOrNull,
    changed_at: TimeOrNull,
  },
  { title: 'Setting' },
);

const PICTURE_SOURCES = [...SETTING_SOURCES, 'none'] as const;

/** Lists the current settings from the database and not from memory, so that a change shows at once. */
async function listAll({ db, settings }: Pick<OperationCall, 'db' | 'settings'>) {
  const config = await readEffective(db, settings.config);
  const { rows } = await readStoredSettings(db, settings.keySecret);
  const stored = new Map(rows.map((row) => [row.name, row]));
  return [
    ...EDITABLE_NAMES.map((name) => toThing(config, name, stored.get(name))),
    ...Object.entries(FIXED).map(([name, value]) => ({
      name,
      variable: variableOf(name as SettingName),
      editable: false,
      value: value(config),
      source: isPreset(config, variableOf(name as SettingName)) ? 'environment' : 'default',
      changed_by: null,
      changed_at: null,
    })),
  ];
}

function toThing(config: Config, name: EditableName, row: StoredSetting | undefined) {
  const source = sourceOf(config, name);
  const kept = source === 'stored' ? row : undefined;
  return {
    name,
    variable: variableOf(name),
    editable: true,
    value: VALUES[name](config),
    source,
    changed_by: kept?.changedBy ?? null,
    changed_at: formatTimestampOrNull(kept?.changedAt ?? null),
  };
}

function schemaOf(of: Editable): TSchema {
  switch (of.kind) {
    case 'text':
      return nullable(Type.String({ maxLength: of.most }));
    case 'url':
      return nullable(Type.String({ maxLength: 255 }));
    case 'mail':
      return nullable(
        Type.String({
          maxLength: 1000,
          description:
            'smtp://user:password@host:587?from=shop@example.org, or smtps://. The service first tests the connection. The password `***` stands for the stored one, and is accepted only with the same scheme, host, port and user.',
        }),
      );
    case 'choice':
      return nullable(enumOf(of.of));
    case 'number':
      return nullable(Type.Integer({ minimum: of.min, maximum: of.max }));
  }
}

type Changes = Partial<Record<EditableName, string | number | null>> & { untried?: boolean };

const Changed = strictObject(
  {
    ...Object.fromEntries(EDITABLE_NAMES.map((name) => [name, Type.Optional(schemaOf(EDITABLE[name]))])),
    untried: Type.Optional(
      Type.Boolean({ description: 'Save a mail server even if it cannot be reached now.' }),
    ),
  },
  { description: 'Fields that are not given stay. null restores the default.' },
) as unknown as TUnsafe<Changes>;

const readChanged = bodyReader(Changed);

/** Stores settings if the service could start with them. A new address is also written into every update XML. */
async function change(call: OperationCall<unknown, Changes>): Promise<void> {
  const { db, body, settings, context } = call;
  const { untried = false, ...given } = body;
  const changes = Object.entries(given).map(([name, value]): [EditableName, string | null] => [
    name as EditableName,
    readValue(value),
  ]);
  for (const [name] of changes) refuseGiven(settings.config, name);
  const { stored } = await readStoredSettings(db, settings.keySecret);
  for (const change of changes)
    if (change[0] === 'mail_url' && change[1] !== null)
      change[1] = withStoredPassword(change[1], stored.values.mail_url);
  const config = tryOut(settings.config, stored, changes);
  if (given.mail_url !== undefined && readValue(given.mail_url) !== null)
    await tryMail(config, untried, settings);
  for (const [name, value] of changes)
    await storeSetting(db, name, value, { ...context, keySecret: settings.keySecret });
  await settings.refresh();
  if (given.public_url === undefined) return;
  const home = await readEffective(db, settings.config);
  for (const { id } of await listCatalogue(db))
    await regenerateUpdateXml(db, home, id, { own: settings.ownFiles });
}

function readValue(value: string | number | null): string | null {
  return value === null ? null : String(value).trim() || null;
}

function refuseGiven(config: Config, name: EditableName): void {
  const variable = variableOf(name);
  if (isPreset(config, variable))
    throw new OperatorError(
      `${name} is set by ${variable} in the environment or in the settings file, which takes precedence. To set it here, remove it there and restart the service.`,
      { code: 'CONFLICT', field: name, facts: { reason: 'in-environment', variable } },
    );
}

/** Checks the changed settings. @throws OperationError with the field whose value cannot be used */
function tryOut(
  config: Config,
  stored: StoredSettings,
  changes: (readonly [EditableName, string | null])[],
): Config {
  let tried: StoredSettings = stored;
  for (const [name, value] of changes) {
    const { [name]: _before, ...others } = tried.values;
    tried = { ...tried, values: value === null ? others : { ...others, [name]: value } };
    try {
      withStored(config, tried);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw invalid(name, error.message.replaceAll(variableOf(name), name));
    }
  }
  return withStored(config, tried);
}

async function tryMail(
  { mail }: Config,
  untried: boolean,
  settings: OperationCall['settings'],
): Promise<void> {
  if (mail === undefined) return;
  // Refuse a file or folder of the machine, which a user of a browser must not choose.
  if (mail.route.kind !== 'smtp' || mail.route.ca !== undefined)
    throw invalid(
      'mail_url',
      'It must begin with smtp:// or smtps://, without "ca". To use a folder or a CA of your own, set LICENSING_MAIL_URL in the environment.',
    );
  if (!untried)
    await tryMailServer(mail, { field: 'mail_url', gainsNoRights: await settings.mailGainsNoRights() });
}

/**
 * Explains why a setting of an export file cannot be stored, by the checks of the operations; undefined if it can. It
 * refuses a mail server, because a copy on another machine must not send mails to the customers.
 */
export function fileSettingFault(config: Config, name: string, value: string): string | undefined {
  if (name === PICTURE) {
    const bytes = Buffer.from(value, 'base64');
    return bytes.length <= MAX_UPLOADED_BYTES && uploadedPicture(bytes)
      ? undefined
      : 'It must be a PNG, JPEG or WebP picture of at most 256 KiB.';
  }
  if (name.startsWith(MAIL_TEXT)) return mailTextFault(name.slice(MAIL_TEXT.length), value);
  if (!isEditable(name)) return 'There is no such setting.';
  if (name === 'mail_url') return 'The mail server is not set in a file. Set it here.';
  try {
    const isNumber = EDITABLE[name].kind === 'number' && /^\d+$/.test(value);
    readChanged({ [name]: isNumber ? Number(value) : value });
    tryOut(config, NOTHING_STORED, [[name, value]]);
    return undefined;
  } catch (error) {
    if (error instanceof OperationError) return error.message;
    throw error;
  }
}

const PictureThing = strictObject(
  { type: TextOrNull, bytes: Type.Integer({ minimum: 0 }), source: textEnum(PICTURE_SOURCES) },
  { title: 'ShopPicture' },
);

function pictureThing(config: Config) {
  const { shopLogo } = config;
  const source = isPreset(config, 'LICENSING_SHOP_LOGO') ? 'environment' : shopLogo ? 'stored' : 'none';
  return { type: shopLogo?.type ?? null, bytes: shopLogo?.bytes.length ?? 0, source };
}

function refusePictureGiven(config: Config): void {
  if (isPreset(config, 'LICENSING_SHOP_LOGO'))
    throw new OperatorError(
      'The picture is set by LICENSING_SHOP_LOGO in the environment or in the settings file, which takes precedence.',
      { code: 'CONFLICT', facts: { reason: 'in-environment', variable: 'LICENSING_SHOP_LOGO' } },
    );
}

export const configurationOperations = {
  listSettings: list(
    '/settings',
    { summary: 'List the settings in effect, without secrets', data: Setting },
    async (call) => ({ data: await listAll(call), next: null }),
  ),
  updateSettings: patch(
    '/settings',
    {
      summary: 'Change settings while the service runs',
      description:
        'Every instance and the command use the new values within two seconds. A setting that an environment variable or the settings file sets is refused (409). The service first tests the connection to a mail server.',
      body: Changed,
      data: Type.Array(Setting),
      hasDeadline: false,
    },
    async (call) => {
      await change(call);
      return { data: (await listAll(call)).filter(({ name }) => Object.hasOwn(call.body, name)) };
    },
  ),
  setShopPicture: put(
    '/settings/picture',
    {
      summary: "Set the picture on the customers' pages",
      description: 'A PNG, JPEG or WebP of at most 256 KiB, as the body or as the part `file` of a form.',
      upload: {
        types: [...UPLOADED_TYPES],
        rules: () => smallUpload(MAX_UPLOADED_BYTES),
      },
      data: PictureThing,
    },
    async (call: OperationCall<unknown, { file?: Buffer }>) => {
      const { db, body, settings, context } = call;
      refusePictureGiven(settings.config);
      if (body.file === undefined) throw invalid('file', 'The picture is missing: the part "file".');
      if (uploadedPicture(body.file) === undefined)
        throw invalid('file', 'The file is not a PNG, JPEG or WebP picture.');
      await storeRow(db, PICTURE, { value: body.file.toString('base64'), valueSealed: null }, context);
      await settings.refresh();
      return { data: pictureThing(await readEffective(db, settings.config)) };
    },
  ),
  removeShopPicture: remove(
    '/settings/picture',
    { summary: 'Remove the picture that was set here' },
    async ({ db, settings }) => {
      if (!(await deleteSetting(db, PICTURE))) throw notFound('picture');
      await settings.refresh();
      return pictureThing(await readEffective(db, settings.config));
    },
  ),
  sendTestMail: post(
    '/settings/test-mail',
    {
      summary: "Send a test mail at once, and return the mail server's answer",
      body: strictObject({ to: Type.String({ description: 'An e-mail address.' }) }),
      data: strictObject({ to: Text, from: Text, answer: Text }, { title: 'TestMail' }),
      hasDeadline: false,
    },
    async ({ db, body, settings }) => {
      const config = await readEffective(db, settings.config);
      const to = requireEmail(body.to);
      return { data: await sendTestMail(config, to, await settings.mailGainsNoRights()) };
    },
  ),
};
