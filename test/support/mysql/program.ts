import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** MySQL as unpack.sh leaves it, with its own loader and C library instead of those of the system. */

/** True if the tests run on MySQL instead of MariaDB. */
export const ON_MYSQL = process.env.TEST_MYSQL !== undefined;

/** Returns the loader with its options to run `mysqld`, before the server's own options. */
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

/** Returns a table of the numbers from..to in a column `seq` for a FROM, because MySQL has no engine for it. */
export function sequence(from: number, to: number): string {
  return ON_MYSQL
    ? `(WITH RECURSIVE numbers AS (SELECT ${from} AS seq UNION ALL SELECT seq + 1 FROM numbers WHERE seq < ${to}) SELECT seq FROM numbers) AS numbers`
    : `seq_${from}_to_${to}`;
}
