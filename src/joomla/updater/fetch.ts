import { createWriteStream } from 'node:fs';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps, type RequestOptions } from 'node:https';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { domainToASCII } from 'node:url';
import { CodedError, isCoded } from '../../base/errors';
import { simulationUserAgent } from './agent';

/**
 * A GET as Joomla makes it, by PHP's `parse_url` and libcurl. Node's own clients would encode, trim or refuse
 * addresses that Joomla sends as typed.
 */
export interface SiteResponse {
  status: number;
  /** the first value of each name, in lower case; bytes beyond ASCII are read as UTF-8 */
  headers: Map<string, string>;
  /** the redirects followed, in order */
  redirects: string[];
  /** in bytes */
  size: number;
  /** empty if it went into a file; at most MAX_BODY_IN_MEMORY */
  body: Buffer;
  /** milliseconds from the request to the last byte */
  took: number;
}

/** Joomla's time-out for an update XML (UpdateAdapter), milliseconds. */
export const XML_TIMEOUT = 20_000;

const MALFORMED = 'URL using bad/illegal format or missing URL';
/** libcurl's own limit, as observed. */
const MAX_REDIRECTS = 20;
const MAX_BODY_IN_MEMORY = 10_000_000;

interface FetchOptions {
  /** the Joomla version in the User-Agent */
  joomla: string;
  /** authorities for the certificate; undefined: Node's own */
  ca?: string[] | undefined;
  /** for the whole request, milliseconds */
  timeout: number;
  /** the file for the body of a 200; undefined: memory */
  file?: string | undefined;
  /** the body's limit; receiving stops beyond it */
  maxBytes?: number | undefined;
}

/** @throws NO_ANSWER, TOO_LARGE */
export async function fetchAsJoomla(address: string, options: FetchOptions): Promise<SiteResponse> {
  const started = performance.now();
  const signal = AbortSignal.timeout(options.timeout);
  const redirects: string[] = [];
  for (let url = readAddress(address); ;) {
    const { response, status } = await send(url, options, signal);
    const headers = readHeaders(response);
    const location = headers.get('location');
    if (status >= 300 && status < 400 && location !== undefined) {
      response.destroy();
      if (redirects.length === MAX_REDIRECTS)
        throw new CodedError('NO_ANSWER', `Maximum (${MAX_REDIRECTS}) redirects followed`);
      url = follow(url, location);
      redirects.push(writeAddress(url));
      continue;
    }
    const kept: Buffer[] = [];
    const size = await receive(response, signal, options, status === 200 ? options.file : undefined, kept);
    const took = Math.round(performance.now() - started);
    return { status, headers, redirects, size, body: Buffer.concat(kept), took };
  }
}

interface Address {
  secure: boolean;
  userInfo: string | undefined;
  host: string;
  port: number | undefined;
  /** the path and query of the request line */
  target: string;
}

function readAddress(address: string): Address {
  // parse_url makes "_" of control characters; libcurl then takes no blank anywhere, the fragment included.
  // oxlint-disable-next-line no-control-regex -- they are what is replaced
  const plain = address.replace(/[\u0000-\u001f\u007f]/g, '_');
  const [, scheme, authority, path = '', query = ''] =
    /^(https?):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/i.exec(plain) ?? [];
  const [, userInfo, host, port] =
    /^(?:([^@]*)@)?(\[[^\]]*\]|[^:@]*)(?::([0-9]+))?$/.exec(authority ?? '') ?? [];
  const ascii = host?.startsWith('[') ? host : domainToASCII(host ?? '');
  if (scheme === undefined || !ascii || plain.includes(' ')) throw new CodedError('NO_ANSWER', MALFORMED);
  return {
    secure: scheme.toLowerCase() === 'https',
    userInfo,
    host: ascii,
    port: port === undefined ? undefined : Number(port),
    // Joomla joins the key with a literal "&amp;", and its URI class decodes that.
    target: (path || '/') + query.replaceAll('&amp;', '&'),
  };
}

function writeAddress({ secure, host, port, target }: Address): string {
  return `${secure ? 'https' : 'http'}://${host}${port === undefined ? '' : `:${port}`}${target}`;
}

function follow(from: Address, location: string): Address {
  const next = URL.canParse(location, writeAddress(from)) ? new URL(location, writeAddress(from)) : undefined;
  if (next === undefined) throw new CodedError('NO_ANSWER', MALFORMED);
  if (!['http:', 'https:'].includes(next.protocol))
    throw new CodedError('NO_ANSWER', `Protocol "${next.protocol.slice(0, -1)}" not supported`);
  return readAddress(next.href);
}

function send(
  address: Address,
  { joomla, ca }: FetchOptions,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; status: number }> {
  const { secure, userInfo, host, port, target } = address;
  const options: RequestOptions = {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port: port ?? (secure ? 443 : 80),
    // Node writes a request line as latin1, so pass the UTF-8 bytes.
    path: Buffer.from(target, 'utf8').toString('latin1'),
    headers: {
      Host: port === undefined ? host : `${host}:${port}`,
      'User-Agent': simulationUserAgent(joomla),
      Accept: '*/*',
    },
    agent: false,
    signal,
    ...(userInfo === undefined ? {} : { auth: userInfo }),
    ...(ca === undefined ? {} : { ca }),
  };
  return new Promise((resolve, reject) => {
    const request = (secure ? requestHttps : requestHttp)(options, (response) =>
      resolve({ response, status: response.statusCode ?? 0 }),
    );
    // Joomla does not send this header.
    request.removeHeader('Connection');
    request.on('error', (error) => reject(new CodedError('NO_ANSWER', inCurlsWords(error, address))));
    request.end();
  });
}

async function receive(
  response: IncomingMessage,
  signal: AbortSignal,
  { timeout, maxBytes = Infinity }: FetchOptions,
  file: string | undefined,
  kept: Buffer[],
): Promise<number> {
  let size = 0;
  let keptBytes = 0;
  const sink =
    file === undefined
      ? new Writable({
          write(chunk: Buffer, _encoding, done) {
            if (keptBytes < MAX_BODY_IN_MEMORY) kept.push(chunk.subarray(0, MAX_BODY_IN_MEMORY - keptBytes));
            keptBytes += chunk.length;
            done();
          },
        })
      : createWriteStream(file);
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes)
      response.destroy(new CodedError('TOO_LARGE', `more than ${describeBytes(maxBytes)} are sent`));
  });
  try {
    await pipeline(response, sink, { signal });
    return size;
  } catch (error) {
    if (isCoded(error, 'TOO_LARGE')) throw error;
    if (signal.aborted)
      throw new CodedError(
        'NO_ANSWER',
        `Operation timed out after ${timeout} milliseconds with ${size} bytes received`,
      );
    if (response.complete) throw error;
    const length = Number(response.headers['content-length']);
    throw new CodedError(
      'NO_ANSWER',
      Number.isNaN(length)
        ? 'transfer closed with outstanding read data remaining'
        : `transfer closed with ${length - size} bytes remaining to read`,
    );
  }
}

function describeBytes(bytes: number): string {
  return bytes >= 1e9 ? `${bytes / 1e9} GB` : `${bytes} bytes`;
}

function readHeaders({ rawHeaders }: IncomingMessage): Map<string, string> {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (!headers.has(name))
      headers.set(name, Buffer.from(rawHeaders[i + 1] ?? '', 'latin1').toString('utf8'));
  }
  return headers;
}

function inCurlsWords(error: NodeJS.ErrnoException, { host, port, secure }: Address): string {
  const { code = '' } = error;
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'Operation timed out';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `Could not resolve host: ${host}`;
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].includes(code))
    return `Failed to connect to ${host} port ${port ?? (secure ? 443 : 80)}: Couldn't connect to server`;
  if (code === 'ECONNRESET')
    return error.message === 'socket hang up'
      ? 'Empty reply from server'
      : 'Recv failure: Connection reset by peer';
  if (code.startsWith('HPE_')) return 'Received HTTP/0.9 when not allowed';
  return secure ? `SSL certificate problem: ${error.message}` : error.message;
}
