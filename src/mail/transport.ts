import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, lstat, mkdir, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { createTransport as createNodemailer, type SendMailOptions } from 'nodemailer';
import type { ComposedMail } from './compose';
import { startProgram } from '../process/rights';
import { MailFailure, toMailFailure } from './failures';
import { isLoopback, type MailSettings, type SmtpSettings } from './settings';

/** Sends mails from this machine, or reports why it cannot. */
export interface MailTransport {
  /** returns the server's response; throws a MailFailure */
  send(mail: ComposedMail, from: { address: string; name: string }, signal: AbortSignal): Promise<string>;
  /** tests everything except sending; throws a MailFailure */
  verify(): Promise<void>;
}

/** timeouts in ms, for the steps in which a server may hang */
interface MailTimeouts {
  connect: number;
  /** without a byte after connecting */
  silence: number;
}

/** A server that checks for spam is silent before its 250, often for a minute. */
const TIMEOUTS: MailTimeouts = { connect: 10_000, silence: 5 * 60_000 };

interface TransportOptions {
  timeouts?: MailTimeouts;
  /** true as in the service: a child process cannot take the rights of another user or group */
  gainsNoRights: boolean;
}

export function createMailTransport(
  { route }: MailSettings,
  { timeouts = TIMEOUTS, gainsNoRights }: TransportOptions,
): MailTransport {
  switch (route.kind) {
    case 'smtp':
      return smtpTransport(route, timeouts);
    case 'sendmail':
      return sendmailTransport(route.path, gainsNoRights);
    case 'folder':
      return folderTransport(route.path);
  }
}

function smtpTransport({ host, port, tls, ca, login }: SmtpSettings, timeouts: MailTimeouts): MailTransport {
  const transport = createNodemailer({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    tls: {
      ...(ca === undefined ? {} : { ca }),
      // Do not check the certificate of optional TLS, which an attacker could remove anyway.
      rejectUnauthorized: ca !== undefined || (tls !== 'offered' && !isLoopback(host)),
    },
    ...(login && { auth: { user: login.user, pass: login.password } }),
    dnsTimeout: timeouts.connect,
    connectionTimeout: timeouts.connect,
    greetingTimeout: timeouts.connect,
    socketTimeout: timeouts.silence,
    // Nodemailer's own log would contain addresses and the dialogue of the login.
    logger: false,
  });
  return {
    async send(mail, from, signal) {
      try {
        return (await transport.sendMail({ ...toMessage(mail, from), signal })).response;
      } catch (error) {
        throw toMailFailure(error);
      }
    },
    async verify() {
      try {
        await transport.verify();
      } catch (error) {
        throw toMailFailure(error);
      }
    },
  };
}

function toMessage(
  { to, subject, text, html, messageId }: ComposedMail,
  from: { address: string; name: string },
) {
  return {
    from,
    to: { name: '', address: to },
    subject,
    text,
    html,
    messageId,
    // RFC 3834: prevent automatic replies, such as out-of-office notices.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions;
}

const toBytes = createNodemailer({ streamTransport: true, buffer: true, newline: 'unix' });

async function writeMessage(mail: ComposedMail, from: { address: string; name: string }): Promise<Buffer> {
  return (await toBytes.sendMail(toMessage(mail, from))).message as Buffer;
}

/** The maximum length of the program's output that is shown. */
const MAX_SAID = 1_000;

/** Sends through a program, with the recipient as an argument. Nodemailer's own transport cannot end a hanging program. */
function sendmailTransport(named: string, gainsNoRights: boolean): MailTransport {
  const path = resolve(named);
  const verify = async () => {
    await access(path, constants.X_OK).catch(() => {
      throw new MailFailure('SENDMAIL');
    });
    if (!MAIL_PROGRAM.test(basename(path)) || !(await isGuarded(path)))
      throw new MailFailure('SENDMAIL_OWNER');
    // Without these rights, Postfix's program would retry forever instead of failing.
    if (gainsNoRights && (await needsRights(path))) throw new MailFailure('SENDMAIL_RIGHTS');
  };
  return {
    async send(mail, from, signal) {
      await verify();
      const bytes = await writeMessage(mail, from);
      const args = ['-i', '-f', from.address, '--', mail.to];
      // Restrict a command outside the unit in the same way as the service.
      const [program, ...before] =
        gainsNoRights && (await has(SETPRIV)) ? [SETPRIV, '--no-new-privs', path] : [path];
      const child = startProgram((user) =>
        spawn(program, [...before, ...args], {
          ...user,
          signal,
          killSignal: 'SIGKILL',
          stdio: ['pipe', 'ignore', 'pipe'],
        }),
      );
      let said = '';
      child.stderr
        .setEncoding('utf8')
        .on('data', (text: string) => (said = (said + text).slice(0, MAX_SAID)));
      child.stdin.on('error', () => undefined);
      child.stdin.end(bytes);
      const failed = () => new MailFailure('SENDMAIL', undefined, said.trim() || undefined);
      await new Promise<void>((resolve, reject) => {
        child.once('error', () => reject(signal.aborted ? new MailFailure('TIMEOUT') : failed()));
        child.once('close', (code) => (code === 0 ? resolve() : reject(failed())));
      });
      return 'queued by sendmail';
    },
    verify,
  };
}

/** The names of mail programs. A shell or Perl would run a file with the sender's name, which configuration.php also sets. */
const MAIL_PROGRAM = /sendmail|^(?:exim4?|[ems]smtp|dma)$/;

/**
 * Reports whether only root, or this process's user, can change or replace a program: they own it and every link and
 * folder on its path. Otherwise a user who may write configuration.php, such as PHP's user, could run a program of
 * their own with other rights.
 */
async function isGuarded(path: string): Promise<boolean> {
  const { uid, mode } = await lstat(path);
  const isLink = (mode & constants.S_IFMT) === constants.S_IFLNK;
  if (uid !== 0 && uid !== process.geteuid?.()) return false;
  if (!isLink && (mode & WRITABLE_BY_OTHERS) !== 0) return false;
  const folder = dirname(path);
  if (isLink && !(await isGuarded(resolve(await realpath(folder), await readlink(path))))) return false;
  return folder === path || isGuarded(folder);
}

/** The permission bits for writing by others. Access lists show their limit in the group's bit. */
const WRITABLE_BY_OTHERS = 0o022;

/** A program of util-linux, which systemd requires. */
const SETPRIV = '/usr/bin/setpriv';

function has(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

const SETUID = 0o4000;
const SETGID = 0o2000;
/** The programs to which Postfix's and nullmailer's commands pass the mail, and which have the rights. */
const HELPERS = ['postdrop', 'nullmailer-queue'];

/** Reports whether a mail program needs the rights of another user or group, like those of Exim, Postfix and Sendmail. */
async function needsRights(path: string): Promise<boolean> {
  const program = await realpath(path);
  // msmtp may have the bit to read a file with a password, but it also works with a file of the service.
  if (basename(program) === 'msmtp') return false;
  const helpers = HELPERS.map((name) => join(dirname(program), name));
  const modes = await Promise.all([program, ...helpers].map((one) => stat(one).catch(() => undefined)));
  return modes.some((stats) => stats !== undefined && (stats.mode & (SETUID | SETGID)) !== 0);
}

function folderTransport(folder: string): MailTransport {
  const isWritable = async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  };
  const orFailure = () => {
    throw new MailFailure('FOLDER');
  };
  return {
    async send(mail, from) {
      const bytes = await writeMessage(mail, from);
      const path = join(folder, `${mail.messageId.replace(/[^\w.-]/g, '')}.eml`);
      await isWritable()
        // Write privately, because mails contain keys.
        .then(() => rm(`${path}.part`, { force: true }))
        // Create a new file, so that an existing link is not followed.
        .then(() => writeFile(`${path}.part`, bytes, { mode: 0o600, flag: 'wx' }))
        .then(() => rename(`${path}.part`, path))
        .catch(orFailure);
      return `written to ${path}`;
    },
    verify: () => isWritable().catch(orFailure),
  };
}
