import type { SiteResponse } from '../updater/fetch';
import { remedyForChallenge } from '../updater/remedies';
import type { Report } from './report';

/** The time in milliseconds above which an answer is slow. Joomla gives up after 20 s. */
const SLOW = 5_000;
/** The maximum of seconds in a cache. A longer time delays new versions and keeps the hashes of withdrawn versions alive. */
const LONG_CACHED = 3_600;

/** Checks the answer that delivered the update XML, regardless of its content. */
export function lintDelivery(answer: SiteResponse, url: string, report: Report): void {
  const { status, redirects, took, headers } = answer;
  if (status !== 200)
    report(
      'error',
      'status',
      `The server answers ${status} for the update XML: Joomla accepts only 200.`,
      remedyForChallenge(answer, url) ??
        "Put it at the address in the manifest's <updateservers>, and let everyone read it without a login.",
    );
  const last = redirects.at(-1);
  if (last !== undefined)
    report(
      'warning',
      'redirected',
      `The address of the update XML redirects to ${last}.`,
      "Write the new address into the next version's manifest, and keep the redirect for sites that have this version.",
    );
  if (took > SLOW)
    report(
      'warning',
      'slow',
      `The update XML took ${(took / 1000).toFixed(1)} s. Joomla gives up after 20 s, and the update site is disabled while it waits.`,
      'Host it as a static file, not behind a CMS.',
    );
  if (headers.has('content-encoding') && headers.get('content-encoding') !== 'identity')
    report(
      'error',
      'encoded',
      `The update XML is sent with Content-Encoding: ${headers.get('content-encoding') ?? ''}, which Joomla did not ask for and does not decode.`,
      'Compress it only for clients that ask for it (nginx: gzip, never gzip_static always).',
    );
  const cached = cachedSeconds(headers);
  if (cached > LONG_CACHED)
    report(
      'warning',
      'cached',
      `The update XML may be cached for ${cached} seconds: sites see a new version that much later, and are offered a withdrawn one that much longer.`,
      'Send it with Cache-Control: max-age=300, or at most an hour.',
    );
}

function cachedSeconds(headers: Map<string, string>): number {
  const control = headers.get('cache-control') ?? '';
  if (/no-store|no-cache/i.test(control)) return 0;
  const ages = [...control.matchAll(/(?:s-maxage|max-age)\s*=\s*"?([0-9]+)/gi)].map(([, age]) => Number(age));
  if (ages.length > 0) return Math.max(...ages);
  const expires = Date.parse(headers.get('expires') ?? '');
  const date = Date.parse(headers.get('date') ?? '') || Date.now();
  return Number.isNaN(expires) ? 0 : Math.round((expires - date) / 1000);
}
