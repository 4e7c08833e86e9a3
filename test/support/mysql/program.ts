import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** MySQL itself, as unpack.sh leaves it: with its own loader and C library, so the system's own do not matter. */

/** Whether the tests run on MySQL in MariaDB's place. */
export const ON_MYSQL = process.env.TEST_MYSQL !== undefined;

/** @returns the loader and what makes it run `mysqld`, up to the options of a server */
export function mysqlProgram(): [command: string, ...before: string[]] {
  const root = resolve(process.env.TEST_MYSQL as string);
  const libraries = join(root, 'usr/lib');
  const machine = readdirSync(libraries).find((name) => name.endsWith('-linux-gnu')) as string;
  const loader = ['lib64/ld-linux-x86-64.so.2', 'lib/ld-linux-aarch64.so.1'].find((path) =>
    existsSync(join(root, path)),
  );
  return [
    join(root, loader as string),
    '--library-path',
    join(libraries, machine),
    join(root, 'usr/sbin/mysqld'),
    '--no-defaults',
    `--basedir=${join(root, 'usr')}`,
    `--lc-messages-dir=${join(root, 'usr/share/mysql')}`,
    '--secure-file-priv=',
    '--mysqlx=OFF',
    '--cte-max-recursion-depth=10000000',
  ];
}

/** A table of the numbers from..to in a column `seq`, for the FROM of a statement: MySQL has no engine for it. */
export function sequence(from: number, to: number): string {
  return ON_MYSQL
    ? `(WITH RECURSIVE numbers AS (SELECT ${from} AS seq UNION ALL SELECT seq + 1 FROM numbers WHERE seq < ${to}) SELECT seq FROM numbers) AS numbers`
    : `seq_${from}_to_${to}`;
}
