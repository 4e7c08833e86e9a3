import { createHash, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_PATH, API_TEXTS } from '../licensing/api';
import { bundlesWith, readCatalogue } from '../licensing/bundles';
import { createNetworkMatcher } from '../licensing/ip-addresses';
import { generateKey, keyDigest, keyHint, redactKeys } from '../licensing/core/keys';
import { findOffered, findRollouts } from '../licensing/updates';
import { findAccessAddress, lastAccessId } from '../store/access-log';
import { listPlans, listProducts, type Plan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { deleteSimulationLicense, insertLicenses } from '../store/licenses/licenses';
import { packageFileName, statPackage } from '../packages/package-files';
import { FULL_ROLLOUT, type Release } from '../store/releases';
import { inTransaction } from '../store/engine/transaction';
import type { Challenge } from '../texts/operators/doctor';
import {
  runCheck,
  ok,
  problem,
  shortReason,
  unchecked,
  warning,
  type Check,
  type CommandCheck,
  type CommandFinding,
  type CheckContext,
} from './finding';
import { AS_JOOMLA, challengeOf, header, httpGet, type HttpResponse, type GetOptions } from './http-get';

/** Checks the site from outside: whether its web server forwards to this service and passes the client's address. */

/** The time to wait for the access log. It is longer than the service takes to write it. */
const LOG_TIMEOUT_MS = 5_000;
const TRIAL_LIFETIME_MS = 5 * 60 * 1000;
const MAX_PRODUCTS = 50;
/** An address reserved for documentation (RFC 5737). */
const FORGED_ADDRESS = '203.0.113.77';
const isLoopback = createNetworkMatcher(['127.0.0.0/8', '::1']);
const LOCATION_IN_EXAMPLE = '/_licensing_packages/';
const RENEW_NGINX = "licensing nginx --server-name YOUR.SITE prints the lines for nginx's configuration.";

type Site = CheckContext & { url: URL };

export const checkSite: CommandCheck = async (patient) => {
  const { url } = patient;
  if (url === undefined) return checkSiteFromWithin(patient);
  const site = { ...patient, url };
  const challenge = await findChallenge(site);
  const found = challenge === undefined ? [] : [problem('CHALLENGED', (t) => t.challenged(challenge))];
  // Most other checks do not use the User-Agent of Joomla's updater.
  if (challenge !== undefined && challenge.who !== 'joomla') return found;
  const reached = await checkPrefix(site);
  if (reached.level === 'problem') return [...found, reached];
  const findings = [...found, reached, ...checkEncryption(url)];
  const address = await runCheck('FORWARDED_ADDRESS', () => checkAddress(site));
  findings.push(...address, ...(await runCheck('PACKAGES_PUBLIC', () => checkInternal(site))));
  // Skip these checks for a service on another database, which knows neither these products nor the simulation's key.
  if (!address.some(({ code }) => code === 'OTHER_SERVICE'))
    findings.push(
      ...(await runCheck('UPDATES', () => checkUpdates(site))),
      ...(await runCheck('DOWNLOAD', () => tryDownload(site))),
    );
  return findings;
};

/** Returns an unchecked finding, because a service cannot see how customers reach it. */
export const checkSiteFromWithin: Check = () => {
  const finding = unchecked('SITE', (t) => t.siteNotAsked);
  return Promise.resolve([finding]);
};

/** Sends a request as Joomla's updater and one as another program. @returns the challenge; undefined if both pass */
async function findChallenge({ url, ca }: Site): Promise<Challenge | undefined> {
  const [joomla, other] = await Promise.all(
    [AS_JOOMLA, {}].map((as) =>
      httpGet(at(url, `/doctor-${token()}`), { ca, ...as }).then(() => undefined, challengeOf),
    ),
  );
  if (joomla === undefined) return other && { ...other, who: 'others' };
  return { ...joomla, who: other === undefined ? 'joomla' : 'all' };
}

async function checkPrefix(site: Site): Promise<CommandFinding> {
  const { url } = site;
  const why = 'No customer can validate, activate, or update.';
  let answer: HttpResponse;
  try {
    answer = await ask(site, at(url, `/doctor-${token()}`));
  } catch (error) {
    return problem('SITE_UNREACHABLE', `${url.origin} does not answer: ${shortReason(error)}.`, {
      why,
      remedy:
        'Check the name, the port and the certificate (signed by an authority of your own: --ca FILE), and that nginx runs.',
    });
  }
  const { status } = answer;
  if (status >= 300 && status < 400)
    return problem(
      'SITE_REDIRECTS',
      `${url.origin} answers ${status} and redirects to ${redirectTarget(answer)}.`,
      {
        why: 'Joomla follows the redirect, but drops the Download Key. Other clients do not follow it with a POST.',
        remedy: 'Use the final address here, in the update XML and in your extension.',
      },
    );
  const code = errorCode(answer);
  if (isService(answer)) return ok('SITE', `${at(url, '/').href} reaches the service.`);
  if (code === 'SERVICE_UNAVAILABLE' || [502, 503, 504].includes(status))
    return problem('SERVICE_AWAY', `${url.origin} answers ${status}: nginx does not reach the service.`, {
      why,
      remedy:
        'Start the service, and compare LICENSING_LISTEN with "server" in upstream.conf; for a Unix socket, give nginx access to its folder.',
    });
  const by = header(answer, 'x-powered-by') || header(answer, 'content-type') || 'nothing known';
  return problem(
    'PREFIX_NOT_REACHED',
    `${at(url, '/').href} answers ${status} (${by}): that is the site, not the service.`,
    {
      why,
      remedy:
        (await remedyForFolder(site)) ??
        `licensing.conf is not included in this server {}, or a location of the site takes precedence over it. ${RENEW_NGINX}`,
    },
  );
}

/** Reports whether this service, not the web server, answered 404. */
export function isService(answer: HttpResponse): boolean {
  return answer.status === 404 && errorCode(answer) === 'NOT_FOUND' && header(answer, 'x-request-id') !== '';
}

/** Returns the remedy for a site in a subfolder if its host leads to the service: the folder's own line is missing. */
async function remedyForFolder(site: Site): Promise<string | undefined> {
  const folder = site.url.pathname.replace(/\/$/, '');
  if (folder === '') return undefined;
  const answer = await ask(site, at(new URL(site.url.origin), `/doctor-${token()}`));
  if (!isService(answer)) return undefined;
  return (
    `${site.url.origin} reaches the service, but its folder ${folder} does not. In licensing.conf, remove the # from the line for a ` +
    `site in a sub-folder, so that it reads: location ^~ ${folder}${API_PATH}/ { set $licensing_folder ${folder}; rewrite ^${folder}(/.*)$ $1 last; } ` +
    `Then reload nginx. (Behind Apache: Define LICENSING_PATH ${folder}${API_PATH})`
  );
}

function checkEncryption(url: URL): CommandFinding[] {
  return url.protocol === 'https:'
    ? []
    : [
        warning('NOT_ENCRYPTED', `${url.origin} is not encrypted.`, {
          why: 'Others can read licence keys on the way.',
          remedy: 'Get a certificate, and use the https address everywhere.',
        }),
      ];
}

/**
 * Sends a unique download that is refused, and finds its address in the access log. For a loopback site it connects
 * from an unusual loopback address, to distinguish the client from a proxy.
 */
async function checkAddress(site: Site): Promise<CommandFinding[]> {
  const { url, config } = site;
  const localAddress = await unusualLoopback(url.hostname);
  const seen = await seenAddress(site, localAddress, {});
  if (seen === undefined)
    return [
      problem(
        'OTHER_SERVICE',
        `The service behind ${url.origin} does not write to the access log of this database (or writes it too late).`,
        {
          why: 'It uses a different database from this command, and does not know the licences that you issue here.',
          remedy:
            'Compare LICENSING_DATABASE_URL and LICENSING_TABLE_PREFIX of the service and of this command; look at licensing_access_log_dropped in its metrics.',
        },
      ),
    ];
  const { own, ip } = seen;
  const isTrusted = createNetworkMatcher(config.trustedProxies);
  if (ip !== own) {
    if (isLoopback(ip) || isTrusted(ip))
      return [
        problem('FORWARDED_ADDRESS', `This request came from ${own}, and the service saw ${ip}.`, {
          why: 'All customers share one rate limit, and the log does not show who they are.',
          remedy: `nginx has to set X-Forwarded-For to $remote_addr, and LICENSING_TRUSTED_PROXIES to name nginx (${config.trustedProxies.join(', ')} now). ${RENEW_NGINX}`,
        }),
      ];
    return [
      unchecked(
        'FORWARDED_ADDRESS',
        `This request left from ${own}, and the service saw ${ip}. That is right if it is the address this machine has on the internet, and wrong if it belongs to a CDN or load balancer.`,
        'Behind a CDN: set_real_ip_from and real_ip_header in upstream.conf.',
      ),
    ];
  }
  if (isTrusted(own))
    return [
      ok('FORWARDED_ADDRESS', `The service sees the address of the client (${own}).`),
      unchecked(
        'FORGED_ADDRESS',
        `The service trusts ${own}, so this machine cannot test whether a client can forge its address.`,
        `On another machine, run: curl -H 'X-Forwarded-For: ${FORGED_ADDRESS}' ${at(url, '/downloads/0').href} Then run here: licensing why ${FORGED_ADDRESS}. It must not find that request.`,
      ),
    ];
  const forged = await seenAddress(site, localAddress, { 'X-Forwarded-For': FORGED_ADDRESS });
  if (forged?.ip === FORGED_ADDRESS)
    return [
      problem('FORGED_ADDRESS', 'The service trusts an address that the client sends itself.', {
        why: 'Any client escapes the rate limit if it sends another address with each request.',
        remedy: `nginx has to set X-Forwarded-For ($remote_addr), and LICENSING_TRUSTED_PROXIES must name only nginx. ${RENEW_NGINX}`,
      }),
    ];
  return [
    ok('FORWARDED_ADDRESS', `The service sees the address of the client (${own}), and trusts no other.`),
  ];
}

async function seenAddress(
  site: Site,
  localAddress: string | undefined,
  headers: Record<string, string>,
): Promise<{ own: string; ip: string } | undefined> {
  const { url, db } = site;
  const userAgent = `licensing-doctor/${token()}`;
  const after = await lastAccessId(db);
  const answer = await ask(site, at(url, '/downloads/0'), {
    localAddress,
    headers: { ...headers, 'User-Agent': userAgent },
  });
  if (answer.status === 429) throw new Error('this address is over its rate limit; try again in a minute');
  const ip = await logged(db, after, userAgent);
  return ip === undefined ? undefined : { own: answer.localAddress, ip };
}

async function logged(db: Db, after: number, userAgent: string): Promise<string | undefined> {
  const until = performance.now() + LOG_TIMEOUT_MS;
  for (;;) {
    const ip = await findAccessAddress(db, after, userAgent);
    if (ip !== undefined || performance.now() > until) return ip;
    await sleep(100);
  }
}

/** Checks that nginx's internal location for packages does not answer from outside. */
async function checkInternal(site: Site): Promise<CommandFinding[]> {
  const { url, config, db } = site;
  const location = config.accelLocation ?? LOCATION_IN_EXAMPLE;
  const release = await smallestLatest(db, config.packagesDir);
  const name = packageFileName(release?.sha256 ?? '0'.repeat(64));
  const { status } = await ask(site, new URL(location + name, url.origin));
  if (status === 200 || status === 206)
    return [
      problem(
        'PACKAGES_PUBLIC',
        `${url.origin}${location} answers ${status}: packages can be downloaded without a key.`,
        {
          why: 'Anyone who knows the address of a package can download it without a licence.',
          remedy: `The location needs "internal;". ${RENEW_NGINX}`,
        },
      ),
    ];
  if (release === undefined)
    return [unchecked('PACKAGES_PUBLIC', 'No version is published, so this was tested without a package.')];
  return [ok('PACKAGES_PUBLIC', `${location} does not answer from outside (${status}).`)];
}

async function checkUpdates(site: Site): Promise<CommandFinding[]> {
  const { url, db, config } = site;
  const release = await smallestLatest(db, config.packagesDir);
  if (release === undefined)
    return [unchecked('UPDATES', 'No version is published, so the update check was not tested.')];
  const { productId, version } = release;
  const answer = await ask(site, at(url, `/updates/${productId}`));
  const offered = parse(answer.body)?.data?.version;
  const rollouts = await findRollouts(db, productId);
  return [release, ...rollouts].some((one) => one.version === offered)
    ? [ok('UPDATES', `The update check of product ${productId} offers version ${offered}.`)]
    : [
        problem(
          'UPDATES',
          `The update check of product ${productId} answers ${answer.status} and offers ${offered ?? 'nothing'}, while version ${version} is the latest.`,
          {
            why: 'Customers are not offered the update, or are offered one that they cannot download.',
            remedy:
              'A cache or CDN answers instead of the service: it must not store answers below the prefix (Cache-Control: no-store).',
          },
        ),
      ];
}

/** Downloads a package with a licence for this simulation, which is deleted afterwards. */
async function tryDownload(site: Site): Promise<CommandFinding[]> {
  const { url, db, config, now, progress } = site;
  const release = await smallestLatest(db, config.packagesDir);
  if (release === undefined)
    return [unchecked('DOWNLOAD', 'No package that could be downloaded is published.')];
  const { productId, version } = release;
  const covering = [productId, ...bundlesWith(await readCatalogue(db), productId).map(({ id }) => id)];
  const plan = (await listPlans(db)).find((one) => covering.includes(one.productId));
  if (plan === undefined)
    return [
      unchecked(
        'DOWNLOAD',
        `Product ${productId} has no plan, so there is no licence to test a download with.`,
      ),
    ];
  const key = generateKey();
  const userAgent = `${AS_JOOMLA.headers['User-Agent']} licensing-doctor/${token()}`;
  const after = await lastAccessId(db);
  await insertTrialLicense(db, key, plan, now());
  try {
    const hash = createHash('sha256');
    let size = 0;
    const answer = await ask(
      site,
      at(url, `/downloads/${productId}?version=${encodeURIComponent(version)}&dlid=${key}`),
      {
        headers: { 'User-Agent': userAgent },
        onChunk(chunk) {
          hash.update(chunk);
          size += chunk.length;
          progress(`Download: ${(size / 1e6).toFixed(0)} of ${(release.fileSize / 1e6).toFixed(0)} MB`);
        },
      },
    );
    await logged(db, after, userAgent);
    return [judgeDownload(answer, release, hash.digest('hex'), config.accelLocation)];
  } finally {
    await deleteSimulationLicense(db, keyDigest(key), userAgent, after);
  }
}

function judgeDownload(
  answer: HttpResponse,
  release: Release,
  sha256: string,
  accelLocation: string | undefined,
): CommandFinding {
  const { status, body } = answer;
  const what = `A download of product ${release.productId}, version ${release.version}, through ${accelLocation === undefined ? 'the service' : 'nginx'}`;
  const why = 'Every update of every customer ends like this.';
  if (header(answer, 'x-accel-redirect') !== '')
    return problem(
      'ACCEL_NOT_HONOURED',
      `${what} returns the header X-Accel-Redirect instead of the package.`,
      {
        why,
        remedy: `No nginx with the location ${accelLocation ?? ''} is in front of the service. ${RENEW_NGINX} Without nginx, unset LICENSING_ACCEL_LOCATION.`,
      },
    );
  if (status === 404 && body === API_TEXTS.FILE_NOT_FOUND)
    return problem('ACCEL_UNREADABLE', `${what} ends with "${API_TEXTS.FILE_NOT_FOUND}".`, {
      why,
      remedy:
        accelLocation === undefined
          ? 'The service cannot read LICENSING_PACKAGES_DIR: run this as the user it runs as.'
          : `"alias" of the location ${accelLocation} is not LICENSING_PACKAGES_DIR, or nginx's user may not read it. ${RENEW_NGINX}`,
    });
  if (status !== 200)
    return problem('DOWNLOAD', `${what} is answered with ${status}: ${excerpt(body)}.`, {
      why,
      remedy:
        'The logs of the service and of nginx (licensing.log) have the details. "licensing why" explains refusals.',
    });
  if (sha256 !== release.sha256)
    return problem('DOWNLOAD', `${what} returns a file that differs from the published package.`, {
      why: 'Joomla refuses the package for its checksum.',
      remedy:
        'Something changes it on the way (compression, a CDN, a virus scanner), or the file on disk is damaged: see PACKAGE_DAMAGED.',
    });
  if (!/filename="[^";]+\.zip"/.test(header(answer, 'content-disposition')))
    return problem('DOWNLOAD_NAME', `${what} arrives without a file name in Content-Disposition.`, {
      why: 'Joomla takes the ending .zip from there and cannot unpack the package without it.',
      remedy: `A proxy on the way drops the header. ${RENEW_NGINX}`,
    });
  return ok('DOWNLOAD', `${what} arrives whole (${release.fileSize} bytes), with its name.`);
}

async function insertTrialLicense(db: Db, key: string, plan: Plan, now: Date): Promise<void> {
  await inTransaction(db, (trx) =>
    insertLicenses(trx, [
      {
        keyDigest: keyDigest(key),
        keyHint: keyHint(key),
        keyStart: null,
        keySealed: null,
        foldedDigest: null,
        planId: plan.id,
        status: 'active',
        activationLimit: plan.activationLimit,
        customer: null,
        reference: null,
        metadata: null,
        issuedBy: null,
        // Let it expire soon, in case this process is killed before it deletes the licence.
        expiresAt: new Date(now.getTime() + TRIAL_LIFETIME_MS),
        createdAt: now,
      },
    ]),
  );
}

/** Returns the smallest version that is offered to all clients, because it downloads fastest. */
async function smallestLatest(db: Db, packagesDir: string): Promise<Release | undefined> {
  const latest: Release[] = [];
  for (const { id } of (await listProducts(db)).slice(0, MAX_PRODUCTS)) {
    const release = await findOffered(db, id, FULL_ROLLOUT);
    if (release && (await statPackage(packagesDir, release.sha256))) latest.push(release);
  }
  return latest.sort((a, b) => a.fileSize - b.fileSize)[0];
}

/** Returns an unusual loopback address, as 127.0.0.1 is the proxy's too. Only Linux has all of 127.0.0.0/8. */
async function unusualLoopback(hostname: string): Promise<string | undefined> {
  const { address } = await lookup(hostname.replace(/^\[(.*)\]$/, '$1'));
  return isIP(address) === 4 && address.startsWith('127.') && process.platform === 'linux'
    ? '127.94.0.7'
    : undefined;
}

function ask({ ca }: Site, url: URL, options: GetOptions = {}): Promise<HttpResponse> {
  return httpGet(url, { ca, ...options });
}

/** Returns an address of the service behind the site. */
export function at(url: URL, path: string): URL {
  return new URL(url.pathname.replace(/\/$/, '') + API_PATH + path, url.origin);
}

function token(): string {
  return randomBytes(8).toString('hex');
}

function redirectTarget(answer: HttpResponse): string {
  return excerpt(header(answer, 'location'));
}

function errorCode({ body }: HttpResponse): string | undefined {
  return parse(body)?.error?.code;
}

function parse(body: string): { error?: { code?: string }; data?: { version?: string } } | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function excerpt(text: string): string {
  return redactKeys(text.slice(0, 120)).trim() || 'nothing';
}
