import { listRequestPage } from '../licensing/lists';
import type { License } from '../licensing/licenses';
import { lastSeenAt } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { listReportedSitesOf } from '../store/reported-sites';

/** The latest known use of a licence. */
export interface LastSeen {
  at: Date;
  /** in the form that identifiers are stored in; null: not reported */
  site: string | null;
  ip: string | null;
  /** the version installed there; null: not reported */
  installed: string | null;
  /** the requested version */
  asked: string | null;
}

/** Finds the latest use in the access log, checks of the key, and reports of sites. @returns undefined without any */
export async function findLastSeen(
  db: Db,
  { id, lastCheckAt, lastCheckIp }: Pick<License, 'id' | 'lastCheckAt' | 'lastCheckIp'>,
): Promise<LastSeen | undefined> {
  const {
    items: [access],
  } = await listRequestPage(db, { licenseId: id }, { limit: 1 });
  const [told] = await listReportedSitesOf(db, [id], 1);
  const found: LastSeen[] = [
    ...(access === undefined
      ? []
      : [
          {
            at: lastSeenAt(access),
            site: access.site,
            ip: access.ip,
            installed: access.installedVersion,
            asked: access.version,
          },
        ]),
    ...(told === undefined
      ? []
      : [{ at: told.at, site: told.site, ip: null, installed: told.version, asked: null }]),
    ...(lastCheckAt === null
      ? []
      : [{ at: lastCheckAt, site: null, ip: lastCheckIp, installed: null, asked: null }]),
  ];
  // A use with a site wins over another one at the same moment.
  return found.reduce<LastSeen | undefined>(
    (latest, one) =>
      latest === undefined ||
      one.at > latest.at ||
      (one.at.getTime() === latest.at.getTime() && latest.site === null && one.site !== null)
        ? one
        : latest,
    undefined,
  );
}
