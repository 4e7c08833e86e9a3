import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Certificate } from './certificates';

/** A real mail server, whose behaviour a test can change. */

export interface ReceivedMail {
  to: string[];
  from: string;
  /** the sent text, decoded from quoted-printable */
  text: string;
  messageId: string;
  subject: string;
}

export interface MailServer {
  port: number;
  /** the mails that it answered with 250, or would have */
  received: ReceivedMail[];
  manners: Manners;
  /** the number of refused passwords */
  refusedLogins: number;
  stop(): Promise<void>;
}

interface Manners {
  /** the replies to addresses that it refuses, with or without a text */
  refuses: Record<string, number | string>;
  password: string;
  /** true if it holds back its 250 after the mail */
  holds: boolean;
  /** true if it accepts connections and sends nothing */
  hangs: boolean;
}

export const MAIL_USER = 'shop';
export const MAIL_PASSWORD = 'a:b@c/d%';

export async function startMailServer({
  certificate,
  secure = false,
  port = 0,
}: { certificate?: Certificate; secure?: boolean; port?: number } = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const manners: Manners = { refuses: {}, password: MAIL_PASSWORD, holds: false, hangs: false };
  const logins = { refused: 0 };
  const refusal = (code: number, message: string) =>
    Object.assign(new Error(message), { responseCode: code });
  const options: SMTPServerOptions = {
    secure,
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: certificate ? [] : ['STARTTLS'],
    ...(certificate && { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) }),
    onConnect: (_session, done) => {
      if (!manners.hangs) done();
    },
    onAuth: ({ username, password }, _session, done) => {
      if (username === MAIL_USER && password === manners.password) {
        done(null, { user: username });
        return;
      }
      logins.refused++;
      done(refusal(535, 'Invalid login'));
    },
    onRcptTo: ({ address }, _session, done) => {
      const refused = manners.refuses[address];
      const [, code, said = `<${address}> is refused`] = /^(\d+)(?: (.*))?$/.exec(String(refused)) ?? [];
      done(code === undefined ? null : refusal(Number(code), said));
    },
    onData: (stream, session, done) => {
      const take = (raw: string) => {
        const decoded = decode(raw);
        const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(decoded)?.[1]?.trim() ?? '';
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          to: rcptTo.map(({ address }) => address),
          from: mailFrom === false ? '' : mailFrom.address,
          text: decoded,
          messageId: header('Message-ID'),
          subject: header('Subject'),
        });
        if (!manners.holds) done();
      };
      // Ignore the incomplete mail of a sender that is killed.
      text(stream).then(take, () => undefined);
    },
  };
  const server = new SMTPServer(options);
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    manners,
    get refusedLogins() {
      return logins.refused;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function decode(raw: string): string {
  const bytes = raw
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
}
