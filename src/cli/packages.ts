import { InvalidArgumentError, type Command } from 'commander';
import { isLocalSite } from '../licensing/core/staging-sites';
import { OperatorError } from '../licensing/operator-error';
import { fetchPackages, verifyPackages, type FaultyPackage } from '../packages/copy-packages';
import type { Release } from '../packages/releases';
import { withSession } from './command';
import { readValue } from './standard-input';

const MB = 1_000_000;

export function addPackagesCommands(program: Command): void {
  const packages = program
    .command('packages')
    .description('Checks the packages on this host, and gets missing ones from another host.');
  addVerify(packages);
  addFetch(packages);
}

function addVerify(packages: Command): void {
  packages
    .command('verify')
    .description(
      'Compares the package of each stored version with its hash. The exit code is 1 if one is missing or differs.',
    )
    .addHelpText(
      'after',
      '\nA withdrawn version needs no package, unless it is a security release. Each package is read completely.\n\nExample:\n  licensing packages verify || licensing packages fetch --from http://10.0.0.11:3080 < token.txt',
    )
    .action((_options: object, command: Command) =>
      withSession(command, async ({ db, config: { packagesDir }, output }) => {
        let read = 0;
        const { checked, faults } = await verifyPackages(db, packagesDir, (more, of) =>
          output.progress(`${((read += more) / MB).toFixed(0)} of ${(of / MB).toFixed(0)} MB`),
        );
        output.print({ folder: packagesDir, checked, faults: faults.map(faultJson) }, () =>
          [
            ...faults.map(faultLine),
            `${checked - faults.length} of ${checked} versions have their package in ${packagesDir}.`,
          ].join('\n'),
        );
        if (faults.length > 0)
          throw new OperatorError(
            `${faults.length} of ${checked} versions lack their package here. If another host has the packages: licensing packages fetch --from ITS-ADDRESS. Otherwise restore them from the backup.`,
          );
      }),
    );
}

function addFetch(packages: Command): void {
  packages
    .command('fetch')
    .description(
      'Downloads packages that are missing here or differ, from another instance on the same database.',
    )
    .requiredOption(
      '--from <url>',
      'the other instance, such as http://10.0.0.11:3080 or https://shop.example',
      sourceUrl,
    )
    .addHelpText(
      'after',
      [
        '',
        'It asks for a token of the other instance, or reads it from standard input. The scope "read" is enough:',
        '  licensing token add --name packages --scope read',
        'A package with a wrong hash is discarded. If the connection breaks, run the command again.',
        'Without https, only an address in a private network is allowed, because the token is sent in plain text.',
        '',
        'Example:',
        '  licensing packages fetch --from http://10.0.0.11:3080 < /etc/licensing/packages-token',
      ].join('\n'),
    )
    .action(({ from }: { from: string }, command: Command) =>
      withSession(command, async ({ db, config: { packagesDir }, output }) => {
        const token = (await readValue('-', 'Token')).trim();
        if (!/^[\x21-\x7e]+$/.test(token))
          throw new OperatorError('The token is missing: pass it on standard input (< token.txt).');
        const source = { url: from, token };
        const { fetched, failed } = await fetchPackages(db, packagesDir, source, (release, bytes) =>
          output.progress(
            `${release.fileName}: ${(bytes / MB).toFixed(0)} of ${(release.fileSize / MB).toFixed(0)} MB`,
          ),
        );
        output.print(
          { folder: packagesDir, fetched: fetched.map(packageJson), failed: failed.map(faultJson) },
          () =>
            [
              ...fetched.map((release) => `Fetched: ${releaseName(release)}.`),
              ...failed.map(faultLine),
              ...(fetched.length + failed.length === 0 ? [`No package is missing in ${packagesDir}.`] : []),
            ].join('\n'),
        );
        if (failed.length > 0)
          throw new OperatorError(
            `${failed.length} packages could not be fetched. Run the command again, or name another host.`,
          );
      }),
    );
}

/** Reads a source's address. It has no path, because the path of the API is known. */
function sourceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.pathname !== '/' ||
    `${url.search}${url.hash}${url.username}${url.password}` !== ''
  )
    throw new InvalidArgumentError(
      'It must be the address of another instance, such as http://10.0.0.11:3080.',
    );
  if (url.protocol === 'http:' && !isLocalSite(url.hostname.replace(/^\[|\]$/g, '')))
    throw new InvalidArgumentError(
      'Without https, the token would be sent in plain text: only an address in a private network is allowed.',
    );
  return url.origin;
}

const releaseName = ({ productId, version }: Release) => `product ${productId}, version ${version}`;

const faultLine = ({ release, fault }: FaultyPackage) =>
  `The package of ${releaseName(release)} (${release.sha256}.zip) ${fault}.`;

function packageJson({ productId, version, sha256, fileSize }: Release) {
  return { product_id: productId, version, sha256, file_size: fileSize };
}

function faultJson({ release, fault }: FaultyPackage) {
  return { ...packageJson(release), fault };
}
