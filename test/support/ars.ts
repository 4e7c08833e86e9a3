import type { Db } from '../../src/store/engine/database';

/** Tables of Akeeba Release System and Akeeba Subscriptions, and the site's own, as their installers create them. */

const TABLES: Record<string, string> = {
  users: `
    id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(400) NOT NULL DEFAULT '', username varchar(150) NOT NULL DEFAULT '',
    email varchar(100) NOT NULL DEFAULT '', password varchar(100) NOT NULL DEFAULT '', block tinyint NOT NULL DEFAULT 0`,
  usergroups: `
    id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, parent_id int unsigned NOT NULL DEFAULT 0,
    lft int NOT NULL DEFAULT 0, rgt int NOT NULL DEFAULT 0, title varchar(100) NOT NULL DEFAULT ''`,
  user_usergroup_map: `
    user_id int unsigned NOT NULL DEFAULT 0, group_id int unsigned NOT NULL DEFAULT 0, PRIMARY KEY (user_id, group_id)`,
  ars_dlidlabels: `
    id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL,
    \`primary\` tinyint(1) NOT NULL DEFAULT 0, title varchar(255) NOT NULL DEFAULT '', dlid char(32) NOT NULL,
    published tinyint(3) NOT NULL DEFAULT 1, created_by bigint NOT NULL DEFAULT 0, created datetime DEFAULT NULL`,
  ars_log: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL, item_id bigint unsigned NOT NULL,
    accessed_on datetime DEFAULT NULL, referer varchar(255) NOT NULL DEFAULT '', ip varchar(255) NOT NULL DEFAULT '',
    authorized tinyint(1) NOT NULL DEFAULT 1, KEY ars_log_userid (user_id)`,
  ars_categories: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, title varchar(255) NOT NULL, alias varchar(255) NOT NULL DEFAULT '',
    directory varchar(255) NOT NULL DEFAULT 'arsrepo', access int NOT NULL DEFAULT 0, published int NOT NULL DEFAULT 1`,
  ars_releases: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, category_id bigint unsigned NOT NULL, version varchar(255) NOT NULL,
    maturity enum('alpha','beta','rc','stable') NOT NULL DEFAULT 'beta', notes text NULL, created datetime NULL,
    published tinyint(1) NOT NULL DEFAULT 1`,
  ars_items: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, release_id bigint NOT NULL, title varchar(255) NOT NULL DEFAULT '',
    type enum('link','file'), filename varchar(255) NULL DEFAULT '', updatestream bigint unsigned DEFAULT NULL,
    sha256 varchar(64) DEFAULT NULL, published tinyint(1) NOT NULL DEFAULT 1, environments varchar(255) DEFAULT NULL`,
  ars_updatestreams: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(255) NOT NULL DEFAULT '', element varchar(255) NOT NULL,
    category bigint unsigned NOT NULL, client_id int NOT NULL DEFAULT 1, folder varchar(255) DEFAULT ''`,
  ars_environments: `
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, title varchar(100) NOT NULL DEFAULT '', xmltitle varchar(20) NOT NULL DEFAULT '1.0'`,
  akeebasubs_levels: `
    akeebasubs_level_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, title varchar(255) NOT NULL,
    slug varchar(255) NOT NULL DEFAULT '', duration int unsigned NOT NULL DEFAULT 365, forever tinyint NOT NULL DEFAULT 0,
    enabled tinyint NOT NULL DEFAULT 1`,
  akeebasubs_subscriptions: `
    akeebasubs_subscription_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL,
    akeebasubs_level_id bigint unsigned NOT NULL, publish_up datetime NOT NULL, publish_down datetime NOT NULL, notes text,
    enabled tinyint(1) NOT NULL DEFAULT 1, processor varchar(255) NOT NULL DEFAULT '',
    processor_key varchar(255) NOT NULL DEFAULT '', state enum('N','P','C','X') NOT NULL DEFAULT 'X'`,
};

export async function makeArs(db: Db, prefix: string, leaveOut: string[] = []): Promise<void> {
  for (const [name, columns] of Object.entries(TABLES))
    if (!leaveOut.includes(name))
      await db.raw(`CREATE TABLE ${prefix}${name} (${columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
}
