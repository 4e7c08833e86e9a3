import { LRUCache } from 'lru-cache';
import type { AskForXml, XmlReach } from '../joomla/follow-xml';
import { BUCKET_HEADER } from '../joomla/update-xml/staged';
import { httpGet } from './http-get';

/** An answer counts for a minute: a page that is opened often asks the web server no more often than this. */
const FRESH_MS = 60_000;
/** A page waits this long for an answer that is not known yet. */
const PAGE_WAIT_MS = 2_000;
const ANSWER_MS = 15_000;
/** More addresses than a seller has products. */
const MAX_ADDRESSES = 1_000;

/**
 * Asks whether an update XML's address answers, as sites of customers would. A file that lies in its place and that
 * no web server serves reaches nobody.
 */
export function createAskForXml(now: () => Date): AskForXml {
  const answers = new LRUCache<string, XmlReach>({
    max: MAX_ADDRESSES,
    // At an age of exactly its `ttl` an entry still counts.
    ttl: FRESH_MS - 1,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
    fetchMethod: ask,
    // The earlier answer stands until the new one is there.
    allowStale: true,
  });
  return (url) => {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, PAGE_WAIT_MS, undefined);
    });
    return Promise.race([answers.fetch(url), patience]).finally(() => clearTimeout(timer));
  };
}

async function ask(url: string): Promise<XmlReach> {
  try {
    const { status, headers } = await httpGet(new URL(url), { signal: AbortSignal.timeout(ANSWER_MS) });
    const isStaged = headers[BUCKET_HEADER] !== undefined;
    return status === 200 ? { state: 'answers', isStaged } : { state: 'refuses', status, isStaged };
  } catch {
    return { state: 'silent' };
  }
}
