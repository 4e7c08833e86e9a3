import { listRequestPage } from '../licensing/lists';
import type { License } from '../licensing/licenses';
import { latestOf } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { listToldSitesOf } from '../store/told';

/** The latest that is known of a licence's use. */
export interface LastSeen {
  at: Date;
  /** as identifiers are stored; null: nobody told it */
  site: string | null;
  ip: string | null;
  /** that is installed there; null: nobody told it */
  installed: string | null;
  /** that was asked for */
  asked: string | null;
}

/** From the access log, checks of the key, and what sites told. @returns undefined: nothing was ever asked with it */
export async function findLastSeen(
  db: Db,
  { id, lastCheckAt, lastCheckIp }: Pick<License, 'id' | 'lastCheckAt' | 'lastCheckIp'>,
): Promise<LastSeen | undefined> {
  const {
    items: [access],
  } = await listRequestPage(db, { licenseId: id }, { limit: 1 });
  const [told] = await listToldSitesOf(db, [id], 1);
  const found: LastSeen[] = [
    ...(access === undefined
      ? []
      : [
          {
            at: latestOf(access),
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
  // Of the same moment, what says where.
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
