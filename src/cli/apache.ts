import { basename, join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { readConfig, type Config } from '../settings/config';
import { ConfigError } from '../base/errors';
import { apacheFiles, APACHE_FILE } from '../joomla/formerly/apache';
import { OperatorError } from '../licensing/operator-error';
import { htaccessLines } from '../setup/htaccess';
import { apacheFile } from './apache-file';
import { folderName, upTo } from './arguments';
import { createOutput, type Output } from './command';
import { formerlyOption, planFormerUrls, type FormerlyOptions } from './formerly';
import { describeDifference, remarksOnInstances, writeServerFiles } from './nginx';
import { ownFiles } from './output-file';

/** The folder from which deploy/apache/site.example.conf includes licensing.conf. */
const DEFAULT_FOLDER = '/etc/apache2';

/** The name of the file that the site's <VirtualHost> includes, as docs/apache.md names it. */
const FILE = 'licensing.conf';
const MAX_INSTANCES = 99;

interface ApacheOptions extends FormerlyOptions {
  out?: string;
  instances?: number;
  passenger?: string;
}

export function addApacheCommand(program: Command): void {
  program
    .command('apache')
    .summary("print Apache's configuration for this service")
    .description(
      "Prints the file that puts the service behind Apache, filled in for this configuration. The site's <VirtualHost> includes it (docs/apache.md). " +
        'With addresses of a former system, it also prints the files that answer them. It does not change the Apache of this machine. ' +
        'With --passenger, it prints only the two lines for the .htaccess of a site on shared hosting (docs/shared-hosting.md).',
    )
    .option(
      '--instances <count>',
      'forward to the systemd instances licensing@1 to licensing@COUNT, each on its own socket; default: forward to LICENSING_LISTEN',
      upTo(MAX_INSTANCES),
    )
    .addOption(formerlyOption())
    .option(
      '--out <dir>',
      'write into this folder instead; a file there that differs is kept, and the new one is written as NAME.new',
      folderName,
    )
    .option(
      '--passenger <address>',
      'print the lines that forward the prefix of the API to this address, where a hosting panel runs the service',
      passengerAddress,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  licensing apache --instances 2 --out /etc/apache2\n  licensing apache --formerly ars=7:42 --out /etc/apache2\n  licensing apache --passenger /licensing-app',
    )
    .action(async ({ formerly, out, instances, passenger }: ApacheOptions, command: Command) => {
      const output = createOutput(command);
      if (passenger !== undefined) {
        const lines = htaccessLines(passenger);
        output.print(
          { '.htaccess': lines },
          `# In the site's .htaccess, below RewriteEngine On and above Joomla's own rules:\n${lines.trimEnd()}`,
        );
        return;
      }
      const config = readConfig();
      const folder = out === undefined ? DEFAULT_FOLDER : resolve(out);
      const files = await filesFor(config, { formerly, instances, folder }, output);
      for (const remark of remarksOnInstances('Apache', instances)) output.note(remark);
      const byName = Object.fromEntries(files.map(({ name, text }) => [name, text]));
      if (out === undefined) {
        output.print(byName, files.map(({ name, text }) => `# ==== ${name} ====\n\n${text}`).join('\n'));
        return;
      }
      const { written, kept } = await writeServerFiles(folder, files, ownFiles(config));
      for (const path of kept) output.note(describeDifference(path));
      output.print(byName, whatToInclude(folder, files, written));
    });
}

interface Filling {
  formerly: FormerlyOptions['formerly'] | undefined;
  instances: number | undefined;
  /** the folder from which the site includes the files */
  folder: string;
}

async function filesFor(
  config: Config,
  { formerly, instances, folder }: Filling,
  output: Output,
): Promise<{ name: string; text: string }[]> {
  const own = { name: FILE, text: await apacheFile(config, instances) };
  const plan = await planFormerUrls(config, formerly, output);
  if (plan === undefined) return [own];
  const { siteUrl } = plan;
  if (siteUrl === undefined) throw new ConfigError('Set LICENSING_PUBLIC_URL to the address of the site.');
  const made = apacheFiles(plan.answers, { siteUrl, folder, quotable });
  return [own, ...[...made].map(([name, text]) => ({ name, text }))];
}

function whatToInclude(folder: string, files: { name: string }[], written: string[]): string {
  const names = written.map((path) => basename(path)).join(', ');
  const included = [FILE, APACHE_FILE].filter((name) => files.some((one) => one.name === name));
  return `${names === '' ? `The files in ${folder} are up to date: nothing was written` : `Written to ${folder}: ${names}`}.
Add ${included.length === 1 ? 'this line' : 'these lines'} to the site's <VirtualHost> for https, above its own Rewrite and ProxyPass lines:
${included.map((name) => `  Include ${join(folder, name)}`).join('\n')}
Then: apachectl configtest && systemctl reload apache2`;
}

/** Reads the address that was typed into a panel's form. */
function passengerAddress(text: string): string {
  const address = `/${text.replace(/^\/+|\/+$/g, '')}`;
  if (!/^\/[A-Za-z0-9_-][A-Za-z0-9._/-]*$/.test(address) || /\/\.{0,2}(?:\/|$)/.test(address))
    throw new InvalidArgumentError('It must be a path of the site, such as /licensing-app.');
  return address;
}

/** Refuses a path with a character that ends a word in Apache's files, or that Apache reads as a reference. */
function quotable(path: string): string {
  if (/[\s"\\$%{}]/.test(path))
    throw new OperatorError(
      `Apache cannot read the path ${path} here. Choose a folder without spaces and "\\$%{}.`,
    );
  return path;
}
