import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes';

export interface Certificate {
  cert: string;
  key: string;
}

/** The test's own certificate authority. All values are paths of PEM files. */
export interface Authority {
  ca: string;
  /** Issues a certificate. @param names such as `DNS:db.example` or `IP:127.0.0.1` */
  issue(names: string): Certificate;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export function createAuthority(): Authority {
  const folder = temporaryFolder('licensing-authority');
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  openssl('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', '/CN=CA', '-keyout', 'ca.key', '-out', 'ca.pem');
  let issued = 0;
  return {
    ca: join(folder, 'ca.pem'),
    issue(names) {
      const name = `issued${++issued}`;
      writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${names}`);
      openssl('req', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
      openssl(
        ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
        ...['-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.pem`],
      );
      return { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
    },
  };
}

/** Creates a self-signed certificate for shop.example, with Let's Encrypt's file names. */
export function makeCertificate(folder: string): void {
  execFileSync(
    'openssl',
    [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', '/CN=shop.example', '-addext', 'subjectAltName=DNS:shop.example'],
      ...['-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')],
    ],
    { stdio: 'pipe' },
  );
}
