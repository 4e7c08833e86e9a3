import type { Knex } from 'knex';
import { addColumns } from './steps';
import { columnTypes } from './tables';

/** Adds the columns of the support period, the branches of versions, advisories, and returned payments. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'products', {
    // The last month with security updates, such as 2031-12.
    support_until: `${t.ascii(7)} NULL`,
    // The versions that count as one branch, in which a fix is free: minor, major or any.
    security_branch: `${t.ascii(16)} NOT NULL DEFAULT 'minor'`,
  });
  await addColumns(knex, 'releases', {
    // Advice for the users of a security release, in Markdown.
    advisory: `${t.longText} NULL`,
    // The names of the vulnerabilities that it closes, as a JSON list.
    cve: `${t.ascii(2000)} NULL`,
    // The release whose fix it brings to another branch.
    same_fix_as: `${t.smallRef} NULL`,
  });
  // Whether all payments were given back, so that nothing remains after the end.
  await addColumns(knex, 'licenses', { all_returned: `${t.flag} NOT NULL DEFAULT 0` });
}
