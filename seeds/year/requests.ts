import { recordRefusals } from '../../src/store/refusals';
import { insertAccesses, type Access } from '../../src/store/access-log';
import { recordChecks } from '../../src/store/licenses/licenses';
import { keyHint } from '../../src/licensing/core/keys';
import { createSiteRecorder, SPREAD_FACTOR, REPORTED_SITE_DAYS } from '../../src/licensing/spreading';
import { isPrerelease } from '../../src/licensing/versions';
import { VERSIONS, type Version } from './catalogue';
import { DAY_MS, later, licenseOf, type Shop, type Site, type Sold } from './shop';

/** Plans the requests of customers' sites. Each site looks for updates at its own interval while it exists. */

const USER_AGENTS = ['Joomla/5.4.0', 'Joomla/5.3.0', 'Joomla/4.4.14', 'Joomla/6.0.1'];
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** The number of refusals after which most users stop trying to update. */
const PATIENCE = 3;

export function planRequests(shop: Shop): void {
  for (const sold of shop.sold)
    for (const site of sold.sites) for (const productId of site.products) live(shop, sold, site, productId);
}

/** Returns the request of a licence's site that used the licence's main key. */
export function accessOf(
  sold: Sold,
  access: Pick<Access, 'at' | 'endpoint' | 'outcome' | 'ip'> & Partial<Access>,
): Access {
  const license = licenseOf(sold);
  return {
    ...{ licenseId: license.id, keyId: license.mainKeyId, keyHint: license.keyHint },
    ...{ productId: null, version: null, identifier: null, userAgent: USER_AGENTS[0] as string },
    ...{ site: null, installedVersion: null },
    ...access,
  };
}

/** Returns a request with an unknown key. @param key undefined if the request has no key */
export function strangersAccess(
  access: Pick<Access, 'at' | 'endpoint' | 'outcome' | 'ip'> & Partial<Access>,
  key?: string,
): Access {
  return {
    ...{ licenseId: null, keyId: null, keyHint: key === undefined ? null : keyHint(key) },
    ...{ productId: null, version: null, identifier: null, userAgent: USER_AGENTS[0] as string },
    ...{ site: null, installedVersion: null },
    ...access,
  };
}

/** Returns the reason for a refused update, or `ok`. */
function outcomeAt({ terms, stopped, graceDays }: Sold, at: Date): string {
  if (stopped !== undefined && stopped <= at) return 'LICENSE_INACTIVE';
  return terms.some(({ from, end }) => from <= at && at < later(end, graceDays)) ? 'ok' : 'LICENSE_EXPIRED';
}

function live({ chance, now, accesses }: Shop, sold: Sold, site: Site, productId: number): void {
  const { name, ip, since, tells, habit } = site;
  const isEarly = chance.happens(0.25);
  const userAgent = chance.pick(USER_AGENTS);
  const first = newest(productId, since, now, isEarly);
  if (first === undefined || since > now) return;
  let installed: string = first.version;
  const common = { productId, ip, userAgent };
  if (outcomeAt(sold, since) === 'ok')
    accesses.push(
      accessOf(sold, {
        at: since,
        endpoint: 'download',
        outcome: 'ok',
        ...common,
        userAgent: BROWSER,
        version: installed,
      }),
    );
  let refused = 0;
  let hasToTell = false;
  for (let at = later(since, 0.2 + chance.wait(habit)); at < now; at = later(at, 0.2 + chance.wait(habit))) {
    const told = tells ? { site: name, installedVersion: installed } : {};
    const offered: string = newest(productId, at, now, isEarly)?.version ?? installed;
    if (offered === installed) {
      if (tells && hasToTell)
        accesses.push(
          accessOf(sold, { at, endpoint: 'check', outcome: 'ok', ...common, ...told, version: installed }),
        );
      hasToTell = false;
      continue;
    }
    const outcome = outcomeAt(sold, at);
    if (outcome !== 'ok' && refused >= PATIENCE && !chance.happens(0.03)) continue;
    accesses.push(
      accessOf(sold, { at, endpoint: 'download', outcome, ...common, ...told, version: offered }),
    );
    if (outcome !== 'ok') refused++;
    else [installed, refused, hasToTell] = [offered, 0, true];
  }
}

/** Returns the version that a site was offered. @param isEarly true for a site at the beginning of a rollout */
function newest(productId: number, at: Date, now: Date, isEarly: boolean): Version | undefined {
  const ago = (now.getTime() - at.getTime()) / DAY_MS;
  return OFFERED.find(
    (one) =>
      one.productId === productId &&
      one.daysAgo >= ago &&
      (isEarly || one.rollout === undefined) &&
      (one.withdrawnDaysAgo === undefined || one.withdrawnDaysAgo < ago),
  );
}

/** The offered versions in descending order. */
const OFFERED = VERSIONS.filter(({ draft, version }) => !draft && !isPrerelease(version)).reverse();

const ROWS_AT_ONCE = 400;

/** Writes the requests like the service, in the order of their times. */
export async function writeRequests({ db, accesses, now }: Shop): Promise<void> {
  accesses.sort((a, b) => a.at.getTime() - b.at.getTime());
  const keepTold = createSiteRecorder(db, SPREAD_FACTOR);
  for (let i = 0; i < accesses.length; i += ROWS_AT_ONCE) {
    const rows = accesses.slice(i, i + ROWS_AT_ONCE);
    await recordRefusals(db, rows);
    // Skip older reports, because the service has already deleted them.
    await keepTold(rows.filter(({ at }) => at > later(now, -REPORTED_SITE_DAYS)));
    await insertAccesses(db, rows);
  }
}

const CHECKS_AT_ONCE = 100;

/** Writes the daily checks of software on sites that report versions, until they stop. */
export async function writeChecks({ db, sold, chance, now }: Shop): Promise<void> {
  const checks = sold.flatMap(({ license, sites, terms }) => {
    const site = sites.find(({ tells }) => tells);
    const end = terms.at(-1)?.end as Date;
    const latest = later(end < now ? end : now, -chance.between(0, 1));
    if (license === undefined || site === undefined || latest < site.since) return [];
    const days = (latest.getTime() - site.since.getTime()) / DAY_MS;
    return [{ licenseId: license.id, calls: 1 + Math.floor(days), at: latest, ip: site.ip }];
  });
  for (let i = 0; i < checks.length; i += CHECKS_AT_ONCE)
    await recordChecks(db, checks.slice(i, i + CHECKS_AT_ONCE));
}
