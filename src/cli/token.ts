import type { Command } from 'commander';
import { tokenOperations } from '../operations/tokens';
import { endText, label, positiveInteger } from './arguments';
import { withSession } from './command';
import { operate, operateAll, parseFieldValue, type BodyOf } from './operate';
import { formatTable } from './tables';

const SCOPE_HELP =
  'what it may do. read: see everything except keys. issue, for a shop: issue licences, and change those that it issued. write: everything';

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description("Tokens of the operator's API, for shops and scripts.");
  addAdd(token);
  addList(token);
  addRevoke(token);
}

type Scope = BodyOf<typeof tokenOperations.addToken>['scope'];

function addAdd(token: Command): void {
  token
    .command('add')
    .description('Makes a token and prints it. It is shown only now, because only its digest is stored.')
    .requiredOption('--name <name>', 'the name of its user; the history shows it as token:NAME', label)
    .requiredOption('--scope <scope>', SCOPE_HELP, parseFieldValue(tokenOperations.addToken, 'scope'))
    .option('--expires <date>', 'its last day (UTC); default: it never expires', endText)
    .addHelpText(
      'after',
      '\nCalls send it as "Authorization: Bearer lgw_...". A licence keeps the name of the issue token that issued it. To replace such a token, revoke it and make one with the same name.' +
        '\n\nExample:\n  licensing token add --name shop --scope issue --expires 2027-12-31',
    )
    .action(({ name, scope, expires }: { name: string; scope: Scope; expires?: string }, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const body = { name, scope, expires_at: expires };
        const added = await operate(session, tokenOperations.addToken, { body });
        const { id, expires_at: end } = added;
        output.print(added, added.token);
        output.note(
          `Store it now: it cannot be shown again. It is token ${id}${end === null ? '' : `, and expires on ${end}`}. To revoke it: licensing token revoke ${id}`,
        );
        output.note(CAN[scope]);
      }),
    );
}

const CAN: Record<Scope, string> = {
  read: 'Anyone who has it can read customers, licences, sites and history, but change nothing.',
  issue:
    'Anyone who has it can issue licences with their keys, and renew, suspend, reinstate or cancel the licences that it issued. It cannot see other licences.',
  write:
    'Anyone who has it can do everything: read keys, publish packages to all customers, and make more tokens.',
};

function addList(token: Command): void {
  token
    .command('list')
    .description('Lists tokens that are not revoked. The tokens themselves are not shown.')
    .addHelpText('after', '\nExample:\n  licensing token list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const { now, output } = session;
        const tokens = await operateAll(session, tokenOperations.listTokens);
        output.print(tokens, () =>
          formatTable(
            ['ID', 'NAME', 'SCOPE', 'EXPIRES', 'LAST USED'],
            tokens.map(({ id, name, scope, expires_at: end, last_used_at: used }) => [
              ...[id, name, scope],
              end === null ? 'never' : `${new Date(end) <= now ? 'expired ' : ''}${end}`,
              used ?? 'never',
            ]),
            'No tokens.',
          ),
        );
      }),
    );
}

function addRevoke(token: Command): void {
  token
    .command('revoke')
    .description('Revokes a token: every instance refuses it within two seconds. This cannot be undone.')
    .argument('<id>', 'id of the token: "licensing token list" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing token revoke 3')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const revoked = await operate(session, tokenOperations.removeToken, { path: { id } });
        session.output.print(revoked, `Token ${id}, ${revoked.name}, is revoked.`);
      }),
    );
}
