import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { ConfigError } from '../base/errors';
import type { SiteMail } from '../joomla/site/configuration';
import { findEmail } from '../licensing/customer-email';
import { secretElsewhere } from '../licensing/sealing';
import type { MailOff } from '../texts/operators/doctor';

export interface SmtpSettings {
  kind: 'smtp';
  host: string;
  port: number;
  /** `implicit`: TLS from the first byte. `required`: STARTTLS. `offered`: STARTTLS if the server has it. */
  tls: 'implicit' | 'required' | 'offered';
  /** the authorities for the server's certificate; undefined for Node's own */
  ca: string | undefined;
  login: { user: string; password: string } | undefined;
}

/** The way in which mails leave this machine. */
type MailRoute =
  | SmtpSettings
  /** The program that PHP uses, which reads a mail from its standard input. */
  | { kind: 'sendmail'; path: string }
  /** For trials: each mail becomes an `.eml` file. */
  | { kind: 'folder'; path: string };

export interface MailSettings {
  route: MailRoute;
  from: { address: string; name: string | undefined };
  /** the source of the settings, for users */
  source: string;
}

const EXPECTED =
  'LICENSING_MAIL_URL must read smtp://user:password@host:587?from=shop@example.org or smtps://user:password@host?from=shop@example.org, with user and password percent-encoded; or file:FOLDER?from=shop@example.org for a trial.';

/** The ports for a URL without one. */
const PORTS = { implicit: 465, withLogin: 587, plain: 25 };

const PARAMETERS = ['from', 'ca'];

/** The source of mail settings that were entered on the page or by the command. */
export const STORED_MAIL = 'the stored settings';

/** Parses LICENSING_MAIL_URL. @param base the folder for relative paths @throws ConfigError */
export function parseMailUrl(
  text: string,
  base: string,
  site: SiteMail | undefined,
  source = 'LICENSING_MAIL_URL',
): MailSettings {
  const [, address = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(text) ?? [];
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name)) throw new ConfigError(`${EXPECTED} It has an unknown parameter.`);
  const route = readRoute(address, parameters.get('ca'), base);
  const login = route.kind === 'smtp' ? findEmail(route.login?.user ?? '') : undefined;
  const sender = parameters.get('from');
  const from = sender === null ? (site?.from ?? login) : findEmail(sender);
  if (from === undefined)
    throw new ConfigError(
      `LICENSING_MAIL_URL has no sender. End it with ?from= and the shop's e-mail address. ${EXPECTED}`,
    );
  return { route, from: { address: from, name: site?.fromName }, source };
}

function readRoute(address: string, ca: string | null, base: string): MailRoute {
  if (address.startsWith('file:') && address.length > 'file:'.length)
    return { kind: 'folder', path: resolve(base, address.slice('file:'.length)) };
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isImplicit = url?.protocol === 'smtps:';
  if (url === undefined || !/^smtps?:$/.test(url.protocol) || !url.hostname || !/^\/?$/.test(url.pathname))
    throw new ConfigError(EXPECTED);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const login = readLogin(url);
  const tls = isImplicit ? 'implicit' : login && !isLoopback(host) ? 'required' : 'offered';
  return {
    kind: 'smtp',
    host,
    tls,
    login,
    port: Number(url.port || (isImplicit ? PORTS.implicit : login ? PORTS.withLogin : PORTS.plain)),
    ca: ca === null ? undefined : readCa(resolve(base, ca)),
  };
}

function readLogin({ username, password }: URL): SmtpSettings['login'] {
  if (username === '') return undefined;
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw new ConfigError(`${EXPECTED} Write a "%" that does not begin a code as %25.`);
  }
}

function readCa(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new ConfigError(`LICENSING_MAIL_URL: ?ca= names ${file}, which cannot be read (${code}).`);
  }
}

/** Reports whether a host is this machine. Its mail server rarely has a valid certificate, but cannot be eavesdropped on. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns the site's own way of sending mail, or the reason that it cannot be used. */
export function mailOfSite(site: SiteMail | undefined): MailSettings | MailOff {
  if (site === undefined) return 'no-site';
  if (!site.isOnline) return 'offline';
  if (site.from === undefined) return 'no-sender';
  const from = { address: site.from, name: site.fromName };
  const source = "the site's configuration.php";
  if (site.mailer !== 'smtp') return { from, source, route: { kind: 'sendmail', path: site.sendmail } };
  if (site.host === '') return 'no-server';
  const { host, port, secure, login } = site;
  const tls = ({ ssl: 'implicit', tls: 'required', none: 'offered' } as const)[secure];
  return { from, source, route: { kind: 'smtp', host, port, tls, ca: undefined, login } };
}

/** Returns the URL of a mail server, in the form that `parseMailUrl` reads. */
export function writeMailUrl({
  host,
  port,
  isImplicit,
  user,
  password,
  from,
}: {
  host: string;
  port: string;
  isImplicit: boolean;
  user: string;
  password: string;
  from: string;
}): string {
  const login = user === '' ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const at = port === '' ? name : `${name}:${port}`;
  return `${isImplicit ? 'smtps' : 'smtp'}://${login}${at}?from=${encodeURIComponent(from)}`;
}

/** The text that replaces a password when it is shown. */
export const HIDDEN_PASSWORD = '***';

/**
 * Replaces a hidden password with the stored one.
 * @throws OperatorError if scheme, host, port or user differ from the stored ones
 */
export function withStoredPassword(text: string, stored: string | undefined): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.password !== HIDDEN_PASSWORD) return text;
  const before = stored !== undefined && URL.canParse(stored) ? new URL(stored) : undefined;
  if (before === undefined || placeOf(before) !== placeOf(url)) throw secretElsewhere('mail_url');
  url.password = before.password;
  return url.href;
}

function placeOf({ protocol, hostname, port, username }: URL): string {
  const usual = protocol === 'smtps:' ? PORTS.implicit : PORTS.withLogin;
  return [protocol, hostname.toLowerCase(), port || usual, username].join(' ');
}

/** Describes for users where mails are sent, without a password. */
export function describeRoute({ route, from }: MailSettings): string {
  if (route.kind !== 'smtp')
    return `${route.kind === 'folder' ? 'file:' : ''}${route.path}?from=${from.address}`;
  const { host, port, tls, login } = route;
  return writeMailUrl({
    host,
    port: String(port),
    isImplicit: tls === 'implicit',
    user: login?.user ?? '',
    password: HIDDEN_PASSWORD,
    from: from.address,
  });
}
