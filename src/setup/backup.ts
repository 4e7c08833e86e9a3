import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';
import { lookAt, PRIVATE, replaceFile } from '../packages/replace-file';
import { openDatabase, type Db } from '../store/engine/database';
import type { MysqlSettings } from '../store/engine/mysql';
import { companionFiles } from '../store/engine/sqlite';
import { copySqlite, dropOwnTables, ownTables } from '../store/engine/whole-tables';
import { heldLock } from './lock';
import { lastLines, runLine, exitsWithZero } from './machine';

/** A backup of the tables and its restoration, by the database's own programs, run as the service's own database user. */

export { countRowsSince, readHighestIds, type HighestIds } from '../store/engine/whole-tables';

const DUMP = ['mariadb-dump', 'mysqldump'];
const CLIENT = ['mariadb', 'mysql'];

/** @param folder a folder that belongs to root @returns the file @throws OperatorError; then no file is left */
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
    for (const path of [file, folder]) await keep(path);
    return file;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Writes the file to the disk: the tables change next, and a power failure would otherwise leave an empty file. */
async function keep(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function dump(database: MysqlSettings, tables: string[], file: string): Promise<void> {
  const program = await firstOf(DUMP);
  await writeFile(file, '', { mode: 0o600 });
  await withOptionsFile(database, async (options) => {
    const line = [
      ...options(program),
      ...['--single-transaction', '--no-tablespaces', '--skip-triggers', '--default-character-set=utf8mb4'],
      database.database,
      ...tables,
    ];
    const { code, stderr } = await runLine(line, { into: file });
    if (code !== 0 || !(await isComplete(file)))
      throw new OperatorError(
        `The backup failed, and nothing was changed: ${lastLines(stderr) || 'the file is not complete'}`,
      );
  });
}

/** Reports whether the dump is complete: its program writes this text as the last line. */
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

/** @throws OperatorError if the backup cannot be restored; call it before a service is stopped for the restoration */
export async function requireReadable({ database }: Pick<Config, 'database'>, file: string): Promise<void> {
  if (database.kind === 'sqlite') return;
  if (!(await isComplete(file)))
    throw new OperatorError(`The backup ${file} is not complete. Nothing was changed.`);
  await firstOf(CLIENT);
}

/** Drops the tables, and restores those of the backup. No service may use them meanwhile. @throws OperatorError */
export async function readBackTables(config: Config, file: string): Promise<void> {
  const { database } = config;
  await requireReadable(config, file);
  if (database.kind === 'sqlite') {
    // The file is replaced, because a process that had the old one open may still hold locks on it.
    const place = await lookAt(database.path);
    const { there, target } = place;
    await replaceFile(place, there === undefined ? PRIVATE : there.mode & 0o777, async (_sink, handle) => {
      for await (const chunk of createReadStream(file)) await handle.writeFile(chunk as Buffer);
      if (there !== undefined) await handle.chown(there.uid, there.gid);
      for (const path of companionFiles(target)) await rm(path, { force: true });
    });
    return;
  }
  const program = await firstOf(CLIENT);
  const db = openDatabase(database, config.tablePrefix, 1);
  try {
    await dropOwnTables(db);
  } finally {
    await db.destroy();
  }
  await withOptionsFile(database, async (options) => {
    const { code, stderr } = await runLine(
      [...options(program), '--default-character-set=utf8mb4', database.database],
      // It continues if this process is killed, and no other run may drop the tables meanwhile.
      { from: file, pass: heldLock() },
    );
    if (code !== 0)
      throw new OperatorError(
        `The backup ${file} was not read to its end: ${lastLines(stderr)}\nThe service is stopped. Fix this, and run it again.`,
      );
  });
}

async function firstOf(programs: string[]): Promise<string> {
  for (const program of programs) if (await exitsWithZero([program, '--version'])) return program;
  const [named = ''] = programs;
  throw new OperatorError(
    `A backup needs the program ${named}, which is not on this machine: apt-get install mariadb-client. To make no backup: --no-backup.`,
  );
}

/**
 * Keeps passwords out of the list of processes. No other options file is read: root's own would name another user or
 * server.
 */
async function withOptionsFile(
  { host, port, socketPath, user, password, tls }: MysqlSettings,
  work: (line: (program: string) => string[]) => Promise<void>,
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
      // MySQL's programs know the first of these options, MariaDB's the others.
      ['loose-ssl-mode', tls === undefined ? undefined : tls.verify ? 'VERIFY_IDENTITY' : 'REQUIRED'],
      // Newer programs of MariaDB otherwise verify what the service does not verify.
      ['loose-ssl-verify-server-cert', tls?.verify ? '1' : '0'],
      ['loose-ssl', tls === undefined ? undefined : '1'],
    ];
    const lines = options.flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}="${quoted(value)}"\n`],
    );
    // Otherwise MySQL's dump needs a privilege that a site's user lacks, for global transaction ids, and a table that
    // MariaDB does not have.
    const ofDump = '[mysqldump]\nloose-set-gtid-purged=OFF\nloose-column-statistics=0\n';
    await writeFile(join(folder, 'my.cnf'), `[client]\n${lines.join('')}${ofDump}`, { mode: 0o600 });
    // MySQL's programs also read ~/.mylogin.cnf.
    await work((program) => ['env', `HOME=${folder}`, program, `--defaults-file=${join(folder, 'my.cnf')}`]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Escapes a value as these programs read it in double quotes. */
function quoted(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
