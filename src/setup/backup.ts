import { chmod, chown, copyFile, mkdir, mkdtemp, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config';
import { OperatorError } from '../licensing/operator-error';
import { openDatabase, type Db } from '../store/database';
import type { MysqlSettings } from '../store/mysql';
import { sideFiles } from '../store/sqlite';
import { copySqlite, dropOwnTables, ownTables } from '../store/whole-tables';
import { lastLines, run, succeeds } from './machine';

/** A copy of the tables, and the way back to it, by the database's own programs with the service's own user. */

const DUMP = ['mariadb-dump', 'mysqldump'];
const CLIENT = ['mariadb', 'mysql'];

/** @param folder root's own @returns the file @throws OperatorError; no file is left then */
export async function backUpTables(
  db: Db,
  { database }: Pick<Config, 'database'>,
  folder: string,
  name: string,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${name}.${database.kind === 'sqlite' ? 'sqlite' : 'sql'}`);
  await rm(file, { force: true });
  try {
    if (database.kind === 'sqlite') await copySqlite(db, file);
    else await dump(database, await ownTables(db), file);
    await chmod(file, 0o600);
    return file;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

async function dump(database: MysqlSettings, tables: string[], file: string): Promise<void> {
  const program = await firstOf(DUMP);
  await writeFile(file, '', { mode: 0o600 });
  await withOptionsFile(database, async (options) => {
    const line = [
      program,
      options,
      ...['--single-transaction', '--no-tablespaces', '--skip-triggers', '--default-character-set=utf8mb4'],
      database.database,
      ...tables,
    ];
    const { code, stderr } = await run(line, { into: file });
    if (code !== 0 || !(await isComplete(file)))
      throw new OperatorError(
        `The backup failed, and nothing was changed: ${lastLines(stderr) || 'the file is not complete'}`,
      );
  });
}

/** The program writes this as its last line. */
async function isComplete(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, 200);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('latin1').includes('Dump completed');
  } finally {
    await handle.close();
  }
}

/** Drops the tables, and reads those of the backup. No service may use them meanwhile. @throws OperatorError */
export async function readBackTables(config: Config, file: string): Promise<void> {
  const { database } = config;
  if (database.kind === 'sqlite') {
    // Another file in its place, since who had it open may still hold locks on the old one.
    const fresh = `${database.path}.read-back`;
    const { uid, gid, mode } = await stat(database.path);
    await copyFile(file, fresh);
    await chown(fresh, uid, gid);
    await chmod(fresh, mode & 0o777);
    for (const path of sideFiles(database.path)) await rm(path, { force: true });
    await rename(fresh, database.path);
    return;
  }
  if (!(await isComplete(file)))
    throw new OperatorError(`The backup ${file} is not complete. Nothing was changed.`);
  const program = await firstOf(CLIENT);
  const db = openDatabase(database, config.tablePrefix, 1);
  try {
    await dropOwnTables(db);
  } finally {
    await db.destroy();
  }
  await withOptionsFile(database, async (options) => {
    const { code, stderr } = await run(
      [program, options, '--default-character-set=utf8mb4', database.database],
      { from: file },
    );
    if (code !== 0)
      throw new OperatorError(
        `The backup ${file} was not read to its end: ${lastLines(stderr)}\nMend this, and read it again: ${program} ${database.database} < ${file}`,
      );
  });
}

async function firstOf(programs: string[]): Promise<string> {
  for (const program of programs) if (await succeeds([program, '--version'])) return program;
  const [named = ''] = programs;
  throw new OperatorError(
    `The program ${named} is not on this machine, which a backup needs: apt-get install mariadb-client. --no-backup goes without.`,
  );
}

/** Passwords do not belong into a list of processes. */
async function withOptionsFile(
  { host, port, socketPath, user, password, tls }: MysqlSettings,
  work: (option: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'licensing-backup-'));
  try {
    const pem = async (name: string, text: string | undefined) => {
      if (text === undefined) return undefined;
      await writeFile(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const options: [string, string | undefined][] = [
      ['user', user],
      ['password', password],
      ...(socketPath === undefined
        ? ([
            ['host', host],
            ['port', String(port)],
            ['protocol', 'tcp'],
          ] as [string, string][])
        : ([['socket', socketPath]] as [string, string][])),
      ['ssl-ca', await pem('ca.pem', tls?.ca)],
      ['ssl-cert', await pem('cert.pem', tls?.cert)],
      ['ssl-key', await pem('key.pem', tls?.key)],
      // MySQL's programs have the one, MariaDB's the other.
      ['loose-ssl-mode', tls === undefined ? undefined : tls.verify ? 'VERIFY_IDENTITY' : 'REQUIRED'],
      ['loose-ssl-verify-server-cert', tls?.verify ? '1' : undefined],
      ['loose-ssl', tls === undefined ? undefined : '1'],
    ];
    const lines = options.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}="${quoted(value)}"\n`],
    );
    await writeFile(join(folder, 'my.cnf'), `[client]\n${lines.join('')}`, { mode: 0o600 });
    await work(`--defaults-extra-file=${join(folder, 'my.cnf')}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As these programs read a value in double quotes. */
function quoted(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
