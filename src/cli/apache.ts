import { basename, join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { readConfig } from '../config';
import { ConfigError } from '../errors';
import { htaccessLines } from '../http/hosted';
import { apacheFiles, APACHE_FILE } from '../joomla/formerly/apache';
import { OperatorError } from '../licensing/operator-error';
import { folderName } from './arguments';
import { createOutput } from './command';
import { formerlyOption, planOf, type FormerlyOptions } from './formerly';
import { differs, writeFiles } from './nginx';
import { ownFiles } from './output-file';

/** The folder from which deploy/apache/site.example.conf includes licensing.conf. */
const DEFAULT_FOLDER = '/etc/apache2';

interface ApacheOptions extends FormerlyOptions {
  out?: string;
  passenger?: string;
}

export function addApacheCommand(program: Command): void {
  program
    .command('apache')
    .summary('print what Apache answers addresses of the former system with')
    .description(
      "Prints Apache's configuration for the addresses of the system that was used before, to be included after " +
        "licensing.conf (docs/apache.md). Nothing of the machine's Apache is touched. With --passenger it prints instead the two lines " +
        'for the .htaccess of a site on shared hosting (docs/shared-hosting.md).',
    )
    .addOption(formerlyOption())
    .option(
      '--out <dir>',
      'write it into this folder instead; a file there that differs stays, beside NAME.new',
      folderName,
    )
    .option(
      '--passenger <address>',
      'print the lines that lead the exact prefix to where a panel put the service',
      passengerAddress,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  licensing apache --formerly ars=7:42 --out /etc/apache2\n  licensing apache --passenger /licensing-app',
    )
    .action(async ({ formerly, out, passenger }: ApacheOptions, command: Command) => {
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
      const plan = await planOf(config, formerly, output);
      if (plan === undefined)
        throw new OperatorError(
          'Name the addresses of the former system with --formerly, or in LICENSING_FORMERLY. What Apache needs besides is deploy/apache/licensing.conf.',
          { code: 'INVALID_REQUEST', field: 'formerly' },
        );
      const { siteUrl } = plan;
      if (siteUrl === undefined)
        throw new ConfigError('Set LICENSING_PUBLIC_URL to the address of the site.');
      const folder = out === undefined ? DEFAULT_FOLDER : resolve(out);
      const made = apacheFiles(plan.answers, { siteUrl, folder, quotable });
      const files = [...made].map(([name, text]) => ({ name, text }));
      if (out === undefined) {
        output.print(
          Object.fromEntries(made),
          files.map(({ name, text }) => `# ==== ${name} ====\n\n${text}`).join('\n'),
        );
        return;
      }
      const { written, kept } = await writeFiles(folder, files, ownFiles(config));
      for (const path of kept) output.note(differs(path));
      const names = written.map((path) => basename(path)).join(', ');
      output.print(
        Object.fromEntries(made),
        `${names === '' ? `Nothing is to be written to ${folder}: the files are there` : `Written to ${folder}: ${names}`}.
One line connects it to the site, inside its <VirtualHost> for https, right after the one of licensing.conf:
  Include ${join(folder, APACHE_FILE)}
Then: apachectl configtest && systemctl reload apache2`,
      );
    });
}

/** The address of a panel's form. */
function passengerAddress(text: string): string {
  const address = `/${text.replace(/^\/+|\/+$/g, '')}`;
  if (!/^\/[A-Za-z0-9_-][A-Za-z0-9._/-]*$/.test(address) || /\/\.{0,2}(?:\/|$)/.test(address))
    throw new InvalidArgumentError('It must be a path of the site, such as /licensing-app.');
  return address;
}

/** Apache ends a word at these characters, and reads others as references. */
function quotable(path: string): string {
  if (/[\s"\\$%{}]/.test(path))
    throw new OperatorError(
      `Apache cannot read the path ${path} here. Choose a folder without blanks and "\\$%{}.`,
    );
  return path;
}
