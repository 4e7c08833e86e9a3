import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from './packages.mjs';
import { ownTerms, setModes } from './tree.mjs';

const PACKAGE = 'licensing-gateway';

/**
 * Builds the Debian package of a tree with dpkg-deb: the tree at /opt/licensing-gateway, and its control files.
 * @param machine amd64 or arm64
 * @param time seconds since 1970, of every file in it
 */
export function buildDeb({ tree, version, machine, folder, to, time }) {
  const own = (name) => readFileSync(join(root, 'deploy/debian', name), 'utf8');
  const put = (path, text) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  cpSync(tree, join(folder, 'opt', PACKAGE), { recursive: true });
  put('usr/lib/systemd/system/licensing@.service', readFileSync(join(root, 'deploy/licensing@.service')));
  put(`usr/lib/sysusers.d/${PACKAGE}.conf`, own(`${PACKAGE}.sysusers`));
  put(`usr/lib/tmpfiles.d/${PACKAGE}.conf`, own(`${PACKAGE}.tmpfiles`));
  put(`etc/logrotate.d/${PACKAGE}`, own(`${PACKAGE}.logrotate`));
  const documents = `usr/share/doc/${PACKAGE}`;
  put(`${documents}/copyright`, `${ownTerms()}\n${readFileSync(join(tree, 'LICENSE'), 'utf8')}`);
  put(`${documents}/changelog.gz`, gzipSync(readFileSync(join(root, 'CHANGELOG.md')), { level: 9 }));
  put(`${documents}/README.md`, readFileSync(join(root, 'README.md')));

  const files = filesOf(folder);
  const size = files.reduce((sum, file) => sum + Math.ceil(statSync(join(folder, file)).size / 1024), 0);
  const control = { VERSION: version, ARCHITECTURE: machine, SIZE: String(size) };
  put(
    'DEBIAN/control',
    own('control').replace(/\b(?:VERSION|ARCHITECTURE|SIZE)\b/g, (key) => control[key]),
  );
  put('DEBIAN/conffiles', `/etc/logrotate.d/${PACKAGE}\n`);
  put('DEBIAN/md5sums', files.map((file) => `${md5(join(folder, file))}  ${file}\n`).join(''));
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm'])
    put(
      `DEBIAN/${script}`,
      own(script).replace(/^# ALONE\n/m, () => own('alone')),
    );
  setModes(folder);
  mkdirSync(join(folder, 'usr/bin'), { mode: 0o755 });
  symlinkSync(`/opt/${PACKAGE}/bin/licensing`, join(folder, 'usr/bin/licensing'));
  execFileSync(
    'dpkg-deb',
    [
      '--root-owner-group',
      '-Zgzip',
      '-z9',
      '--build',
      folder,
      join(to, `${PACKAGE}_${version}_${machine}.deb`),
    ],
    {
      env: { PATH: process.env.PATH, SOURCE_DATE_EPOCH: String(time) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

/** Returns the paths of a folder's files, in the order of their names. */
function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function md5(file) {
  return createHash('md5').update(readFileSync(file)).digest('hex');
}
