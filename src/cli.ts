#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addActivationCommands } from './cli/activation';
import { addCustomerCommands } from './cli/customer';
import { addDoctorCommand } from './cli/doctor';
import { addExportCommand } from './cli/export';
import { addImportCommand } from './cli/import';
import { addInitCommand } from './cli/init';
import { addLicenseCommands } from './cli/license';
import { addManifestCommand } from './cli/manifest';
import { addMigrateCommand } from './cli/migrate';
import { addNginxCommand } from './cli/nginx';
import { addPlanCommands } from './cli/plan';
import { addProductCommands } from './cli/product';
import { addReleaseCommands } from './cli/release';
import { addUpdateXmlCommands } from './cli/update-xml';
import { addWhyCommand } from './cli/why';
import { ConfigError } from './config';
import { redactKeys } from './licensing/keys';
import { OperatorError } from './licensing/operator-error';
import { SealError } from './licensing/sealing';
import { isUnavailable } from './store/errors';
import { SchemaError } from './store/migrate';

/** Exit codes: 0 done, 1 refused or failed with nothing changed, 2 a usage error. */
const FAILED = 1;
const USAGE = 2;

async function main(argv: string[]): Promise<number> {
  const program = new Command('licensing')
    .description('Sells and serves software licences beside a Joomla site.')
    .option('--json', 'print one JSON value on standard output')
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: complain })
    .exitOverride();
  addInitCommand(program);
  addMigrateCommand(program);
  addNginxCommand(program);
  addProductCommands(program);
  addPlanCommands(program);
  addLicenseCommands(program);
  addActivationCommands(program);
  addReleaseCommands(program);
  addUpdateXmlCommands(program);
  addManifestCommand(program);
  addCustomerCommands(program);
  addExportCommand(program);
  addImportCommand(program);
  addWhyCommand(program);
  addDoctorCommand(program);
  try {
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    complain(`error: ${describe(error)}\n`);
    return FAILED;
  }
}

/** On standard error, which a cron job keeps: a key that was typed where none belongs is not repeated there. */
function complain(text: string): void {
  process.stderr.write(redactKeys(text));
}

/** In words; a driver's message would repeat the statement with its values. */
function describe(error: unknown): string {
  if (
    error instanceof OperatorError ||
    error instanceof ConfigError ||
    error instanceof SchemaError ||
    error instanceof SealError
  )
    return error.message;
  const { code, sql, sqlMessage, message } = error as {
    code?: string;
    sql?: string;
    sqlMessage?: string;
    message: string;
  };
  if (isUnavailable(error))
    return `The database cannot be reached or cannot do this now (${code ?? sqlMessage ?? 'no answer'}). Check LICENSING_DATABASE_URL and that the server runs.`;
  return sql === undefined
    ? message
    : `The database refused the statement: ${sqlMessage ?? code ?? 'no reason given'}.`;
}

// Whoever reads the output may have seen enough ("| head"): that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
void main(process.argv).then((code) => {
  process.exitCode = code;
});
