import { resolve } from 'node:path';
import { ConfigError } from '../../base/errors';
import type { DatabaseSettings } from './database';
import { serverName } from './nodes';
import { readTls, type ServerLocation, type TlsPart, type TlsSettings } from './tls';

const TLS_PARAMETERS: Record<TlsPart, string> = {
  ca: 'sslca',
  cert: 'sslcert',
  key: 'sslkey',
  ciphers: 'sslcipher',
};
const PARAMETERS = ['socketPath', 'ssl', ...Object.values(TLS_PARAMETERS)];

/**
 * Parses `sqlite:PATH` (relative to `base`) or `mysql://user:password@host:port/name`, which may list several hosts:
 * `a:3306,b:3306`. @throws ConfigError
 */
export function parseDatabaseUrl(text: string, base: string): DatabaseSettings {
  // Refuse "//", after which the path looks relative, but would be in the root folder.
  if (/^sqlite:\/\/(?!\/)/.test(text))
    throw new ConfigError(
      'LICENSING_DATABASE_URL: after "sqlite:" comes the path itself. Write sqlite:var/licensing.sqlite for one that is ' +
        'relative to the settings file, or sqlite:/var/lib/licensing/licensing.sqlite for one from the root.',
    );
  const sqlite = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (sqlite !== undefined) return { kind: 'sqlite', path: resolve(base, sqlite) };
  // No message repeats the URL, because it contains a password.
  const expected =
    'LICENSING_DATABASE_URL must read mysql://user:password@host:3306/database, with the characters : / ? # @ % ' +
    'of user and password percent-encoded, or sqlite:PATH. Several servers: @host1:3306,host2:3306/database.';
  const { first, others } = splitHosts(text);
  const url = URL.canParse(first) ? new URL(first) : undefined;
  if (url === undefined || !['mysql:', 'mariadb:'].includes(url.protocol)) throw new ConfigError(expected);
  const database = decode(url.pathname.slice(1));
  const user = decode(url.username);
  const password = decode(url.password);
  if (!database || database.includes('/') || !user || password === undefined) throw new ConfigError(expected);
  // Do not repeat the names, which would contain a part of the password after an unencoded "?" in it.
  const parameters = [...url.searchParams.keys()];
  if (parameters.some((name, i) => !PARAMETERS.includes(name) || parameters.indexOf(name) !== i))
    throw new ConfigError(
      `${expected} After a "?" only ${PARAMETERS.join(', ')} are allowed, without duplicates.`,
    );
  const socketPath = url.searchParams.get('socketPath');
  const tls = parseTls(url.searchParams, base);
  const hosts = [url, ...others.map((host) => new URL(host))].map(locate);
  if (others.length > 0) refuseUnusableHosts(hosts, socketPath);
  return {
    kind: 'mysql',
    ...(hosts[0] as ServerLocation),
    ...(hosts.length > 1 ? { others: hosts.slice(1) } : {}),
    user,
    password,
    database,
    ...(socketPath ? { socketPath } : {}),
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Splits a list of hosts into URLs with one host each. Commas in the user or password stay. */
function splitHosts(text: string): { first: string; others: string[] } {
  const [, before = '', hosts = '', after = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s.exec(text) ?? [];
  const all = hosts.split(',');
  if (all.length === 1) return { first: text, others: [] };
  const others = all.slice(1).map((host) => `mysql://${host}`);
  const isSound = !all.includes('') && others.every((url) => URL.canParse(url));
  return isSound ? { first: `${before}${all[0]}${after}`, others } : { first: '', others: [] };
}

function locate({ hostname, port }: URL): ServerLocation {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost', port: Number(port || 3306) };
}

function refuseUnusableHosts(hosts: ServerLocation[], socketPath: string | null): void {
  if (socketPath !== null)
    throw new ConfigError(
      'LICENSING_DATABASE_URL: socketPath can name only one server. Leave it out, or name one host.',
    );
  if (new Set(hosts.map(serverName)).size < hosts.length)
    throw new ConfigError('LICENSING_DATABASE_URL names a host twice. Write each server once.');
}

function parseTls(parameters: URLSearchParams, base: string): TlsSettings | undefined {
  if (![...parameters.keys()].some((name) => name.startsWith('ssl'))) return undefined;
  const written = (part: TlsPart) => parameters.get(TLS_PARAMETERS[part]) ?? undefined;
  const level = parameters.get('ssl') ?? '';
  const verify = level === 'verify';
  const hasIdle =
    (written('ca') !== undefined && !verify) ||
    (written('cert') === undefined) !== (written('key') === undefined);
  if (!['require', 'verify'].includes(level) || hasIdle)
    throw new ConfigError(
      "LICENSING_DATABASE_URL: for TLS, write ssl=require (encrypted) or ssl=verify (the server's certificate is also checked), " +
        'and with it sslca=PATH (for verify), sslcert=PATH and sslkey=PATH together, and sslcipher.',
    );
  return readTls({ verify, written, base }, (part) => `${TLS_PARAMETERS[part]} of LICENSING_DATABASE_URL`);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
