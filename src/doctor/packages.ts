import { constants, type Stats } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { countOf } from '../base/count-of';
import { API_TEXTS } from '../licensing/api';
import { findPackageDamage, UNREADABLE } from '../packages/damage';
import { INCOMING, INCOMING_MAX_AGE_MS, packagePath } from '../packages/package-files';
import { listPackages, type Release, type ReleaseState } from '../store/releases';
import { listWithoutSbom } from '../store/sboms';
import {
  runCheck,
  ok,
  problem,
  shortReason,
  unchecked,
  warning,
  type Check,
  type CommandCheck,
  type CommandFinding,
  type CheckFinding,
} from './finding';
import { groupName, mayUse, readNginxUser, type NginxUser } from './nginx-user';
import { octal, serviceUser } from './file-readers';

const MB = 1_000_000;
/** The free space below which the finding warns. It is enough for the next packages. */
const LOW_SPACE_BYTES = 100 * MB;

/** Checks that the service and nginx can use the packages folder, and its free space. */
export const checkFolder: Check = async ({ config, now }) => {
  const { packagesDir, accelLocation } = config;
  let stats: Stats;
  try {
    stats = await stat(packagesDir);
    if (!stats.isDirectory()) throw new Error('it is not a folder');
  } catch (error) {
    const command = `install -d -m 750 -o ${serviceUser()} -g ${(await readNginxUser())?.group ?? serviceUser()} ${packagesDir}`;
    return [problem('PACKAGES_FOLDER', (t) => t.packagesFolder(packagesDir, command, shortReason(error)))];
  }
  return [
    await checkAccess(packagesDir),
    ...(accelLocation === undefined
      ? []
      : await runCheck('PACKAGES_NGINX', async () => [await checkNginxAccess(packagesDir)])),
    ...(await runCheck('PACKAGES_SPACE', async () => [await checkSpace(packagesDir)])),
    ...(await runCheck('PACKAGES_LEFTOVERS', async () => [await checkLeftovers(packagesDir, now())])),
  ];
};

/** Checks that every security release has an SBOM. */
export const checkSboms: CommandCheck = async ({ db }) => {
  const without = await listWithoutSbom(db);
  if (without.length === 0) return [];
  const named = without
    .slice(0, 3)
    .map(({ productId, version }) => `product ${productId}, version ${version}`);
  const [{ productId, version } = { productId: 0, version: '' }] = without;
  return [
    warning(
      'SBOM_MISSING',
      `${countOf(without.length, 'security release')} without an SBOM: ${named.join('; ')}${without.length > 3 ? '; ...' : ''}.`,
      {
        why: 'A manufacturer keeps an SBOM of each version (Regulation (EU) 2024/2847, Annex I Part II (1)). The packages had no lock file from which one could be generated, or are older than this feature.',
        remedy: `Store one: licensing release sbom --product ${productId} --version ${version} --file sbom.json`,
      },
    ),
  ];
};

/** Checks that every downloadable version and every security release has its package, unchanged. */
export const checkPackages: CommandCheck = async ({ config, db, progress }) => {
  const releases = await listPackages(db);
  const bytes = releases.reduce((sum, { fileSize }) => sum + fileSize, 0);
  const findings: CommandFinding[] = [];
  const intact = new Map<string, string | undefined>();
  const unreadable: Release[] = [];
  const nginx = await readNginxUser();
  let read = 0;
  for (const release of releases) {
    const { sha256 } = release;
    if (!intact.has(sha256))
      intact.set(
        sha256,
        await findPackageDamage(packagePath(config.packagesDir, sha256), release, (more) => {
          read += more;
          progress(`Packages: ${(read / MB).toFixed(0)} of ${(bytes / MB).toFixed(0)} MB`);
        }),
      );
    const damage = intact.get(sha256);
    if (damage === UNREADABLE) unreadable.push(release);
    else if (damage !== undefined) findings.push(damagedPackage(release, damage));
    else if (config.accelLocation !== undefined) {
      const path = packagePath(config.packagesDir, sha256);
      if (!isReadableForNginx(await stat(path), nginx))
        findings.push(unreadableForNginx('PACKAGE_NGINX', path, await stat(path), nginx));
    }
  }
  if (unreadable.length > 0)
    findings.push(unreadablePackages(unreadable, releases.length, config.packagesDir));
  if (findings.length === 0)
    findings.push(
      ok(
        'PACKAGES',
        releases.length === 0
          ? 'No package is stored yet.'
          : `All ${releases.length} stored versions have their package, with the hash they were published with.`,
      ),
    );
  return findings;
};

async function checkAccess(folder: string): Promise<CheckFinding> {
  if (process.getuid?.() === 0) return unchecked('PACKAGES_ACCESS', (t) => t.packagesAccessUnknown(folder));
  const may = (mode: number) =>
    access(folder, mode).then(
      () => true,
      () => false,
    );
  if (!(await may(constants.R_OK | constants.X_OK)))
    return problem('PACKAGES_UNREADABLE', (t) =>
      t.packagesUnreadable(folder, serviceUser(), API_TEXTS.FILE_NOT_FOUND),
    );
  if (!(await may(constants.W_OK)))
    return problem('PACKAGES_NOT_WRITABLE', (t) => t.packagesNotWritable(folder, serviceUser()));
  return ok('PACKAGES_ACCESS', (t) => t.packagesAccess(folder));
}

/** Checks that every folder on the path lets nginx's user through, even before the first publish. */
async function checkNginxAccess(folder: string): Promise<CheckFinding> {
  const nginx = await readNginxUser();
  const way: { path: string; stats: Stats }[] = [];
  for (let path = folder; ; path = dirname(path)) {
    way.push({ path, stats: await stat(path) });
    if (path === dirname(path)) break;
  }
  // Start at the root, because the first closed folder hides the others.
  for (const { path, stats } of way.reverse())
    if (nginx === undefined ? (stats.mode & 0o011) === 0 : !mayUse(nginx, stats, 1))
      return unreadableForNginx('PACKAGES_NGINX', path, stats, nginx);
  if (nginx !== undefined) return ok('PACKAGES_NGINX', (t) => t.packagesNginx(nginx.name));
  const { mode, gid } = await stat(folder);
  if ((mode & 0o001) !== 0) return ok('PACKAGES_NGINX', (t) => t.packagesForAll);
  const group = await groupName(gid);
  return ok('PACKAGES_NGINX', (t) => t.packagesForGroup(group, folder));
}

function isReadableForNginx(stats: Stats, nginx: NginxUser | undefined): boolean {
  return nginx === undefined ? (stats.mode & 0o044) !== 0 : mayUse(nginx, stats, 4);
}

function unreadableForNginx(
  code: string,
  path: string,
  stats: Stats,
  nginx: NginxUser | undefined,
): CheckFinding {
  const { mode } = stats;
  const rights = stats.isDirectory() ? 'rx' : 'r';
  const group = nginx?.group ?? 'NGINX_GROUP';
  const command = `chgrp ${group} ${path} && chmod g+${rights} ${path}`;
  return problem(code, (t) =>
    t.nginxMayNotRead(path, octal(mode), command, nginx?.name, API_TEXTS.FILE_NOT_FOUND),
  );
}

async function checkSpace(folder: string): Promise<CheckFinding> {
  const { bavail, bsize, blocks } = await statfs(folder);
  if (blocks === 0) return unchecked('PACKAGES_SPACE', (t) => t.spaceUnknown(folder));
  const free = bavail * bsize;
  return free < LOW_SPACE_BYTES
    ? problem('PACKAGES_SPACE', (t) => t.spaceLow(folder, free / MB))
    : ok('PACKAGES_SPACE', (t) => t.spaceLeft(folder, free / MB));
}

async function checkLeftovers(folder: string, now: Date): Promise<CheckFinding> {
  const left: string[] = [];
  for (const name of (await readdir(folder)).filter((one) => one.startsWith(INCOMING))) {
    const stats = await stat(join(folder, name)).catch(() => undefined);
    if (stats && now.getTime() - stats.mtimeMs > INCOMING_MAX_AGE_MS) left.push(name);
  }
  return left.length === 0
    ? ok('PACKAGES_LEFTOVERS', (t) => t.noLeftovers)
    : warning('PACKAGES_LEFTOVERS', (t) => t.leftovers(folder, left.join(', '), INCOMING, left.length));
}

function unreadablePackages(releases: Release[], stored: number, folder: string): CommandFinding {
  const named = releases
    .slice(0, 3)
    .map(({ productId, version }) => `product ${productId}, version ${version}`)
    .join('; ');
  return problem(
    'PACKAGE_UNREADABLE',
    `This user cannot read ${releases.length} of the ${stored} stored packages in ${folder}: ${named}${releases.length > 3 ? '; ...' : ''}.`,
    {
      why: `If the service runs as this user, it answers their downloads with "${API_TEXTS.FILE_NOT_FOUND}". It is not known whether the packages are intact.`,
      remedy: `No package is lost. If the service runs as another user, run this command as that user: sudo -u USER licensing doctor. As root, if it runs as this user: chown -R ${serviceUser()} ${folder}`,
    },
  );
}

const DAMAGED: Record<ReleaseState, string> = {
  published: 'Customers who update get an error, or a package that Joomla refuses for its checksum.',
  draft: 'This draft cannot be published.',
  withdrawn:
    'It is a security release, whose package you keep for ten years (Regulation (EU) 2024/2847, Article 13(9)).',
};

function damagedPackage(
  { productId, version, state, security, sha256 }: Release,
  damage: string,
): CommandFinding {
  const lost =
    state === 'withdrawn'
      ? ''
      : ` If it is lost: licensing release withdraw --product ${productId} --version ${version}, and publish the next version.`;
  const finding = {
    why: DAMAGED[state],
    remedy: `Restore the identical file as ${sha256}.zip (from a backup; its SHA-256 is its name).${lost}`,
  };
  const what = `The package of product ${productId}, version ${version} (${state}${security ? ', security release' : ''}), ${damage}.`;
  return state === 'published'
    ? problem('PACKAGE_DAMAGED', what, finding)
    : warning('PACKAGE_DAMAGED', what, finding);
}
