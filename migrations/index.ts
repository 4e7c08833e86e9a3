import type { Knex } from 'knex';
import * as exposures from './exposures';
import * as licenseDownloads from './license-downloads';
import * as noticeAudience from './notice-audience';
import * as releaseSboms from './release-sboms';
import * as returnedPayments from './returned-payments';
import * as schema from './schema';
import * as searchWords from './search-words';
import * as securityUpdates from './security-updates';

/**
 * The migrations in their order, by the names that the database stores. Until 1.0.0, change the tables in `schema/` and
 * increase the number at the end of its name.
 */
export const migrations: Record<string, Omit<Knex.Migration, 'down'>> = {
  '001_schema_6': schema,
  '002_search_words': searchWords,
  '003_security_updates': securityUpdates,
  '004_release_sboms': releaseSboms,
  '005_notice_audience': noticeAudience,
  '006_license_downloads': licenseDownloads,
  '007_returned_payments': returnedPayments,
  '008_exposures': exposures,
};

export const migrationNames = (): string[] => Object.keys(migrations);

/** Reports whether a version before 1.0.0 with other tables recorded this name, which the present version does not know. */
export const isOtherSchema = (name: string): boolean => name.startsWith('001_');

/** Rejects every rollback. Knex requires this function. */
const down = (): Promise<void> =>
  Promise.reject(new Error('No migration goes back: restore the backup made before it.'));

export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(migrationNames()),
  getMigrationName: (name) => name,
  getMigration: (name) => Promise.resolve({ down, ...migrations[name] } as Knex.Migration),
};
