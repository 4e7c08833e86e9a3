import { LRUCache } from 'lru-cache';
import type { ProbeUpdateXml, XmlProbeResult } from '../joomla/regenerate-update-xml';
import { BUCKET_HEADER } from '../joomla/update-xml/rollout-support';
import { AS_JOOMLA, challengeOf, httpGet } from './http-get';

/** The time for which an answer is cached. A page that is opened often asks the web server at most this often. */
const FRESH_MS = 60_000;
/** The maximum time that a page waits for an answer that is not in the cache. */
const PAGE_WAIT_MS = 2_000;
const ANSWER_MS = 15_000;
/** The maximum number of addresses, which is more than a seller has products. */
const MAX_ADDRESSES = 1_000;

/**
 * Returns a function that checks whether an update XML's address answers customers' sites. A file in its folder reaches
 * no site if no web server serves it.
 */
export function createAskForXml(now: () => Date): ProbeUpdateXml {
  const answers = new LRUCache<string, XmlProbeResult>({
    max: MAX_ADDRESSES,
    // Subtract one, because an entry is still valid at an age of exactly its `ttl`.
    ttl: FRESH_MS - 1,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
    fetchMethod: ask,
    // Return the earlier answer until the new one arrives.
    allowStale: true,
  });
  return (url) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, PAGE_WAIT_MS, undefined);
    });
    return Promise.race([answers.fetch(url), late]).finally(() => clearTimeout(timer));
  };
}

async function ask(url: string): Promise<XmlProbeResult> {
  try {
    const { status, headers } = await httpGet(new URL(url), {
      ...AS_JOOMLA,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const isStaged = headers[BUCKET_HEADER] !== undefined;
    return status === 200 ? { state: 'answers', isStaged } : { state: 'refuses', status, isStaged };
  } catch (error) {
    return { state: 'silent', challenge: challengeOf(error) };
  }
}
