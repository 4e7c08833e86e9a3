import { basename, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../config';
import { ConfigError } from '../errors';
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
}

export function addApacheCommand(program: Command): void {
  program
    .command('apache')
    .summary('print what Apache answers addresses of the former system with')
    .description(
      "Prints Apache's configuration for the addresses of the system that was used before, to be included after " +
        "licensing.conf (docs/apache.md). Nothing of the machine's Apache is touched.",
    )
    .addOption(formerlyOption())
    .option(
      '--out <dir>',
      'write it into this folder instead; a file there that differs stays, beside NAME.new',
      folderName,
    )
    .addHelpText('after', '\nExample:\n  licensing apache --formerly ars=7:42 --out /etc/apache2')
    .action(async ({ formerly, out }: ApacheOptions, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
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

/** Apache ends a word at these characters, and reads others as references. */
function quotable(path: string): string {
  if (/[\s"\\$%{}]/.test(path))
    throw new OperatorError(
      `Apache cannot read the path ${path} here. Choose a folder without blanks and "\\$%{}.`,
    );
  return path;
}
