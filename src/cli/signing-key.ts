import type { Command } from 'commander';
import { formatTimestamp } from '../base/days';
import {
  verificationKeys,
  listKeysInUse,
  sealFault,
  toPem,
  type SigningKeyInUse,
} from '../licensing/signing-keys';
import { signingKeyOperations } from '../operations/signing-keys';
import { withSession } from './command';
import { operate, operateAll } from './operate';
import { formatTable } from './tables';

export function addSigningKeyCommands(program: Command): void {
  const signingKey = program
    .command('signing-key')
    .description("Keys that sign answers and files, so that customers' software can verify them.");
  addAdd(signingKey);
  addList(signingKey);
  addRetire(signingKey);
}

function addAdd(signingKey: Command): void {
  signingKey
    .command('add')
    .description(
      'Makes a key. The first key signs at once. A further key signs when the current one is retired.',
    )
    .addHelpText(
      'after',
      '\nIts private part is sealed with LICENSING_KEY_SECRET, and never shown.\n\nExample:\n  licensing signing-key add',
    )
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const added = await operate(session, signingKeyOperations.addSigningKey);
        const { kid, state } = added;
        output.print(
          added,
          state === 'current'
            ? `Signing key ${kid} signs from now on.`
            : `Signing key ${kid} is added. It signs when the current one is retired.`,
        );
        output.note(
          'Build it into your software now, together with the other keys: "licensing signing-key list --php" prints them.',
        );
      }),
    );
}

interface ListOptions {
  php?: boolean;
  pem?: boolean;
}

function addList(signingKey: Command): void {
  signingKey
    .command('list')
    .description('Lists the keys, oldest first. Only public parts are ever shown.')
    .option('--php', 'print the public keys as a constant for PHP')
    .option('--pem', 'print the public keys in PEM')
    .addHelpText(
      'after',
      '\n--php and --pem leave out keys whose tokens are no longer valid.\n\nExamples:\n  licensing signing-key list\n  licensing signing-key list --php',
    )
    .action(({ php = false, pem = false }: ListOptions, command: Command) => {
      if (php && pem) command.error('error: --php and --pem exclude each other', { exitCode: 2 });
      return withSession(command, async (session) => {
        const { db, config, now, output } = session;
        // Read the keys with their sealed parts for the notes.
        const keys = await listKeysInUse(db);
        const accepted = verificationKeys(keys, now);
        output.print(await operateAll(session, signingKeyOperations.listSigningKeys), () =>
          php ? phpConstant(accepted) : pem ? pemBlocks(accepted) : keyTable(keys),
        );
        for (const key of keys) {
          const fault = key.state === 'retired' ? undefined : sealFault(key, config.keySecret);
          if (fault !== undefined) output.note(`note: ${fault} Nothing can be signed with it.`);
        }
      });
    });
}

/** Formats the keys by kid, because verifiers look them up by kid. */
function phpConstant(keys: SigningKeyInUse[]): string {
  const lines = keys.map(({ kid, x, state }) => `    '${kid}' => '${x}', // ${state}`);
  return ['const LICENSE_KEYS = [', ...lines, '];'].join('\n');
}

function pemBlocks(keys: SigningKeyInUse[]): string {
  return keys.map((key) => `# ${key.kid}, ${key.state}\n${toPem(key).trimEnd()}`).join('\n');
}

function keyTable(keys: SigningKeyInUse[]): string {
  return formatTable(
    ['KID', 'STATE', 'MADE', 'RETIRED'],
    keys.map(({ kid, state, createdAt, retiredAt, compromised }) => [
      ...[kid, compromised ? 'compromised' : state, formatTimestamp(createdAt)],
      retiredAt && formatTimestamp(retiredAt),
    ]),
    'No signing keys. "licensing signing-key add" makes one.',
  );
}

function addRetire(signingKey: Command): void {
  signingKey
    .command('retire')
    .description('Stops signing with a key. The next one signs within ten seconds.')
    .argument('<kid>', 'name of the key: "licensing signing-key list" shows it')
    .option('--compromised', 'someone else may have its private part: remove it from keys.json at once')
    .addHelpText(
      'after',
      '\nTokens that it has signed stay valid until they expire, unless the key is compromised.\n\nExample:\n  licensing signing-key retire 2026-1',
    )
    .action((kid: string, { compromised = false }: { compromised?: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { kid }, body: { compromised } };
        const retired = await operate(session, signingKeyOperations.retireSigningKey, wanted);
        session.output.print(retired, `Signing key ${kid} is retired.`);
        if (compromised)
          session.output.note(
            'Software with this key built in still accepts it: publish a version that contains only the other keys.',
          );
      }),
    );
}
