import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { readConfig } from '../../src/settings/config';
import { composeTest } from '../../src/mail/compose';
import { toMailFailure } from '../../src/mail/failures';
import { listAllMails, queueMail } from '../../src/mail/queue';
import { createMailTransport } from '../../src/mail/transport';
import { table } from '../../src/store/engine/database';
import { toSqlTime } from '../../src/store/engine/time';
import { operator } from '../support/operator';
import { eventually, startProcess, temporaryFolder } from '../support/processes';
import { entry } from '../support/program';
import { openMigrated, processEnvironment } from '../support/service-process';

/** Joomla's default way to send, the program sendmail, in a service that systemd denies new privileges. */

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Writes a program to its own folder. Unlike in the folder for temporary files, no other user can write there. */
function program(name: string, commands: string, mode = 0o755): string {
  const path = join(temporaryFolder('.licensing-test', homedir()), name);
  writeFileSync(path, `#!/bin/sh\n${commands}\n`);
  chmodSync(path, mode);
  return path;
}

async function send(path: string, gainsNoRights: boolean): Promise<string> {
  const { mailTexts: texts } = readConfig(
    { LICENSING_ENV_FILE: '/dev/null' },
    { LICENSING_DATABASE_URL: 'sqlite:x' },
  );
  const from = { address: 'shop@shop.example', name: 'Shop' };
  const composed = composeTest(
    'jane@example.com',
    { language: 'en', messageId: 'abc' },
    { texts, shopName: 'Shop', publicUrl: 'https://shop.example' },
  );
  const settings = { route: { kind: 'sendmail' as const, path }, from, source: 'test' };
  const transport = createMailTransport(settings, { gainsNoRights });
  return transport.send(composed, from, AbortSignal.timeout(30_000)).catch((error: unknown) => {
    const { stored, said } = toMailFailure(error);
    return `${stored}${said === undefined ? '' : `: ${said}`}`;
  });
}

test('a program that needs no privileges also sends under NoNewPrivileges', async () => {
  const taken = join(temporaryFolder(), 'taken');
  const path = program(
    'sendmail',
    `cat > ${taken}; grep NoNewPrivs /proc/self/status >> ${taken}; echo "$@" >> ${taken}`,
  );
  expect(await send(path, true)).toBe('queued by sendmail');
  const mail = readFileSync(taken, 'utf8');
  expect(mail).toContain('To: jane@example.com');
  expect(mail).toMatch(/NoNewPrivs:\s1\n-i -f shop@shop\.example -- jane@example\.com\n$/);
  // msmtp may be setgid, which it needs only to read a password.
  expect(await send(program('msmtp', 'cat > /dev/null', 0o2755), true)).toBe('queued by sendmail');
});

test('a program that needs privileges is refused where the unit denies them, and used elsewhere', async () => {
  for (const mode of [0o4755, 0o2755]) {
    const path = program('sendmail', 'cat > /dev/null', mode);
    expect(await send(path, true)).toBe('SENDMAIL_RIGHTS');
    expect(await send(path, false)).toBe('queued by sendmail');
  }
  // Postfix's sendmail is not setgid, but it runs postdrop, which is.
  const postfix = program('sendmail', 'cat > /dev/null');
  writeFileSync(join(postfix, '../postdrop'), '');
  chmodSync(join(postfix, '../postdrop'), 0o2755);
  expect(await send(postfix, true)).toBe('SENDMAIL_RIGHTS');
});

test("the operator who sends the test reads the program's message", async () => {
  expect(
    await send(program('sendmail', 'cat > /dev/null; echo "no account for shop" >&2; exit 78'), true),
  ).toBe('SENDMAIL: no account for shop');
});

test('a program that another user can change, or that is not a mail program, is not run', async () => {
  const proof = join(temporaryFolder(), 'proof');
  const own = program('sendmail', `cat > /dev/null; touch ${proof}`);
  const shared = join(temporaryFolder(), 'sendmail');
  writeFileSync(shared, readFileSync(own), { mode: 0o755 });
  const link = (name: string, to: string) => {
    const path = join(dirname(own), name);
    symlinkSync(to, path);
    return path;
  };
  const changeable = program('sendmail', `touch ${proof}`, 0o775);
  const inOpenFolder = program('sendmail', `touch ${proof}`);
  chmodSync(dirname(inOpenFolder), 0o777);
  // As a shell, it would run the file that has the sender's name.
  const shell = program('sh', `touch ${proof}`);
  const notRun = [shared, link('sendmail.a', shared), link('sendmail.b', changeable), changeable];
  for (const path of [...notRun, inOpenFolder, shell, '/bin/sh'])
    expect([path, await send(path, false)]).toEqual([path, 'SENDMAIL_OWNER']);
  expect(existsSync(proof)).toBe(false);
  // /usr/sbin/sendmail is often such a link.
  expect(await send(link('sendmail.c', 'sendmail'), false)).toBe('queued by sendmail');
  expect(existsSync(proof)).toBe(true);
});

/** Makes a Joomla site that sends with this program, and a machine whose unit denies new privileges. */
function machine(sendmail: string) {
  const root = temporaryFolder();
  const bin = join(root, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'systemctl'),
    '#!/bin/sh\nprintf "Id=licensing@1.service\\nActiveState=active\\nNoNewPrivileges=yes\\nEnvironment=\\n"\n',
    { mode: 0o755 },
  );
  writeFileSync(
    join(root, 'configuration.php'),
    `<?php\nclass JConfig {\n\tpublic $dbtype = 'mysqli';\n\tpublic $host = '127.0.0.1';\n\tpublic $user = 'u';\n\tpublic $password = 'p';\n\tpublic $db = 'd';\n\tpublic $dbprefix = '';\n\tpublic $mailer = 'mail';\n\tpublic $mailfrom = 'shop@shop.example';\n\tpublic $sendmail = '${sendmail}';\n}\n`,
  );
  const settings = {
    LICENSING_JOOMLA_ROOT: root,
    LICENSING_DATABASE_URL: `sqlite:${join(root, 'test.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(root, 'packages'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_LISTEN: '127.0.0.1:0',
    LICENSING_ADMIN_LISTEN: '127.0.0.1:0',
  };
  return { settings, env: { PATH: `${bin}:${process.env.PATH as string}` } };
}

const REMEDY = 'licensing settings set mail_url smtp://localhost:25?from=shop@shop.example';

test('the command and the doctor find the same fault as the service, which logs it at its start', async () => {
  const { settings, env } = machine(program('sendmail', 'cat > /dev/null', 0o2755));
  const db = await openMigrated(settings);
  stops.push(() => db.destroy());
  const command = operator(settings);
  const sent = await command.run(['mail', 'test', 'jane@example.com'], { env, ownProcess: true });
  expect(sent).toMatchObject({ code: 1, stderr: expect.stringContaining('NoNewPrivileges') });
  expect(sent.stderr).toContain(REMEDY);
  const { stdout } = await command.run(['doctor', '--json'], { env, ownProcess: true });
  const { findings } = JSON.parse(stdout) as { findings: { code: string; level: string; remedy: string }[] };
  expect(findings.find(({ code }) => code === 'MAIL')).toMatchObject({
    level: 'warning',
    what: expect.stringContaining('NoNewPrivileges'),
    remedy: expect.stringContaining(REMEDY),
  });
  await db.destroy();

  const main = entry('main');
  const service = startProcess('setpriv', ['--no-new-privs', process.execPath, main], {
    env: processEnvironment(settings),
  });
  let log = '';
  service.stdout!.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await eventually(() => {
    expect(log).toContain('mails wait');
    expect(log).toContain(REMEDY);
    expect(log).toContain('listening');
  });
  service.kill('SIGTERM');
});

test('mail list --failed shows mails that were given up and mails that are retried', async () => {
  const { settings } = machine(program('sendmail', 'exit 75'));
  const db = await openMigrated(settings);
  stops.push(() => db.destroy());
  for (let i = 0; i < 3; i++)
    await queueMail(
      db,
      { type: 'operator_link', email: `jo${i}@example.com` },
      { now: new Date(), language: 'en' },
    );
  const [first] = await db(table(db, 'outbox')).orderBy('id').limit(1).pluck<number[]>('id');
  await db(table(db, 'outbox')).where({ id: first! }).update({ attempts: 1, last_error: 'SENDMAIL' });
  const [last] = await db(table(db, 'outbox')).orderBy('id', 'desc').limit(1).pluck<number[]>('id');
  const failure = {
    failed_at: toSqlTime(new Date()),
    next_attempt_at: null,
    last_error: 'ADDRESS_REFUSED 550',
  };
  await db(table(db, 'outbox')).where({ id: last! }).update(failure);
  expect((await listAllMails(db, { failed: true, limit: 10 })).map(({ error }) => error)).toEqual([
    'ADDRESS_REFUSED 550',
    'SENDMAIL',
  ]);
  expect(await listAllMails(db, { failed: true, limit: 1 })).toHaveLength(1);
});
