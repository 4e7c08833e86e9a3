import { isSqlite, type Db } from '../../src/store/engine/database';

/** Tables of Membership Pro in the form of its installer: columns and types that a move reads, and some others. */

const TABLES: Record<string, string> = {
  osmembership_plans: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, category_id int DEFAULT 0, title varchar(255) DEFAULT NULL,
    subscription_length int DEFAULT NULL, subscription_length_unit char(1) DEFAULT NULL,
    lifetime_membership tinyint UNSIGNED NOT NULL DEFAULT 0, price decimal(10,2) DEFAULT 0, published tinyint DEFAULT 1`,
  osmembership_documents: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, plan_id int DEFAULT 0, ordering int NOT NULL DEFAULT 0,
    title varchar(224) DEFAULT NULL, attachment varchar(225) DEFAULT NULL, update_package varchar(225) DEFAULT NULL`,
  osmembership_plan_documents: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, plan_id int DEFAULT 0, document_id int DEFAULT 0,
    KEY idx_plan_id (plan_id), KEY idx_document_id (document_id)`,
  osmembership_subscribers: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, plan_id int NOT NULL DEFAULT 0, user_id int NOT NULL DEFAULT 0,
    first_name varchar(100) DEFAULT NULL, last_name varchar(100) DEFAULT NULL, email varchar(100) DEFAULT NULL,
    from_date datetime DEFAULT NULL, to_date datetime DEFAULT NULL, created_date datetime DEFAULT NULL,
    published tinyint UNSIGNED DEFAULT NULL, transaction_id varchar(100) DEFAULT NULL, act varchar(50) DEFAULT NULL,
    plan_main_record tinyint NOT NULL DEFAULT 0, plan_subscription_status tinyint NOT NULL DEFAULT 0,
    plan_subscription_from_date datetime NULL, plan_subscription_to_date datetime NULL,
    KEY idx_plan_id (plan_id), KEY idx_user_id (user_id), KEY idx_email (email)`,
  osmembership_downloadids: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id int DEFAULT 0, download_id varchar(50) DEFAULT NULL,
    created_date datetime DEFAULT NULL, domain varchar(255) DEFAULT NULL, published tinyint UNSIGNED DEFAULT NULL`,
  osmembership_downloadlogs: `
    id int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, download_id int DEFAULT 0, document_id int DEFAULT 0,
    version varchar(50) DEFAULT NULL, download_date datetime DEFAULT NULL, domain varchar(255) DEFAULT NULL,
    server_ip varchar(50) DEFAULT NULL`,
};

export async function makeMembershipPro(db: Db, prefix: string): Promise<void> {
  for (const [name, columns] of Object.entries(TABLES))
    await db.raw(
      isSqlite(db)
        ? `CREATE TABLE ${prefix}${name} (${forSqlite(columns)})`
        : `CREATE TABLE ${prefix}${name} (${columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8`,
    );
}

/** Returns the columns without indexes. */
function forSqlite(columns: string): string {
  return columns
    .replace('int UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY', 'integer PRIMARY KEY')
    .replaceAll(/ UNSIGNED|,\s*KEY \w+ \(\w+\)/g, '');
}

export const MEMBERSHIP_PRO_TABLES = Object.keys(TABLES);

/** Inserts rows: undefined columns have their defaults. */
export async function fillTable(
  db: Db,
  prefix: string,
  rows: Record<string, Record<string, unknown>[]>,
): Promise<void> {
  for (const [name, all] of Object.entries(rows))
    for (let i = 0; i < all.length; i += 500) await db(`${prefix}${name}`).insert(all.slice(i, i + 500));
}
