import { isTrial, joomlaVersion } from '../joomla/updater/agent';
import { formatTimestamp } from '../licensing/timestamps';
import { latestOf, type LoggedAccess } from '../store/access-log';
import type { Facts, Finding, Told } from './findings';
import { findCause, hasAnotherKey } from './refusal-causes';

/** Explains recorded accesses, and failures that leave no record, to support. Pure functions. */

/** Describes accesses in order of time, and merges consecutive equal ones. `newestFirst` is as the store lists them. */
export function explainAccesses(newestFirst: LoggedAccess[], facts: Facts): Told[] {
  const groups: LoggedAccess[][] = [];
  // The store sorts rows by first access; sort repeated accesses by their latest.
  const inOrder = [...newestFirst].reverse().sort((a, b) => latestOf(a).getTime() - latestOf(b).getTime());
  for (const access of inOrder) {
    const group = groups.at(-1);
    if (group && isSame(group[0] as LoggedAccess, access)) group.push(access);
    else groups.push([access]);
  }
  return groups.map((group) => {
    const access = group.at(-1) as LoggedAccess;
    const count = group.reduce((sum, { times }) => sum + times, 0);
    return {
      ...explainAccess(access, count, facts),
      count,
      firstAt: new Date(Math.min(...group.map(({ at }) => at.getTime()))),
      lastAt: latestOf(access),
      access,
    };
  });
}

function isSame(a: LoggedAccess, b: LoggedAccess): boolean {
  return (
    [
      'endpoint',
      'outcome',
      'licenseId',
      'keyId',
      'keyHint',
      'productId',
      'version',
      'identifier',
      'ip',
      'userAgent',
    ] as const
  ).every((field) => a[field] === b[field]);
}

function explainAccess(access: LoggedAccess, count: number, facts: Facts): Finding {
  const who = `${clientOf(access.userAgent)} at ${access.ip ?? 'an unknown address'}`;
  const license = access.licenseId === null ? undefined : facts.licenses.get(access.licenseId);
  if (access.outcome === 'ok') return explainGranted(access, who, count);
  const { code, because, remedy } = findCause(access, license, facts);
  const by = license === undefined && hasAnotherKey(access, facts) ? ' with another key' : '';
  return {
    code,
    text: `${attempt(access)}${by} was ${access.endpoint === 'check' ? 'answered with no' : 'refused'} to ${who}: ${because}.`,
    remedy,
  };
}

/** Joomla sends one request per click on Update (no retry, no HEAD), so a second request is a second try. */
function explainGranted(
  { endpoint, version, userAgent, licenseId }: LoggedAccess,
  who: string,
  count: number,
): Finding {
  const by = licenseId === null ? '' : ` with licence ${licenseId}`;
  if (endpoint === 'check')
    return {
      code: 'CHECKED',
      text: `A check by ${who} was told that version ${version ?? '?'} may be downloaded${by}.`,
      remedy: null,
    };
  const text = `Version ${version ?? '?'} was granted to ${who}${by}`;
  if (count < 2 || joomlaVersion(userAgent) === undefined || isTrial(userAgent))
    return { code: 'GRANTED', text: `${text}.`, remedy: null };
  return {
    code: 'GRANTED_REPEATEDLY',
    text: `${text} ${count} times. Joomla asks once for each click on Update: either several sites share that address, or the package arrived and was not installed.`,
    remedy: 'Ask the customer what Joomla said, and look at CHECKSUM, NO_PACKAGE and OUT_OF_MEMORY below.',
  };
}

function attempt({ endpoint, version, productId, identifier, licenseId }: LoggedAccess): string {
  const of = licenseId === null ? '' : ` with licence ${licenseId}`;
  switch (endpoint) {
    case 'check':
    case 'download':
      return `A download${endpoint === 'check' ? ' check' : ''} ${productId === null ? 'without a product id' : `of product ${productId}`}${version === null ? '' : `, version ${version},`}${of}`;
    case 'activate':
    case 'deactivate':
      return `${endpoint === 'activate' ? 'Activating' : 'Deactivating'} ${identifier ?? '(no identifier)'}${of}`;
    case 'updates':
      return 'An update check';
    case 'validate':
      return 'A validate call';
  }
}

/** @param newestFirst accesses whose identifier is not activated anywhere */
export function explainLogged(newestFirst: LoggedAccess[], facts: Facts): Finding[] {
  const [latest] = newestFirst;
  if (latest === undefined) return [];
  const { text, remedy } = explainAccess(latest, 1, facts);
  return [
    {
      code: 'IN_ACCESS_LOG',
      text: `This is activated on no licence, but stands in the access log, the last time on ${formatTimestamp(latestOf(latest))}: ${text}`,
      remedy,
    },
  ];
}

/** Whether the findings or the latest access explain a reported failure; otherwise it left no record. */
export function hasCause(findings: Finding[], accesses: Told[]): boolean {
  const latest = accesses.at(-1);
  return (
    findings.some(({ code }) => CAUSES.has(code)) || (latest !== undefined && latest.access.outcome !== 'ok')
  );
}

const CAUSES = new Set([
  ...['EXPIRED', 'SUSPENDED', 'REVOKED', 'CANCELLED', 'SLOTS_FULL', 'NOTHING_PUBLISHED'],
  ...['KEY_MISTYPED', 'KEY_REPLACED', 'KEY_ENDED', 'KEY_SLOTS_FULL'],
]);

/** For a licence without recorded requests, when other requests may have been meant for it. */
export function explainNearby(licenseId: number, logDays: number): Finding {
  return {
    code: 'ONLY_NEARBY',
    text: `No download and no refusal with the key of licence ${licenseId} is recorded (records are kept for ${logDays} days). What follows came with a key that resembles it, or from an address where it is used.`,
    remedy: null,
  };
}

export function explainSilence(what: string, logDays: number): Finding {
  return {
    code: 'NOTHING_RECORDED',
    text: `No download and no refusal of ${what} is recorded (records are kept for ${logDays} days). If an update failed, its request did not come as far as this service, or it failed after the download.`,
    remedy: 'Ask the customer what Joomla said, and look for it in the list below.',
  };
}

/** Failures that leave no record here, and how to recognise them (observed on Joomla 5.3). */
export const UNTRACED: Omit<Finding, 'remedy'>[] = [
  {
    code: 'KEY_FIELD_EMPTY',
    text: 'Joomla says "The Download Key is missing": the field is empty, or has only a 0 in it. Joomla sends nothing.',
  },
  {
    code: 'BLANK_IN_KEY',
    text: 'Joomla says "URL using bad/illegal format": there is a space or a line break in the key (or in downloadurl). Joomla sends nothing.',
  },
  {
    code: 'INVISIBLE_CHARACTER',
    text: 'Joomla says "Error connecting to the server: 400" and no refusal is listed here: an invisible character was pasted with the key. (With licensing.conf, nginx removes it.)',
  },
  {
    code: 'NOT_OFFERED',
    text: 'Joomla offers no update: <client>administrator</client> in the update XML, a targetplatform that does not match, the update site disabled, or the XML cannot be fetched. Joomla does not ask this service then. To check: licensing update-xml lint.',
  },
  {
    code: 'CHECKSUM',
    text: 'Joomla says "The checksum verification failed": the download is listed here as sent. A hash in the update XML belongs to another package, or has spaces around it. Write it again: licensing update-xml write.',
  },
  {
    code: 'NO_PACKAGE',
    text: 'Joomla says "Failed to extract file": the answer did not come from this service, or its headers were changed: by the site\'s own pages, or a cache. To check: licensing doctor --url https://YOUR.SITE.',
  },
  {
    code: 'PACKAGE_NOT_SENT',
    text: 'Joomla says "Error connecting to the server: 404" and the download is listed here as sent: nginx cannot read the package. To check: licensing doctor.',
  },
  {
    code: 'SERVER_ERROR',
    text: 'Joomla says "Error connecting to the server: 500", 502, 503, or names a time-out: the service or its database did not run, or the transfer broke off. The logs of nginx and of the service say when.',
  },
  {
    code: 'REDIRECTED',
    text: 'Joomla says "Maximum (20) redirects followed", or a download without a key is listed here: downloadurl is redirected, and Joomla does not send the key to the new address. downloadurl must be the final https address.',
  },
  {
    code: 'CERTIFICATE',
    text: 'Joomla says "SSL certificate problem: unable to get local issuer certificate", or something else with "SSL": the customer\'s server does not accept the certificate of your site. Mostly the intermediate certificates are missing: nginx\'s ssl_certificate must name the file with the whole chain (fullchain.pem). If only one customer has it, the list of authorities on their server is too old.',
  },
  {
    code: 'NOT_CONNECTED',
    text: 'Joomla says "Couldn\'t connect to server", "Could not resolve host" or "Connection timed out": the customer\'s server did not reach yours. Your web server was down, or a firewall, mostly of the customer\'s host, lets no connection out, or yours lets none in.',
  },
  {
    code: 'OUT_OF_MEMORY',
    text: 'Joomla shows a blank page, or "Whoops, looks like something went wrong", and the download is listed here as sent: Joomla holds the whole package in memory, and PHP\'s memory_limit is too small for it. With 128 MB packages above some 40 MB fail.',
  },
  {
    code: 'VALIDATE',
    text: 'Validate calls are not recorded one by one. Of each licence, the time of the latest call and the number of calls are kept.',
  },
];

function clientOf(userAgent: string | null): string {
  if (userAgent === null) return 'a client without a name';
  const joomla = joomlaVersion(userAgent);
  if (isTrial(userAgent)) return `a trial with "licensing update-xml" (as Joomla ${joomla ?? '?'})`;
  if (joomla !== undefined) return `Joomla ${joomla}`;
  if (/^Mozilla\/.*(Gecko|WebKit|Firefox|Chrome|Safari|Edg)/.test(userAgent)) return 'a browser';
  return `"${userAgent.slice(0, 60)}"`;
}
