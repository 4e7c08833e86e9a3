import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { connect, isIP, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { SslOptions } from 'mysql2';
import { ConfigError } from '../../base/errors';

export interface TlsSettings {
  /** checks both the authority and the host name of the server's certificate, never only one of them */
  verify: boolean;
  /** PEM texts: the authorities (by default the machine's), the client's certificate and key */
  ca?: string;
  cert?: string;
  key?: string;
  /** OpenSSL's names, separated by colons */
  ciphers?: string;
}

const PARTS = ['ca', 'cert', 'key', 'ciphers'] as const;
export type TlsPart = (typeof PARTS)[number];

/** The settings as a user writes them, with paths instead of the files' contents. */
interface TlsChoice {
  verify: boolean;
  /** returns a setting; undefined if it is missing; not called for `ca` unless `verify` is set */
  written: (part: TlsPart) => string | undefined;
  base: string;
}

const EXPECTED: Record<TlsPart, string> = {
  ca: "the certificate of the authority that signed the server's certificate, in PEM form",
  cert: "the client's certificate, in PEM form",
  key: "the key of the client's certificate, in PEM form and without a passphrase",
  ciphers: "OpenSSL's names of ciphers, separated by colons",
};

const ATTEMPTS: Record<TlsPart, (text: string, cert: string | undefined) => unknown> = {
  ca: (text) => new X509Certificate(text),
  cert: (text) => new X509Certificate(text),
  key: (text, cert) => [createPrivateKey(text), createSecureContext({ cert, key: text })],
  ciphers: (text) => createSecureContext({ ciphers: text }),
};

/** Reads and tests the files now: at connections, the driver would fail with only OpenSSL's message. @throws ConfigError */
export function readTls(
  { verify, written, base }: TlsChoice,
  nameOf: (part: TlsPart) => string,
): TlsSettings {
  const tls: TlsSettings = { verify };
  for (const part of PARTS) {
    const value = part === 'ca' && !verify ? undefined : written(part);
    if (value === undefined) continue;
    const path = resolve(base, value);
    const text = part === 'ciphers' ? value : readPem(path, nameOf(part));
    try {
      ATTEMPTS[part](text, tls.cert);
    } catch (error) {
      const what = part === 'ciphers' ? nameOf(part) : `${path}, which is ${nameOf(part)},`;
      const { reason = 'unknown reason' } = error as { reason?: string };
      throw new ConfigError(`${what} cannot be used (${reason}). It must contain ${EXPECTED[part]}.`, {
        cause: error,
      });
    }
    tls[part] = text;
  }
  return tls;
}

function readPem(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const remedy = `It is ${name}: give the user that runs this service read access, or correct the path.`;
    throw new ConfigError(`${path} cannot be read (${code}). ${remedy}`, { cause: error });
  }
}

/** The paths of the trusted authorities on Debian and Alpine, Red Hat, SUSE and the BSDs. */
const AUTHORITIES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

export interface ServerLocation {
  host: string;
  port: number;
  /** a Unix socket, which takes precedence over host and port */
  socketPath?: string;
  /** the sockets that were not found, although `localhost` means a socket to the site */
  missingSockets?: readonly string[];
}

/** @param authorities the machine's, which PHP also uses; Node has its own list */
export function driverTls(
  { verify, ...files }: TlsSettings,
  authorities: readonly string[] = AUTHORITIES,
): SslOptions {
  const known = verify ? authorities.find((path) => existsSync(path)) : undefined;
  return {
    ...(known === undefined ? {} : { ca: readFileSync(known, 'utf8') }),
    ...files,
    rejectUnauthorized: verify,
    // Without this, a certificate for any name would be accepted.
    verifyIdentity: verify,
  };
}

/**
 * Opens a socket for the driver, which leaves the check of an IP address to Node. Node reads the host from the socket,
 * which keeps only names: a certificate for "localhost" would pass at any address, and one for the address never.
 */
export function openSocket({ host, port, socketPath }: ServerLocation, tls: TlsSettings | undefined): Socket {
  const socket = connect(
    socketPath === undefined ? { host, port, noDelay: true, keepAlive: true } : { path: socketPath },
  );
  return tls?.verify && isIP(host) ? Object.assign(socket, { _host: host }) : socket;
}
