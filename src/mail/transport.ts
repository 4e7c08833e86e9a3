import { spawn } from 'node:child_process';
import { constants, readFileSync } from 'node:fs';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport as createNodemailer, type SendMailOptions } from 'nodemailer';
import type { ComposedMail } from './compose';
import { MailFailure, toMailFailure } from './failures';
import { isLoopback, type MailSettings, type SmtpSettings } from './settings';

/** Takes mails out of this machine, or says why it cannot. */
export interface MailTransport {
  /** @returns what the server said. @throws MailFailure */
  send(mail: ComposedMail, from: { address: string; name: string }, signal: AbortSignal): Promise<string>;
  /** Tries everything but sending. @throws MailFailure */
  verify(): Promise<void>;
}

/** ms; each for a step that a server may hang in */
export interface MailTimeouts {
  connect: number;
  /** of silence after that */
  silence: number;
}

/** A server that looks for spam is silent before its 250, often for a minute. */
const TIMEOUTS: MailTimeouts = { connect: 10_000, silence: 5 * 60_000 };

export function createMailTransport({ route }: MailSettings, timeouts = TIMEOUTS): MailTransport {
  switch (route.kind) {
    case 'smtp':
      return smtpTransport(route, timeouts);
    case 'sendmail':
      // A program of this kind needs another group's rights, which systemd's NoNewPrivileges keeps from it.
      return mayGainRights() ? sendmailTransport(route.path) : smtpTransport(LOCAL_SERVER, timeouts);
    case 'folder':
      return folderTransport(route.path);
  }
}

/** Where sendmail would bring mails to. */
const LOCAL_SERVER: SmtpSettings = {
  ...{ kind: 'smtp', host: 'localhost', port: 25, tls: 'offered', ca: undefined, login: undefined },
};

function mayGainRights(): boolean {
  try {
    return !/^NoNewPrivs:\s*1$/m.test(readFileSync('/proc/self/status', 'utf8'));
  } catch {
    return true;
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
      // Encryption that a listener could strip off is no worse without a certificate.
      rejectUnauthorized: ca !== undefined || (tls !== 'offered' && !isLoopback(host)),
    },
    ...(login && { auth: { user: login.user, pass: login.password } }),
    dnsTimeout: timeouts.connect,
    connectionTimeout: timeouts.connect,
    greetingTimeout: timeouts.connect,
    socketTimeout: timeouts.silence,
    // Nodemailer's own log would hold addresses and what is said at the login.
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
    ...{ from, to: { name: '', address: to }, subject, text, html, messageId },
    // RFC 3834: no out-of-office notice in answer.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions;
}

const toBytes = createNodemailer({ streamTransport: true, buffer: true, newline: 'unix' });

async function writeMessage(mail: ComposedMail, from: { address: string; name: string }): Promise<Buffer> {
  return (await toBytes.sendMail(toMessage(mail, from))).message as Buffer;
}

/** The program takes the recipient as an argument. Nodemailer's own transport could not end one that hangs. */
function sendmailTransport(path: string): MailTransport {
  return {
    async send(mail, from, signal) {
      const bytes = await writeMessage(mail, from);
      const child = spawn(path, ['-i', '-f', from.address, '--', mail.to], {
        ...({ signal, killSignal: 'SIGKILL', stdio: ['pipe', 'ignore', 'ignore'] } as const),
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(bytes);
      await new Promise<void>((resolve, reject) => {
        child.once('error', () => reject(new MailFailure(signal.aborted ? 'TIMEOUT' : 'SENDMAIL')));
        child.once('close', (code) => (code === 0 ? resolve() : reject(new MailFailure('SENDMAIL'))));
      });
      return 'queued by sendmail';
    },
    async verify() {
      await access(path, constants.X_OK).catch(() => {
        throw new MailFailure('SENDMAIL');
      });
    },
  };
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
        // Mails hold keys.
        .then(() => rm(`${path}.part`, { force: true }))
        // Anew, so that a link that lies there is not followed.
        .then(() => writeFile(`${path}.part`, bytes, { mode: 0o600, flag: 'wx' }))
        .then(() => rename(`${path}.part`, path))
        .catch(orFailure);
      return `written to ${path}`;
    },
    verify: () => isWritable().catch(orFailure),
  };
}
