import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { noProduct, requireProduct } from '../licensing/find-or-refuse';
import {
  compareVersions,
  isPrerelease,
  stabilityOf,
  STABILITIES,
  type Stability,
} from '../licensing/versions';
import {
  lookAt,
  makeFolder,
  replaceFile,
  requireReplaceable,
  type FileKind,
  type OwnFile,
  type Place,
} from '../packages/replace-file';
import {
  findUpdateXmlSettings,
  listUpdateXmlSettings,
  lockProduct,
  setProduct,
  setUpdateXmlSettings,
  type Product,
} from '../store/catalogue';
import type { Db } from '../store/database';
import { listPublishedVersions, listReleases, type Release } from '../store/releases';
import { inTransaction } from '../store/transaction';
import { API_PATH } from '../api';
import { downloadAddress, requireWebAddress, siteFolder } from './addresses';
import {
  clientOfType,
  EXTENSION_CLIENTS,
  EXTENSION_TYPES,
  typeOfElement,
  type ExtensionClient,
  type ExtensionType,
} from './extension-types';
import { nameInJoomla } from './manifest';
import {
  coversPlatform,
  DEFAULT_TARGET_PLATFORM,
  findPatternFault,
  MATCH_A_MAJOR,
  MATCH_A_MINOR,
  overlapsPlatform,
} from './target-platform';
import { escapeAttribute, escapeXml } from './xml';

export const DATABASES = ['mysql', 'mariadb', 'postgresql'] as const;
export type DatabaseMinimums = Partial<Record<(typeof DATABASES)[number], string>>;

/** The oldest PHP that Joomla 4 supports. */
export const DEFAULT_PHP_MINIMUM = '7.2.5';

interface Requirements {
  targetPlatform: string;
  phpMinimum: string;
  supportedDatabases: DatabaseMinimums;
}

interface Settings extends Requirements {
  baseUrl: string;
  out: string;
  infoUrl: string;
  infoTitle: string;
  description: string;
  type: ExtensionType;
  client: ExtensionClient;
  folder: string;
}

/** Stored for each product: the options given so far, and each version's requirements when it was last considered. */
interface Remembered extends Partial<Settings> {
  /**
   * Its name in LICENSING_XML_DIR, where it was written without `out`. Another element does not change it, because
   * customers' sites ask for it by this name.
   */
  file?: string;
  versions?: Record<string, Requirements & { tag?: Stability; notOffered?: true; downgradeAllowed?: true }>;
}

export type GivenSettings = { [K in keyof Settings]?: Settings[K] | undefined } & {
  /** Joomla's name of the extension; also stored as the product's own */
  element?: string | undefined;
  /** for the highest version only, instead of the tag its version number implies */
  tag?: Stability | undefined;
  /** offer versions below those already withdrawn; stored with the withdrawn versions */
  allowDowngrade?: boolean | undefined;
};

export interface WrittenUpdate extends Requirements {
  version: string;
  tag: Stability;
}

export interface WrittenXml {
  out: string;
  /** where customers' sites ask for it; null: not known */
  url: string | null;
  xml: string;
  updates: WrittenUpdate[];
  /** versions left out because the higher version `withdrawn` was withdrawn, the highest first */
  heldBack: { versions: string[]; withdrawn: string } | undefined;
  /** the file written before, if it differs and still exists */
  leftBehind: string | undefined;
  /** the element, if it was assumed to be a package's because neither its prefix nor an option gives its type */
  assumedPackage: string | undefined;
}

/** Where update XMLs go that were not given a file of their own, and what the addresses are. */
export interface XmlHome {
  /** LICENSING_XML_DIR */
  xmlDir: string;
  /** LICENSING_PUBLIC_URL; undefined: XMLs without a file of their own are not written */
  publicUrl: string | undefined;
  /** the site's folder, whose files it serves */
  joomlaRoot?: string | undefined;
}

/** The web server serves LICENSING_XML_DIR below this path of the site. */
export const XML_PATH = '/licensing-updates/';

/**
 * Writes a product's update XML and stores the given settings; an empty text clears one. A relative `out` starts at
 * `cwd`, and files of `own` are never overwritten.
 *
 * All of it happens under the lock of the product's row: of two writers at the same time, the later one reads the
 * releases after the earlier one has renamed its file, so the file that stays has the changes of both.
 * @throws OperatorError with nothing written or stored
 */
export function writeUpdateXml(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  own: OwnFile[] = [],
  home?: XmlHome,
): Promise<WrittenXml> {
  return inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    const planned = await planUpdateXml(trx, productId, given, cwd, home);
    const { product, out, url, xml, remember, remembered } = planned;
    if (planned.file !== undefined) await makeFolder(dirname(out));
    const place = await requirePlace(out, own);
    // The web server must be able to read it. The operator may restrict other readers.
    await replaceFile(place, (place.there?.mode ?? 0) & 0o777 || 0o644, (sink) => sink(xml));
    if (given.element !== undefined) await setProduct(trx, productId, { element: product.element });
    await setUpdateXmlSettings(trx, productId, JSON.stringify(remember));
    const before =
      remembered.out ?? (remembered.file && home ? join(home.xmlDir, remembered.file) : undefined);
    return {
      out,
      url,
      xml,
      leftBehind: await findLeftBehind(before, place),
      assumedPackage: planned.assumedPackage,
      heldBack: planned.heldBack,
      updates: planned.updates,
    };
  });
}

export interface PlannedXml extends Omit<WrittenXml, 'leftBehind'> {
  product: KnownProduct;
  /** the name in LICENSING_XML_DIR; undefined: the file lies elsewhere */
  file: string | undefined;
  remembered: Remembered;
  remember: Remembered;
}

/** What `writeUpdateXml` would write now. @throws OperatorError */
export async function planUpdateXml(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  home: XmlHome | undefined,
): Promise<PlannedXml> {
  const known = await readSettings(db, productId, given, cwd, home);
  const { product, settings, remembered, file } = known;
  const releases = await listReleases(db, productId);
  const published = releases.filter(({ state }) => state === 'published');
  const withdrawn = releases.filter(
    ({ state, version }) => state === 'withdrawn' && remembered.versions?.[version] !== undefined,
  );
  const suitable = updatesThatMatter(published, withdrawn, settings, remembered, given.tag);
  const gone = withdrawn
    .map((release) => withdrawnUpdate(release, settings, remembered, given.allowDowngrade))
    // A site that lists the withdrawn version installs the higher one instead.
    .filter((one) => !suitable.some((update) => isAbove(update, one) && covers(update, one)));
  const standing = gone.filter(({ downgradeAllowed }) => !downgradeAllowed);
  // Write even an empty XML, so that the last withdrawn version is no longer offered.
  const updates = suitable.filter((update) => !standing.some((one) => holdsBack(one, update)));
  const place = file === undefined ? { out: settings.out } : { file };
  return {
    product,
    out: settings.out,
    url: home === undefined ? null : addressOf(settings.out, settings.baseUrl, home),
    file,
    xml: renderUpdateXml(product, settings, updates),
    remembered,
    remember: toRemember(remembered, given, place, [...suitable, ...gone], updates),
    assumedPackage: known.isTypeAssumed ? product.element : undefined,
    heldBack: describeHeldBack(suitable, updates, standing),
    updates: updates.map(({ release, ...written }) => ({ version: release.version, ...written })),
  };
}

/**
 * The file of a product's update XML and its address, null where that is not known. Undefined: it has no element, or
 * neither a file of its own nor LICENSING_PUBLIC_URL.
 */
export async function findXmlPlace(
  db: Db,
  { id, element }: Pick<Product, 'id' | 'element'>,
  home: XmlHome,
): Promise<{ out: string; url: string | null } | undefined> {
  if (element === null) return undefined;
  const { out, file = `${element}.xml`, baseUrl } = await findRemembered(db, id);
  if (out === undefined && home.publicUrl === undefined) return undefined;
  const path = out ?? join(home.xmlDir, basename(file));
  return { out: path, url: addressOf(path, baseUrl ?? home.publicUrl, home) };
}

function addressOf(
  out: string,
  baseUrl: string | undefined,
  { xmlDir, publicUrl, joomlaRoot }: XmlHome,
): string | null {
  if (dirname(out) === xmlDir)
    return publicUrl === undefined ? null : publicUrl + XML_PATH + encodeURIComponent(basename(out));
  if (joomlaRoot === undefined || baseUrl === undefined) return null;
  const path = relative(joomlaRoot, out);
  if (path.startsWith('..') || isAbsolute(path)) return null;
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

async function findLeftBehind(before: string | undefined, { target }: Place): Promise<string | undefined> {
  if (before === undefined) return undefined;
  const earlier = await lookAt(before);
  return earlier.there && earlier.target !== target ? before : undefined;
}

/** A product's published versions that are not held back, the highest first. */
export async function listOfferedVersions(db: Db, productId: number): Promise<string[]> {
  const published = await listPublishedVersions(db, productId);
  const { versions = {} } = await findRemembered(db, productId);
  const notOffered = Object.keys(versions).filter((version) => {
    const { notOffered: isOut, downgradeAllowed } = versions[version] ?? {};
    return isOut && !downgradeAllowed;
  });
  return published.filter((version) => isLeftOut(version, notOffered));
}

/** Whether an update XML has neither a version nor a higher one. A pre-release does not replace a release. */
export function isLeftOut(version: string, offered: string[]): boolean {
  return !offered.some(
    (other) =>
      compareVersions(other, version) >= 0 &&
      (other === version || isPrerelease(version) || !isPrerelease(other)),
  );
}

/** The options of a product's update XML as JSON in snake_case; null: the default. */
export interface XmlOptions {
  description: string | null;
  info_url: string | null;
  info_title: string | null;
  target_platform: string | null;
  php_minimum: string | null;
  supported_databases: DatabaseMinimums | null;
  /** of the highest published version */
  tag: Stability | null;
  type: ExtensionType | null;
  client: ExtensionClient | null;
  folder: string | null;
}

/** @throws OperatorError when there is no such product */
export async function readUpdateXmlOptions(db: Db, productId: number): Promise<XmlOptions> {
  await requireProduct(db, productId);
  const remembered = await findRemembered(db, productId);
  const [highest] = await listPublishedVersions(db, productId);
  return {
    description: remembered.description ?? null,
    info_url: remembered.infoUrl ?? null,
    info_title: remembered.infoTitle ?? null,
    target_platform: remembered.targetPlatform ?? null,
    php_minimum: remembered.phpMinimum ?? null,
    supported_databases: remembered.supportedDatabases ?? null,
    tag: (highest === undefined ? undefined : remembered.versions?.[highest]?.tag) ?? null,
    type: remembered.type ?? null,
    client: remembered.client ?? null,
    folder: remembered.folder ?? null,
  };
}

/**
 * Stores options of a product's update XML, judged as those of `update-xml write`: undefined keeps one, null or an
 * empty text clears it. The file follows with `followUpdateXml`.
 * @throws OperatorError that names the option; nothing is stored then
 */
export function setUpdateXmlOptions(
  db: Db,
  productId: number,
  options: { [K in keyof XmlOptions]?: XmlOptions[K] | '' | undefined },
): Promise<XmlOptions> {
  return inTransaction(db, async (trx) => {
    const product = (await lockProduct(trx, productId)) ?? noProduct(productId);
    const { tag } = options;
    refuseUnknown('type', options.type, EXTENSION_TYPES);
    refuseUnknown('client', options.client, EXTENSION_CLIENTS);
    refuseUnknown('tag', tag, STABILITIES);
    const cleared = <T>(value: T | null | undefined) => (value === null ? ('' as const) : value);
    const given = {
      description: cleared(options.description),
      infoUrl: cleared(options.info_url),
      infoTitle: cleared(options.info_title),
      targetPlatform: cleared(options.target_platform),
      phpMinimum: cleared(options.php_minimum),
      supportedDatabases: cleared(options.supported_databases),
      type: cleared(options.type),
      client: cleared(options.client),
      folder: cleared(options.folder),
    };
    const { versions = {}, ...before } = await findRemembered(trx, productId);
    const said = Object.entries({ ...before, ...withoutUndefined(given) }).filter(
      ([, value]) => value !== '',
    );
    const changed = Object.fromEntries(said) as Remembered;
    refuseOptions(changed, product.element);
    const tagged =
      tag === undefined ? versions : await withTag(trx, productId, versions, changed, tag || null);
    await setUpdateXmlSettings(trx, productId, JSON.stringify({ ...changed, versions: tagged }));
    return readUpdateXmlOptions(trx, productId);
  });
}

function refuseUnknown(field: string, value: unknown, known: readonly string[]): void {
  if (value !== undefined && value !== null && value !== '' && !known.includes(value as string))
    throw refusedOption(field, `It must be one of ${known.join(', ')}.`);
}

function refuseOptions(options: Remembered, element: string | null): void {
  const type = options.type ?? (element === null ? undefined : (typeOfElement(element) ?? 'package'));
  const { targetPlatform, phpMinimum, infoUrl, folder = '', supportedDatabases = {} } = options;
  if (type !== undefined) {
    if (options.client === undefined) defaultClient(type);
    refuseFolder(type, folder);
  }
  if (targetPlatform !== undefined) refusePattern(targetPlatform);
  if (phpMinimum !== undefined) refusePhp(phpMinimum);
  if (infoUrl !== undefined) refuseInfoUrl(infoUrl);
  for (const [name, version] of Object.entries(supportedDatabases))
    if (!(DATABASES as readonly string[]).includes(name) || !/^[0-9][0-9A-Za-z.+-]*$/.test(version))
      throw refusedOption(
        'supported_databases',
        `It must give the least version of some of ${DATABASES.join(', ')}, as 8.0.13.`,
      );
}

/** Sets or clears the tag of the highest published version. */
async function withTag(
  db: Db,
  productId: number,
  versions: NonNullable<Remembered['versions']>,
  { targetPlatform, phpMinimum, supportedDatabases }: Remembered,
  tag: Stability | null,
): Promise<Remembered['versions']> {
  const [highest] = await listPublishedVersions(db, productId);
  if (highest === undefined) {
    if (tag === null) return versions;
    throw refusedOption('tag', 'It is of the highest published version, and none is published.');
  }
  const known: NonNullable<Remembered['versions']>[string] = versions[highest] ?? {
    targetPlatform: targetPlatform ?? DEFAULT_TARGET_PLATFORM,
    phpMinimum: phpMinimum ?? DEFAULT_PHP_MINIMUM,
    supportedDatabases: supportedDatabases ?? {},
    // Until the XML is written with it.
    notOffered: true as const,
  };
  const tagged = { ...known };
  if (tag === null) delete tagged.tag;
  else tagged.tag = tag;
  return { ...versions, [highest]: tagged };
}

async function findRemembered(db: Db, productId: number): Promise<Remembered> {
  return JSON.parse((await findUpdateXmlSettings(db, productId)) ?? '{}') as Remembered;
}

/** A product as sites have it installed: the columns of Joomla's #__extensions, and the site that it is downloaded from. */
export interface InstalledProduct {
  id: number;
  name: string;
  element: string;
  type: ExtensionType;
  client: ExtensionClient;
  /** of a plugin; otherwise empty */
  folder: string;
  /** without a slash at the end */
  baseUrl: string;
  /** the site in the update XML's download addresses, where it is another */
  otherBaseUrl: string | undefined;
}

/**
 * @param baseUrl undefined: LICENSING_PUBLIC_URL, or else the one remembered for the update XML
 * @throws OperatorError that says what is missing
 */
export async function readInstalledProduct(
  db: Db,
  productId: number,
  baseUrl: string | undefined,
  { publicUrl }: Pick<XmlHome, 'publicUrl'>,
): Promise<InstalledProduct> {
  const { id, name, element } = await requireProduct(db, productId);
  if (element === null)
    throw new OperatorError(
      'Joomla finds the extension by its element, and this product has none. Set it first, as pkg_example.',
      { code: 'INVALID_REQUEST' },
    );
  const remembered = await findRemembered(db, productId);
  const known = baseUrl ?? publicUrl ?? (remembered.baseUrl || undefined);
  if (known === undefined)
    throw new OperatorError(
      'The address of the site is not known. Set LICENSING_PUBLIC_URL, or name it once: --base-url https://shop.example',
      { code: 'INVALID_REQUEST', field: 'base_url' },
    );
  const said = readBaseUrl(known);
  if (!said.startsWith('https://'))
    throw new OperatorError(
      `Sites must download over https, because the address contains the licence key. ${said} is not https.`,
      { code: 'INVALID_REQUEST', field: 'base_url' },
    );
  const type = remembered.type || typeOfElement(element) || 'package';
  const client = remembered.client || defaultClient(type);
  const folder = remembered.folder ?? '';
  refuseFolder(type, folder);
  const inXml = baseUrl ?? (remembered.baseUrl || publicUrl);
  const otherBaseUrl = inXml === undefined || readBaseUrl(inXml) === said ? undefined : readBaseUrl(inXml);
  return { id, name, element, type, client, folder, baseUrl: said, otherBaseUrl };
}

/** Stores the site's address for the update XML, as `update-xml write --base-url` does. @throws OperatorError */
export function rememberBaseUrl(db: Db, productId: number, text: string): Promise<void> {
  const baseUrl = readBaseUrl(text);
  return inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    const remembered = await findRemembered(trx, productId);
    await setUpdateXmlSettings(trx, productId, JSON.stringify({ ...remembered, baseUrl }));
  });
}

/** Refuses what `writeUpdateXml` would refuse, before anything else is done. */
export async function requireUpdateXmlSettings(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  own: OwnFile[],
  home?: XmlHome,
): Promise<void> {
  const { settings } = await readSettings(db, productId, given, cwd, home);
  await requirePlace(settings.out, own);
}

/** Any update XML that Joomla can read. */
const UPDATE_XML: FileKind = {
  name: 'an update XML',
  isOne: (beginning) => /^\s*(?:(?:<\?[^>]*>|<!--(?:(?!-->)[^])*-->)\s*)*<updates[\s/>]/.test(beginning),
};

async function requirePlace(out: string, own: OwnFile[]): Promise<Place> {
  const place = await lookAt(out);
  const { there } = place;
  // Replacing a device or a pipe with a file would break it.
  if (there && !there.isFile() && !there.isDirectory())
    throw new OperatorError(`${out} is no file, and is not replaced by one. Name a file with --out.`);
  await requireReplaceable(place, own, UPDATE_XML);
  return place;
}

interface KnownProduct extends Product {
  element: string;
}

async function readSettings(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  home: XmlHome | undefined,
): Promise<{
  product: KnownProduct;
  settings: Settings;
  file: string | undefined;
  remembered: Remembered;
  isTypeAssumed: boolean;
}> {
  const product = await requireProduct(db, productId);
  const remembered = await findRemembered(db, productId);
  const element = given.element || product.element;
  if (!element)
    throw new OperatorError(
      "Joomla finds the extension by its element. Name it with --element, as pkg_example; it stays the product's.",
    );
  const said = <K extends keyof Settings>(name: K): Settings[K] | undefined => {
    const value = given[name] ?? remembered[name];
    return value === '' ? undefined : (value as Settings[K] | undefined);
  };
  const baseUrl = readBaseUrl(said('baseUrl') ?? home?.publicUrl);
  const own = given.out === undefined || given.out === '' ? said('out') : resolve(cwd, given.out);
  const file = own === undefined ? await homeFile(db, { ...product, element }, remembered, home) : undefined;
  const out = own ?? (file === undefined ? undefined : join(home?.xmlDir ?? '', file));
  if (out === undefined)
    throw new OperatorError('Name the file to write with --out. It is remembered for the next time.');
  const knownType = said('type') ?? typeOfElement(element);
  const type = knownType ?? 'package';
  const settings: Settings = {
    baseUrl,
    out,
    infoUrl: said('infoUrl') ?? baseUrl,
    infoTitle: said('infoTitle') ?? product.name,
    description: said('description') ?? product.name,
    type,
    client: said('client') ?? defaultClient(type),
    folder: said('folder') ?? '',
    targetPlatform: said('targetPlatform') ?? DEFAULT_TARGET_PLATFORM,
    phpMinimum: said('phpMinimum') ?? DEFAULT_PHP_MINIMUM,
    supportedDatabases: said('supportedDatabases') ?? {},
  };
  refuseUseless(settings);
  return {
    product: { ...product, element },
    settings,
    file,
    remembered,
    isTypeAssumed: knownType === undefined,
  };
}

/** The name in LICENSING_XML_DIR. @throws OperatorError when another product's update XML has it */
async function homeFile(
  db: Db,
  { id, element }: KnownProduct,
  remembered: Remembered,
  home: XmlHome | undefined,
): Promise<string | undefined> {
  if (home?.publicUrl === undefined) return undefined;
  // From an import, both may be any text.
  if (remembered.file !== undefined) return basename(remembered.file);
  const file = basename(`${element}.xml`);
  const out = join(home.xmlDir, file);
  const taken = (await listUpdateXmlSettings(db)).find(({ productId, json }) => {
    const other = JSON.parse(json) as Remembered;
    return productId !== id && (other.out ?? (other.file && join(home.xmlDir, other.file))) === out;
  });
  if (taken === undefined) return file;
  throw new OperatorError(
    `${out} is the update XML of product ${taken.productId} already, whose customers ask for it by this name.`,
    { facts: { reason: 'xml-of-another', product: id } },
  );
}

function readBaseUrl(text: string | undefined): string {
  if (text === undefined)
    throw new OperatorError(
      "Name the site's address with --base-url, as https://shop.example. It is remembered for the next time.",
    );
  const url = requireWebAddress(text, 'The base address');
  if (/[?#]/.test(text)) throw new OperatorError('The base address must not have a "?" or "#".');
  const path = url.pathname.replace(/\/+$/, '').replace(new RegExp(`${API_PATH}$`), '');
  const folder = siteFolder(path);
  if (path !== folder)
    throw new OperatorError(
      `The base address is the site's alone: what follows it, ${API_PATH}/, is added. Write --base-url ${url.origin}${folder}`,
    );
  return url.origin + path;
}

function defaultClient(type: ExtensionType): ExtensionClient {
  const client = clientOfType(type);
  if (client === undefined)
    throw refusedOption(
      'client',
      `A ${type} is one of the site or of the administrator: say --client site or --client administrator.`,
    );
  return client;
}

function refuseUseless({ type, folder, targetPlatform, phpMinimum, infoUrl }: Settings): void {
  refuseFolder(type, folder);
  refusePattern(targetPlatform);
  refusePhp(phpMinimum);
  refuseInfoUrl(infoUrl);
}

function refusedOption(field: string, message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}

function refuseFolder(type: ExtensionType, folder: string): void {
  if (type === 'plugin' && folder === '')
    throw refusedOption(
      'folder',
      'Joomla finds a plugin by its folder (its group): say --folder, as --folder system.',
    );
  if (type !== 'plugin' && folder !== '')
    throw refusedOption('folder', `Only plugins have a folder; Joomla would not find a ${type} with one.`);
}

function refusePhp(phpMinimum: string): void {
  if (!isPhpVersion(phpMinimum))
    throw refusedOption('php_minimum', `"${phpMinimum}" is no PHP version; write it as 8.1 or 8.1.2.`);
}

function refuseInfoUrl(infoUrl: string): void {
  requireWebAddress(infoUrl, 'The info address', 'info_url');
}

function refusePattern(pattern: string): void {
  const refuse = (message: string) => refusedOption('target_platform', message);
  const found = findPatternFault(pattern);
  switch (found?.fault) {
    case 'runaway':
      throw refuse(`The target platform is too long, or repeats too much, to be tried. ${MATCH_A_MAJOR}`);
    case 'no-expression':
      throw refuse(`The target platform "${pattern}" is no regular expression. ${MATCH_A_MAJOR}`);
    case 'accidents':
      throw refuse(
        `The target platform "${pattern}" also matches Joomla ${found.accidents[0] ?? ''}: Joomla ties it to the beginning only. ${MATCH_A_MINOR}`,
      );
  }
}

/** Whether a text is a plain PHP version number. */
export function isPhpVersion(text: string): boolean {
  return /^[0-9]+(\.[0-9]+)*$/.test(text);
}

interface PlannedUpdate extends Requirements {
  release: Release;
  tag: Stability;
  /** for a withdrawn version: lower versions may be offered */
  downgradeAllowed?: true;
}

/**
 * The published versions some site is offered, the highest first: the latest release, a newer pre-release, and older
 * versions for a Joomla, PHP or database that newer ones do not support. `withdrawn` were offered before.
 */
function updatesThatMatter(
  releases: Release[],
  withdrawn: Release[],
  settings: Settings,
  { versions = {} }: Remembered,
  tag: Stability | undefined,
): PlannedUpdate[] {
  const proper = [...releases, ...withdrawn].filter(({ version }) => !isPrerelease(version));
  const planned: PlannedUpdate[] = [];
  for (const [i, release] of releases.entries()) {
    const { version } = release;
    const known = versions[version];
    // New settings apply to the newest version; older versions keep the settings they were written with.
    const current = proper.every((other) => compareVersions(version, other.version) >= 0);
    const { targetPlatform, phpMinimum, supportedDatabases } = current ? settings : (known ?? settings);
    const update: PlannedUpdate = {
      release,
      tag: (i === 0 ? tag : undefined) ?? known?.tag ?? stabilityOf(version),
      targetPlatform,
      phpMinimum,
      supportedDatabases,
    };
    if (!planned.some((newer) => covers(newer, update))) planned.push(update);
  }
  return planned;
}

function withdrawnUpdate(
  release: Release,
  { targetPlatform, phpMinimum, supportedDatabases }: Settings,
  { versions = {} }: Remembered,
  allowDowngrade = false,
): PlannedUpdate {
  const { version } = release;
  return {
    release,
    targetPlatform,
    phpMinimum,
    supportedDatabases,
    tag: stabilityOf(version),
    ...versions[version],
    ...(allowDowngrade ? { downgradeAllowed: true } : {}),
  };
}

/**
 * Whether a withdrawn version keeps a lower one from being offered. A site that still lists the withdrawn version
 * installs the one it then finds without comparing it with the installed one (UpdateModel::update). Too few sites list
 * a pre-release for it to hold a release back.
 */
function holdsBack(withdrawn: PlannedUpdate, update: PlannedUpdate): boolean {
  return (
    isAbove(withdrawn, update) &&
    STABILITIES.indexOf(withdrawn.tag) >= STABILITIES.indexOf(update.tag) &&
    overlapsPlatform(withdrawn.targetPlatform, update.targetPlatform)
  );
}

function describeHeldBack(
  suitable: PlannedUpdate[],
  updates: PlannedUpdate[],
  [highest]: PlannedUpdate[],
): WrittenXml['heldBack'] {
  const heldBack = suitable.filter((update) => !updates.includes(update));
  if (highest === undefined || heldBack.length === 0) return undefined;
  return {
    versions: heldBack.map(({ release }) => release.version),
    withdrawn: highest.release.version,
  };
}

function isAbove(one: PlannedUpdate, other: PlannedUpdate): boolean {
  return compareVersions(one.release.version, other.release.version) > 0;
}

/** Whether every site that may have the older version may also have the newer one. */
function covers(newer: PlannedUpdate, older: PlannedUpdate): boolean {
  return (
    STABILITIES.indexOf(newer.tag) >= STABILITIES.indexOf(older.tag) &&
    coversPlatform(newer.targetPlatform, older.targetPlatform) &&
    compareVersions(newer.phpMinimum, older.phpMinimum) <= 0 &&
    coversDatabases(newer.supportedDatabases, older.supportedDatabases)
  );
}

function coversDatabases(newer: DatabaseMinimums, older: DatabaseMinimums): boolean {
  if (Object.keys(newer).length === 0) return true;
  return (
    Object.keys(older).length > 0 &&
    DATABASES.every((name) => {
      const [needed, before] = [newer[name], older[name]];
      return before === undefined || (needed !== undefined && compareVersions(needed, before) <= 0);
    })
  );
}

/** The given settings, now or before. Defaults are not stored, because their sources may change. */
function toRemember(
  { versions: known = {}, ...before }: Remembered,
  { element: _element, tag: givenTag, allowDowngrade: _once, ...given }: GivenSettings,
  place: Pick<Remembered, 'out' | 'file'>,
  planned: PlannedUpdate[],
  offered: PlannedUpdate[],
): Remembered {
  const said = Object.entries({ ...before, ...withoutUndefined(given), out: '', file: '', ...place });
  const versions = planned.map((update, i) => {
    const { release, tag, targetPlatform, phpMinimum, supportedDatabases, downgradeAllowed } = update;
    const tagged = (i === 0 && givenTag !== undefined) || known[release.version]?.tag !== undefined;
    const written = {
      targetPlatform,
      phpMinimum,
      supportedDatabases,
      ...(tagged ? { tag } : {}),
      ...(offered.includes(update) ? {} : { notOffered: true as const }),
      ...(downgradeAllowed ? { downgradeAllowed } : {}),
    };
    return [release.version, written] as const;
  });
  return {
    ...Object.fromEntries(said.filter(([, value]) => value !== '')),
    versions: Object.fromEntries(versions),
  };
}

function withoutUndefined<T extends object>(given: T): T {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
}

function renderUpdateXml(
  { id, name, element }: KnownProduct,
  settings: Settings,
  updates: PlannedUpdate[],
): string {
  const { baseUrl, infoUrl, infoTitle, description, type, client, folder } = settings;
  const lines = updates.flatMap(({ release, tag, targetPlatform, phpMinimum, supportedDatabases }) => [
    '    <update>',
    `        <name>${escapeXml(nameInJoomla(name))}</name>`,
    `        <description>${escapeXml(description)}</description>`,
    `        <element>${escapeXml(element)}</element>`,
    `        <type>${type}</type>`,
    ...(folder === '' ? [] : [`        <folder>${escapeXml(folder)}</folder>`]),
    `        <version>${escapeXml(release.version)}</version>`,
    `        <client>${client}</client>`,
    `        <infourl title="${escapeAttribute(infoTitle)}">${escapeXml(infoUrl)}</infourl>`,
    '        <downloads>',
    `            <downloadurl type="full" format="zip">${escapeXml(downloadAddress(baseUrl, id, release.version))}</downloadurl>`,
    '        </downloads>',
    `        <sha256>${release.sha256}</sha256>`,
    `        <sha384>${release.sha384}</sha384>`,
    `        <sha512>${release.sha512}</sha512>`,
    `        <tags><tag>${tag}</tag></tags>`,
    `        <targetplatform name="joomla" version="${escapeAttribute(targetPlatform)}"/>`,
    `        <php_minimum>${escapeXml(phpMinimum)}</php_minimum>`,
    ...(Object.keys(supportedDatabases).length === 0
      ? []
      : [
          `        <supported_databases${Object.entries(supportedDatabases)
            .map(([database, version]) => ` ${database}="${escapeAttribute(version)}"`)
            .join('')}/>`,
        ]),
    '    </update>',
  ]);
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<updates>', ...lines, '</updates>', ''].join('\n');
}
