import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connects, endProcess, eventually, hasEnded, startProcess } from './processes';

const IS_ROOT = process.getuid?.() === 0;

/** Starts a private PHP-FPM on php.sock in the folder. It serves two requests at once: a page may call its own site. */
export async function startPhp(folder: string): Promise<() => Promise<void>> {
  const socket = join(folder, 'php.sock');
  const conf = join(folder, 'php-fpm.conf');
  writeFileSync(
    conf,
    `[global]
error_log = ${folder}/php-fpm.log
daemonize = no
[www]
${IS_ROOT ? 'user = nobody' : ''}
listen = ${socket}
listen.mode = 0666
pm = static
pm.max_children = 2
`,
  );
  const child = startProcess(phpFpm(), ['-n', '-F', '-y', conf], { stdio: 'ignore' });
  await eventually(async () => {
    if (hasEnded(child))
      throw new Error(`PHP-FPM ended at its start.\n${readFileSync(join(folder, 'php-fpm.log'), 'utf8')}`);
    await connects({ path: socket });
  });
  return () => endProcess(child);
}

/** Returns the path of PHP-FPM, whose name contains PHP's version. */
function phpFpm(): string {
  const [name] = existsSync('/usr/sbin')
    ? readdirSync('/usr/sbin').filter((one) => one.startsWith('php-fpm'))
    : [];
  return name === undefined ? 'php-fpm' : `/usr/sbin/${name}`;
}
