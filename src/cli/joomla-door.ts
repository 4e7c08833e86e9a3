import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { packageRoot } from '../settings/config';
import { makeDoor } from '../joomla/door';
import { requireReplaceable, type FileKind } from '../packages/replace-file';
import { createOutput } from './command';
import { settingsFile, writeZip } from './output-file';

const ZIP: FileKind = { name: 'a zip', isOne: (beginning) => beginning.startsWith('PK') };

export function addJoomlaDoorCommand(program: Command): void {
  program
    .command('joomla-door')
    .description(
      'Writes a component for the Joomla of your own site. Its administrators then open the pages with Components > Licensing, without another sign-in. For Joomla 4.4, 5 and 6.',
    )
    .requiredOption('--out <file>', 'the zip to write')
    .addHelpText(
      'after',
      '\nIt needs neither the database nor the site. docs/joomla-door.md shows how to set it up.\n\nExample:\n  licensing joomla-door --out com_licensing.zip',
    )
    .action(async ({ out }: { out: string }, command: Command) => {
      const file = resolve(out);
      const { element, version, zip } = await makeDoor(packageRoot);
      await writeZip(file, zip, (place) => requireReplaceable(place, [settingsFile()], ZIP));
      createOutput(command).print({ file, element, version }, describe(file));
    });
}

function describe(file: string): string {
  return [
    `${file} is a component for your site's Joomla.`,
    '',
    `1. In its administrator: System > Install > Extensions > Upload Package File: ${basename(file)}`,
    '2. Components > Licensing > Open',
    '',
    'The service asks the site who is signed in, so it needs LICENSING_JOOMLA_ROOT and LICENSING_PUBLIC_URL.',
    'The user groups in LICENSING_OPERATOR_GROUPS may open the pages (default: 8, Super Users).',
  ].join('\n');
}
