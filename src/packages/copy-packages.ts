import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { challengerOf } from '../base/challenge';
import { API_PATH } from '../licensing/api';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { listPackages, type Release } from '../store/releases';
import { explainFileFault } from './file-faults';
import { findPackageDamage, UNREADABLE } from './damage';
import { acceptPackage, packagePath, removeStaged, stageBytes } from './package-files';

/** Finds packages that this instance lacks, and fetches them from another instance of the same database. */

export interface FaultyPackage {
  release: Release;
  /** completes "The package ..." */
  fault: string;
}

export interface Verified {
  /** the number of stored versions */
  checked: number;
  faults: FaultyPackage[];
}

/** Compares the packages of all stored versions with their hashes. @param onRead receives the bytes since the last call */
export async function verifyPackages(
  db: Db,
  dir: string,
  onRead: (bytes: number, of: number) => void = () => undefined,
): Promise<Verified> {
  const releases = await listPackages(db);
  const bytes = releases.reduce((sum, { fileSize }) => sum + fileSize, 0);
  const known = new Map<string, string | undefined>();
  const faults: FaultyPackage[] = [];
  for (const release of releases) {
    const { sha256 } = release;
    if (!known.has(sha256))
      known.set(
        sha256,
        await findPackageDamage(packagePath(dir, sha256), release, (more) => onRead(more, bytes)),
      );
    const fault = known.get(sha256);
    if (fault !== undefined) faults.push({ release, fault });
  }
  return { checked: releases.length, faults };
}

/** Another instance, with a token for its API. */
interface Source {
  /** the address without the API's path */
  url: string;
  token: string;
}

export interface Fetched {
  fetched: Release[];
  failed: FaultyPackage[];
}

/**
 * Fetches each package that is missing or damaged. A package is stored as a whole, with the right hash, or not at all,
 * so this can be repeated at any time.
 * @throws OperatorError if the source cannot be reached
 */
export async function fetchPackages(
  db: Db,
  dir: string,
  source: Source,
  onProgress: (release: Release, bytes: number) => void = () => undefined,
): Promise<Fetched> {
  const { faults } = await verifyPackages(db, dir);
  const outcome: Fetched = { fetched: [], failed: [] };
  const done = new Map<string, string | undefined>();
  for (const { release, fault } of faults) {
    const { sha256 } = release;
    if (!done.has(sha256))
      done.set(sha256, fault === UNREADABLE ? fault : await fetchPackage(dir, release, source, onProgress));
    const failure = done.get(sha256);
    if (failure === undefined) outcome.fetched.push(release);
    else outcome.failed.push({ release, fault: failure });
  }
  return outcome;
}

/** The time without a byte after which the other instance counts as silent. */
const SILENCE_MS = 300_000;

/** Sends a GET. Node's `fetch` needs WebAssembly, which fails under every limit of address space (`ulimit -v`). */
function get(url: URL, token: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      { agent: false, headers: { Authorization: `Bearer ${token}` }, timeout: SILENCE_MS },
      resolve,
    );
    request.on('timeout', () => request.destroy(new Error(`no byte within ${SILENCE_MS / 1000} s`)));
    request.on('error', reject).end();
  });
}

/** Fetches a package. @returns the fault; undefined if it was stored */
async function fetchPackage(
  dir: string,
  release: Release,
  { url, token }: Source,
  onProgress: (release: Release, bytes: number) => void,
): Promise<string | undefined> {
  const response = await get(new URL(`${url}${API_PATH}/manage/releases/${release.id}/package`), token).catch(
    (error: unknown) => {
      throw new OperatorError(`${url} does not answer: ${reasonOf(error)}.`, { field: 'from' });
    },
  );
  const { statusCode: status = 0, headers } = response;
  if (status !== 200) {
    response.destroy();
    const by = challengerOf((name) => headers[name]);
    if (by !== undefined)
      throw new OperatorError(
        `${by} answers ${status} instead of ${url}, because a program sent the request. Exempt ${API_PATH}/ in its settings.`,
      );
    // Do not follow a redirect, which would send the token elsewhere.
    if (status >= 300 && status < 400)
      throw new OperatorError(
        `${url} redirects to another address (${status}). Name the address that it leads to: --from.`,
        { field: 'from' },
      );
    if (status === 401 || status === 403)
      throw new OperatorError(
        `${url} refuses the token (${status}). "licensing token add --name packages --scope read" makes one.`,
      );
    return status === 404 ? 'is missing there, too' : `could not be fetched: the answer was ${status}`;
  }
  try {
    const staged = await stageBytes(dir, atMost(response, release.fileSize), (bytes) =>
      onProgress(release, bytes),
    );
    if (staged.sha256 !== release.sha256) {
      await removeStaged(staged);
      return 'arrived, but differs from the published package';
    }
    await acceptPackage(dir, staged, () => Promise.resolve());
    return undefined;
  } catch (error) {
    // Stop, because a full disk or a folder without write permission affects every package.
    const ofDisk = explainFileFault(error, packagePath(dir, release.sha256));
    if (ofDisk !== undefined) throw new OperatorError(`No package was stored: ${ofDisk}.`);
    return `could not be fetched: ${reasonOf(error)}`;
  }
}

/** Ends a body that is longer than the package, before it fills the disk. */
async function* atMost(body: IncomingMessage, size: number): AsyncIterable<Buffer> {
  let read = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    read += chunk.length;
    if (read > size) throw new Error('it is longer than the package that was published');
    yield chunk;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
