import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { packageRoot } from '../settings/config';
import { FILE_HEADER, makePhpClient } from '../joomla/php-client';
import { lookAt, makeFolder, replaceFile, requireReplaceable, type FileKind } from '../packages/replace-file';
import { asCaller } from '../process/rights';
import { createOutput } from './command';

/** The files that this command may replace. It never replaces another file of the extension. */
const CLIENT_FILE: FileKind = {
  name: 'an earlier file of this command',
  isOne: (beginning) => beginning.startsWith(FILE_HEADER),
};

export function addPhpCommand(program: Command): void {
  program
    .command('php')
    .description(
      'Writes the PHP client in your own namespace, for an extension that checks its licence itself. It needs PHP 7.2.5 or later, and no other library.',
    )
    .requiredOption('--namespace <namespace>', "such as 'Acme\\Example\\Licensing'")
    .requiredOption('--out <folder>', 'the folder of the namespace in your extension, such as src/Licensing')
    .addHelpText(
      'after',
      "\nExample:\n  licensing php --namespace 'Acme\\Example\\Licensing' --out src/Licensing",
    )
    .action(async ({ namespace, out }: { namespace: string; out: string }, command: Command) => {
      const output = createOutput(command);
      const files = await makePhpClient(namespace, packageRoot);
      const folder = resolve(out);
      await asCaller(async () => {
        await makeFolder(folder);
        const placed = await Promise.all(
          files.map(async ({ name, text }) => ({ place: await lookAt(join(folder, name)), text })),
        );
        // Check all files before writing the first one.
        for (const { place } of placed) await requireReplaceable(place, [], CLIENT_FILE);
        for (const { place, text } of placed) await replaceFile(place, 0o644, (sink) => sink(text));
      });
      output.print(
        { folder, files: files.map(({ name }) => name) },
        [
          ...files.map(({ name }) => join(folder, name)),
          '',
          'Pass the public keys of the service to the constructor: "licensing signing-key list --php" prints them.',
        ].join('\n'),
      );
    });
}
