import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { connect, isIP, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';

/** How the connections to a MySQL or MariaDB server are encrypted. */
export interface TlsSettings {
  /** the server's certificate must come from a known authority and be for its host's name: never one without the other */
  verify: boolean;
  /** PEM texts: the known authorities (else they are the machine's), the client's certificate and its key */
  ca?: string;
  cert?: string;
  key?: string;
  /** names of OpenSSL with colons between */
  ciphers?: string;
}

const PARTS = ['ca', 'cert', 'key', 'ciphers'] as const;
export type TlsPart = (typeof PARTS)[number];

/** The same as a person writes it: with the paths of files in place of what they hold. */
export interface TlsChoice {
  verify: boolean;
  /** undefined: not given. Authorities are asked for only where they are needed. */
  written: (part: TlsPart) => string | undefined;
  /** the folder that relative paths start at */
  base: string;
}

/** A part of the TLS settings that cannot be used. The message says which, and what to do. */
export class TlsError extends Error {}

const EXPECTED: Record<TlsPart, string> = {
  ca: "the certificate of the authority that signed the server's, in PEM form",
  cert: "the client's certificate, in PEM form",
  key: "the key of the client's certificate, in PEM form and without a passphrase",
  ciphers: 'names of ciphers as OpenSSL knows them, with colons between',
};

/** Fails when the text is not what is expected. */
const ATTEMPTS: Record<TlsPart, (text: string, cert: string | undefined) => unknown> = {
  ca: (text) => new X509Certificate(text),
  cert: (text) => new X509Certificate(text),
  key: (text, cert) => [createPrivateKey(text), createSecureContext({ cert, key: text })],
  ciphers: (text) => createSecureContext({ ciphers: text }),
};

/**
 * Reads the files of TLS settings and tries what they hold. The driver does so at each connection, and tells of it in
 * OpenSSL's words alone.
 *
 * @param nameOf what a part is called where it is written
 * @throws TlsError
 */
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
      throw new TlsError(`${what} cannot be used (${reason}). It has to hold ${EXPECTED[part]}.`, {
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
    const remedy = `It is ${name}: let the user this service runs as read it, or correct the path.`;
    throw new TlsError(`${path} cannot be read (${code}). ${remedy}`, { cause: error });
  }
}

/** Where systems keep the authorities they trust: Debian and Alpine, Red Hat, SUSE, the BSDs. */
const AUTHORITIES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** Where a server listens. */
export interface ServerLocation {
  host: string;
  port: number;
  /** A Unix socket; goes before host and port. */
  socketPath?: string;
}

/**
 * What the driver is told of TLS, and of the socket where that matters.
 *
 * @param authorities where to look for the machine's, which PHP goes by; Node has a list of its own
 */
export function driverTls(
  { verify, ...files }: TlsSettings,
  to: ServerLocation,
  authorities: readonly string[] = AUTHORITIES,
): { ssl: object; stream?: () => Socket } {
  const known = verify ? authorities.find((path) => existsSync(path)) : undefined;
  return {
    ssl: {
      ...(known === undefined ? {} : { ca: readFileSync(known, 'utf8') }),
      ...files,
      rejectUnauthorized: verify,
      // Without it a certificate for any name would do.
      verifyIdentity: verify,
    },
    ...(verify && isIP(to.host) ? { stream: () => socketThatKnowsItsHost(to) } : {}),
  };
}

/**
 * A socket to an address in digits. The driver leaves it to Node then for which name the certificate has to be, and Node
 * asks the socket, which keeps names alone: one for "localhost" would do at any address, one for the address never.
 */
function socketThatKnowsItsHost({ host, port, socketPath }: ServerLocation): Socket {
  const to = socketPath === undefined ? { host, port, noDelay: true, keepAlive: true } : { path: socketPath };
  return Object.assign(connect(to), { _host: host });
}
