import { resolve } from 'node:path';
import type { DatabaseSettings } from './database';
import { readTls, type TlsPart, type TlsSettings } from './tls';

/** A LICENSING_DATABASE_URL that cannot be used. The message gives the expected form, never the password. */
export class DatabaseUrlError extends Error {}

const TLS_PARAMETERS: Record<TlsPart, string> = {
  ca: 'sslca',
  cert: 'sslcert',
  key: 'sslkey',
  ciphers: 'sslcipher',
};
const PARAMETERS = ['socketPath', 'ssl', ...Object.values(TLS_PARAMETERS)];

/** Parses `sqlite:PATH` (from `base`) or `mysql://user:password@host:port/name`. @throws DatabaseUrlError, TlsError */
export function parseDatabaseUrl(text: string, base: string): DatabaseSettings {
  // The part after "//" looks relative, but would name a file in the root folder.
  if (/^sqlite:\/\/(?!\/)/.test(text))
    throw new DatabaseUrlError(
      'LICENSING_DATABASE_URL: after "sqlite:" comes the path itself. Write sqlite:var/licensing.sqlite for one that is ' +
        'relative to the settings file, or sqlite:/var/lib/licensing/licensing.sqlite for one from the root.',
    );
  const sqlite = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (sqlite !== undefined) return { kind: 'sqlite', path: resolve(base, sqlite) };
  // The URL holds a password, so no message repeats it.
  const expected =
    'LICENSING_DATABASE_URL must read mysql://user:password@host:3306/database, with the characters : / ? # @ % ' +
    'of user and password percent-encoded, or sqlite:PATH.';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['mysql:', 'mariadb:'].includes(url.protocol))
    throw new DatabaseUrlError(expected);
  const database = decode(url.pathname.slice(1));
  const user = decode(url.username);
  const password = decode(url.password);
  if (!database || database.includes('/') || !user || password === undefined)
    throw new DatabaseUrlError(expected);
  // Do not repeat the names: after an unencoded "?" in the password they would be part of it.
  const parameters = [...url.searchParams.keys()];
  if (parameters.some((name, i) => !PARAMETERS.includes(name) || parameters.indexOf(name) !== i))
    throw new DatabaseUrlError(
      `${expected} After a "?" only ${PARAMETERS.join(', ')} can follow, each once.`,
    );
  const socketPath = url.searchParams.get('socketPath');
  const tls = parseTls(url.searchParams, base);
  return {
    kind: 'mysql',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost',
    port: Number(url.port || 3306),
    user,
    password,
    database,
    ...(socketPath ? { socketPath } : {}),
    ...(tls === undefined ? {} : { tls }),
  };
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
    throw new DatabaseUrlError(
      'LICENSING_DATABASE_URL: TLS takes ssl=require (encrypted) or ssl=verify (the certificate of the server is checked too), ' +
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
