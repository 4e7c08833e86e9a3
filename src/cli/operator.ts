import type { Command } from 'commander';
import { formatTimestamp } from '../base/days';
import {
  addOperator,
  listOperators,
  removeOperator,
  requireOperatorEmail,
  type Operator,
} from '../access/operators';
import { oneOf, asUsageError } from './arguments';
import { withSession } from './command';
import { SIGN_IN_SCOPES, type SignInScope } from './sign-in';
import { formatTable } from './tables';

export function addOperatorCommands(program: Command): void {
  const operator = program
    .command('operator')
    .description("People who may sign in to the operator's pages by a mailed link.");
  addAdd(operator);
  addList(operator);
  addRemove(operator);
}

const email = (text: string): string => asUsageError(() => requireOperatorEmail(text));

function addAdd(operator: Command): void {
  operator
    .command('add')
    .description('Allows an address to receive sign-in links.')
    .argument(
      '<email>',
      'the address that links are mailed to; the history shows it as operator:EMAIL',
      email,
    )
    .option(
      '--scope <scope>',
      'what they may do. read: see everything except keys. write: everything',
      oneOf(SIGN_IN_SCOPES),
      'read',
    )
    .addHelpText('after', '\nExample:\n  licensing operator add jane@example.com --scope write')
    .action((address: string, { scope }: { scope: SignInScope }, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        const added = await addOperator(db, { email: address, scope }, { actor, now });
        output.print(
          operatorJson(added),
          `${added.email} may sign in by a mailed link (scope ${added.scope}).`,
        );
        output.note(
          'Links are requested on the sign-in page, once mail is set up. Until then, "licensing sign-in" prints one.',
        );
      }),
    );
}

function addList(operator: Command): void {
  operator
    .command('list')
    .description('Lists the addresses that may receive sign-in links.')
    .addHelpText('after', '\nExample:\n  licensing operator list')
    .action((_options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const operators = await listOperators(db);
        output.print(operators.map(operatorJson), () =>
          formatTable(
            ['E-MAIL', 'SCOPE', 'ADDED'],
            operators.map((one) => [one.email, one.scope, formatTimestamp(one.createdAt)]),
            'No operators.',
          ),
        );
      }),
    );
}

function addRemove(operator: Command): void {
  operator
    .command('remove')
    .description('Stops mailing links to an address, and ends the sessions that such links opened.')
    .argument('<email>', '"licensing operator list" shows the addresses', email)
    .addHelpText('after', '\nExample:\n  licensing operator remove jane@example.com')
    .action((address: string, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const removed = await removeOperator(db, address);
        output.print(
          operatorJson(removed),
          `${removed.email} is removed, and its sessions have ended. Tokens that were made in them stay valid: "licensing token list" shows them.`,
        );
      }),
    );
}

function operatorJson({ id, email, scope, createdAt }: Operator) {
  return { id, email, scope, created_at: formatTimestamp(createdAt) };
}
