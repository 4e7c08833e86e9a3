import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { buildDeb } from './deb.mjs';
import { licencesOf, locked, node, root } from './packages.mjs';
import { makeSbom } from './sbom.mjs';
import { addMachine, buildCommon, emptyFolder, setModes, terms } from './tree.mjs';

/**
 * `npm run release`: builds everything in release/. The same commit gives the same bytes on one kind of machine: names
 * are sorted, files have the commit's time and no owner. A zip has local times, and the umask changes modes.
 */
process.env.TZ = 'UTC';
process.umask(0o022);

const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const release = join(root, 'release');
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

const commit = git('rev-parse', 'HEAD');
/** the commit's time in seconds since 1970 */
const time = Number(git('log', '-1', '--format=%ct'));
const changed = git('status', '--porcelain');

const work = mkdtempSync(join(tmpdir(), 'licensing-release-'));
try {
  emptyFolder(release);
  for (const script of ['build-docs-page', 'build-pages'])
    execFileSync(process.execPath, [join(root, 'scripts', `${script}.mjs`)], { stdio: 'inherit' });
  const common = join(work, 'common');
  mkdirSync(common);
  const packages = await buildCommon(common);
  // Build the guides next to the program, because the pages' Help leads there.
  const site = [join(root, 'scripts/build-docs-site.mjs'), join(common, 'docs-site')];
  execFileSync(process.execPath, site, { stdio: 'inherit' });
  for (const [machine, debian] of [
    ['x64', 'amd64'],
    ['arm64', 'arm64'],
  ]) {
    const top = `${name}-${version}-linux-${machine}`;
    const tree = join(work, top);
    cpSync(common, tree, { recursive: true });
    leaveOut(tree, ['dist/bundles/hosting', 'dist/bundles/hosting.js', 'dist/src/hosting.js']);
    addMachine(tree, machine, packages, join(work, 'npm'));
    setModes(tree);
    packTar(top, join(release, `${top}.tar.gz`));
    buildDeb({ tree, version, machine: debian, folder: join(work, debian), to: release, time });
    rmSync(tree, { recursive: true });
  }
  await packHosting(common, packages);
  const container = join(root, 'deploy/container');
  for (const file of readdirSync(container)) {
    cpSync(join(container, file), join(release, file));
    const text = readFileSync(join(container, file), 'utf8');
    writeFileSync(
      join(release, file),
      text.replaceAll('@VERSION@', version).replaceAll('@LICENSE@', license),
    );
  }
  writeFileSync(
    join(release, `${name}-${version}.cdx.json`),
    `${JSON.stringify(makeSbom({ commit, time, node, locked, folder: join(work, 'sbom') }), null, 2)}\n`,
  );
  writeSums();
} finally {
  rmSync(work, { recursive: true, force: true });
}
if (changed !== '') console.log(`Not committed, and packed all the same:\n${changed}`);
for (const file of readdirSync(release)) console.log(`release/${file}`);
if (license === 'UNLICENSED')
  console.log(
    'package.json says UNLICENSED: without your permission nobody may use what was packed, or pass it on.',
  );

function leaveOut(top, paths) {
  for (const path of paths) rmSync(join(top, path), { recursive: true, force: true });
}

/** Packs a folder of `work`. */
function packTar(folder, to) {
  const tar = execFileSync(
    'tar',
    [
      ...['--create', '--format=ustar', '--sort=name', `--mtime=@${time}`],
      ...['--owner=0', '--group=0', '--numeric-owner', '--directory', work, folder],
    ],
    { maxBuffer: 1e9 },
  );
  writeFileSync(to, execFileSync('gzip', ['-n', '-9'], { input: tar, maxBuffer: 1e9 }));
}

/**
 * Packs the zip for hosting panels, without Node, SQLite, and files for one kind of machine. deploy/hosting/ is its
 * top, with app.js, the name that the panels' forms propose.
 */
async function packHosting(common, packages) {
  const top = join(work, 'hosting');
  cpSync(common, top, { recursive: true });
  leaveOut(top, ['bin', 'deploy', 'nginx', 'seeds']);
  for (const name of ['demo.js', 'service', 'service.js']) leaveOut(top, [`dist/bundles/${name}`]);
  for (const name of ['demo.js', 'main.js']) leaveOut(top, [`dist/src/${name}`]);
  const about = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'));
  about.scripts = { start: 'node app.js' };
  writeFileSync(join(top, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  const own = join(root, 'deploy/hosting');
  if (existsSync(own)) cpSync(own, top, { recursive: true });
  writeFileSync(join(top, 'LICENSE'), terms(licencesOf(packages), undefined));
  const door = ['joomla-door', '--out', join(top, 'com_licensing.zip')];
  execFileSync(process.execPath, [join(top, 'dist/src/cli.js'), ...door], { env: { HOME: work } });
  setModes(top);
  const zip = new yazl.ZipFile();
  const files = readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files)
    zip.addFile(file, relative(top, file), {
      mtime: new Date(time * 1000),
      mode: 0o100644,
      forceDosTimestamp: true,
    });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(join(release, `${name}-${version}-hosting.zip`)));
}

function writeSums() {
  const lines = readdirSync(release, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(release, join(entry.parentPath, entry.name)))
    .sort()
    .map((file) => {
      const sum = createHash('sha256').update(readFileSync(join(release, file)));
      return `${sum.digest('hex')}  ${file}\n`;
    });
  writeFileSync(join(release, 'SHA256SUMS'), lines.join(''));
}
