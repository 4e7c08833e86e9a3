import { createHmac, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection, type Connection } from 'mysql2/promise';
import { temporaryFolder } from './processes';
import { createMariaDbDatabase } from './service';

/** The part of a Joomla site that decides who may use its API: six tables and configuration.php. */

export const SITE_PREFIX = 'jos_';

/** The columns that matter here, with the types that Joomla 4.4 to 6.1 give them. */
const TABLES = `
CREATE TABLE jos_users (
  id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name varchar(400) NOT NULL DEFAULT '',
  username varchar(150) NOT NULL DEFAULT '',
  block tinyint NOT NULL DEFAULT 0,
  activation varchar(100) NOT NULL DEFAULT '',
  requireReset tinyint NOT NULL DEFAULT 0
);
CREATE TABLE jos_user_profiles (
  user_id int NOT NULL,
  profile_key varchar(100) NOT NULL,
  profile_value text NOT NULL,
  ordering int NOT NULL DEFAULT 0,
  UNIQUE KEY idx_user_id_profile_key (user_id, profile_key)
);
CREATE TABLE jos_user_usergroup_map (
  user_id int unsigned NOT NULL DEFAULT 0,
  group_id int unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, group_id)
);
CREATE TABLE jos_usergroups (
  id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
  parent_id int unsigned NOT NULL DEFAULT 0,
  lft int NOT NULL DEFAULT 0,
  rgt int NOT NULL DEFAULT 0,
  title varchar(100) NOT NULL DEFAULT ''
);
CREATE TABLE jos_extensions (
  extension_id int NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name varchar(100) NOT NULL,
  type varchar(20) NOT NULL,
  element varchar(100) NOT NULL,
  folder varchar(100) NOT NULL,
  client_id tinyint NOT NULL,
  enabled tinyint NOT NULL DEFAULT 0,
  params text NOT NULL
);
CREATE TABLE jos_assets (
  id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
  parent_id int NOT NULL DEFAULT 0,
  name varchar(50) NOT NULL,
  rules varchar(5120) NOT NULL
);`;

/** Groups after installation: 1 Public has 2 Registered, 6 Manager, 8 Super Users; 7 Administrator is below Manager. */
const ROWS = `
INSERT INTO jos_usergroups (id, parent_id, lft, rgt, title) VALUES
  (1, 0, 1, 12, 'Public'), (2, 1, 2, 3, 'Registered'), (6, 1, 4, 7, 'Manager'), (7, 6, 5, 6, 'Administrator'),
  (8, 1, 8, 11, 'Super Users'), (20, 8, 9, 10, 'Owners');
INSERT INTO jos_extensions (name, type, element, folder, client_id, enabled, params) VALUES
  ('plg_api-authentication_token', 'plugin', 'token', 'api-authentication', 0, 1, '{}'),
  ('plg_user_token', 'plugin', 'token', 'user', 0, 1, '{}'),
  ('plg_user_joomla', 'plugin', 'joomla', 'user', 0, 1, '{}'),
  ('tpl_token', 'template', 'token', 'user', 0, 0, '{"allowedUserGroups":[]}');
INSERT INTO jos_assets (id, parent_id, name, rules) VALUES
  (1, 0, 'root.1', '{"core.login.site":{"6":1,"2":1},"core.login.api":{"8":1},"core.admin":{"8":1}}'),
  (2, 1, 'com_admin', '{"core.admin":{"2":1},"core.login.api":{"2":1}}');`;

export interface TestSite {
  root: string;
  /** the address of its database, for LICENSING_DATABASE_URL */
  url: string;
  database: string;
  connection: Connection;
  secret: string;
  /** Writes configuration.php. */
  configure(values?: Record<string, string>): void;
  run(sql: string, values?: (string | number)[]): Promise<void>;
  /** Adds an account with an enabled token. */
  addUser(login: string, groups: number[]): Promise<TestUser>;
  stop(): Promise<void>;
}

export interface TestUser {
  id: number;
  login: string;
  seed: Buffer;
  token: string;
}

/** Returns a token as Joomla's form shows it. */
export function siteToken(
  id: number | string,
  seed: Buffer,
  secret: string,
  algorithm: 'sha256' | 'sha512' = 'sha256',
): string {
  const hmac = createHmac(algorithm, secret).update(seed).digest('hex');
  return Buffer.from(`${algorithm}:${id}:${hmac}`).toString('base64');
}

export async function startTestSite(): Promise<TestSite> {
  const url = await createMariaDbDatabase();
  const database = url.split('/').at(-1) as string;
  const connection = await createConnection({
    socketPath: process.env.TEST_MARIADB_SOCKET as string,
    user: 'root',
    database,
    multipleStatements: true,
  });
  await connection.query("SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES'");
  await connection.query(TABLES + ROWS);
  const root = temporaryFolder();
  const secret = randomBytes(12).toString('base64url');
  const configure = (values: Record<string, string> = {}) => {
    const all = {
      dbtype: 'mysqli',
      host: `127.0.0.1:${process.env.TEST_MARIADB_PORT as string}`,
      user: 'root',
      password: '',
      db: database,
      dbprefix: SITE_PREFIX,
      secret,
      ...values,
    };
    const lines = Object.entries(all).map(([name, value]) => `\tpublic $${name} = '${value}';\n`);
    writeFileSync(join(root, 'configuration.php'), `<?php\nclass JConfig {\n${lines.join('')}}`);
  };
  configure();
  const run = async (sql: string, values: (string | number)[] = []) => {
    await connection.query(sql, values);
  };
  return {
    root,
    url,
    database,
    connection,
    secret,
    configure,
    run,
    async addUser(login, groups) {
      const [{ insertId: id }] = (await connection.query(
        'INSERT INTO jos_users (name, username) VALUES (?, ?)',
        [login, login],
      )) as unknown as [{ insertId: number }];
      for (const group of groups) await run('INSERT INTO jos_user_usergroup_map VALUES (?, ?)', [id, group]);
      const seed = randomBytes(32);
      await run(
        "INSERT INTO jos_user_profiles VALUES (?, 'joomlatoken.token', ?, 1), (?, 'joomlatoken.enabled', '1', 2)",
        [id, seed.toString('base64'), id],
      );
      return { id, login, seed, token: siteToken(id, seed, secret) };
    },
    stop: () => connection.end(),
  };
}
