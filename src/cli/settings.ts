import type { Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { configurationOperations } from '../operations/configuration';
import { EDITABLE, EDITABLE_NAMES, isEditable, type EditableName } from '../settings/names';
import { settings as settingsTexts } from '../texts/operators/en/settings';
import { mailServerInWords } from '../texts/operators/mail-server';
import { EXPLICIT_NULL, oneOf } from './arguments';
import { withSession, type Session } from './command';
import { operate } from './operate';
import { readValue } from './standard-input';
import { formatTable } from './tables';

export function addSettingsCommands(program: Command): void {
  const settings = program
    .command('settings')
    .description('Shows the settings in effect, and changes some of them while the service runs.');
  addList(settings);
  addSet(settings);
  addUnset(settings);
}

function addList(settings: Command): void {
  settings
    .command('list')
    .description('Lists the settings in effect, without passwords and secrets.')
    .addHelpText('after', '\nExample:\n  licensing settings list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const rows = await operate(session, configurationOperations.listSettings);
        session.output.print(rows, () =>
          formatTable(
            ['SETTING', 'VALUE', 'SOURCE', 'CHANGED', 'BY'],
            rows.map((row) => [
              row.name,
              shownValue(row.name, row.value),
              row.editable || row.source === 'environment' ? row.source : `${row.source}, of the environment`,
              row.changed_at,
              row.changed_by,
            ]),
          ),
        );
      }),
    );
}

/** Describes a mail server, whose URL `--json` prints. Returns other values unchanged. */
function shownValue(name: string, value: string | number | null): string | number | null {
  return name === 'mail_url' && value !== null ? mailServerInWords(settingsTexts.mail, String(value)) : value;
}

const NAME_HELP = `one of ${EDITABLE_NAMES.join(', ')}`;

function addSet(settings: Command): void {
  settings
    .command('set')
    .description('Changes a setting in every instance. An environment variable takes precedence over it.')
    .argument('<name>', NAME_HELP, oneOf(EDITABLE_NAMES))
    .argument(
      '<value>',
      'the value; - reads it from standard input, which keeps a password out of process lists',
    )
    .option('--untried', 'save a mail server even if it cannot be reached now')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing settings set rate_limit 120\n  licensing settings set mail_url - < mail-url.txt',
    )
    .action((name: EditableName, given: string, { untried }: { untried?: true }, command: Command) =>
      withSession(command, async (session) => {
        const value = (await readValue(given, 'Value')).trim();
        if (value === '')
          throw new OperatorError(`Nothing was given. "licensing settings unset ${name}" removes a value.`);
        await change(session, name, asJson(name, value), untried);
      }),
    );
}

function asJson(name: EditableName, value: string): string | number {
  return EDITABLE[name].kind === 'number' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

function addUnset(settings: Command): void {
  settings
    .command('unset')
    .description('Removes the value that was set, so that the default applies again.')
    .argument('<name>', NAME_HELP, oneOf(EDITABLE_NAMES))
    .addHelpText('after', '\nExample:\n  licensing settings unset rate_limit')
    .action((name: EditableName, _options: object, command: Command) =>
      withSession(command, (session) => change(session, name, EXPLICIT_NULL, undefined)),
    );
}

async function change(
  session: Session,
  name: EditableName,
  value: string | number | typeof EXPLICIT_NULL,
  untried: true | undefined,
): Promise<void> {
  const changed = await operate(session, configurationOperations.updateSettings, {
    body: { [name]: value, untried },
  });
  session.output.print(changed, () =>
    changed
      .filter((one) => isEditable(one.name))
      .map((one) => `${one.name} is ${shownValue(one.name, one.value) ?? 'not set'} now (${one.source}).`)
      .join('\n'),
  );
}
