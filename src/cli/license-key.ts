import type { Command } from 'commander';
import { formatTimestamp } from '../base/days';
import { isKeyActive, keysOf, type KeyUse, type LicenseKey } from '../licensing/license-keys';
import type { License } from '../licensing/licenses';
import { inBothForms } from '../licensing/core/identifiers';
import { liveStatus } from '../licensing/core/states';
import { keyJson } from '../licensing/views';
import { licenseKeyOperations } from '../operations/license-keys';
import {
  duration,
  endText,
  label,
  type EXPLICIT_NULL,
  positiveInteger,
  requireChange,
  noneOr,
} from './arguments';
import { withSession, type Output } from './command';
import { KEY_ARGUMENT, licenseArgument, requireLicenseToShow } from './license-argument';
import { operate, operateAll, type DataOf } from './operate';
import { formatTable } from './tables';

const KEY_ID_ARGUMENT = 'id of the key: "licensing license key list" shows it';

/** Adds `licensing license key` and `licensing license rekey`. */
export function addKeyCommands(license: Command): void {
  const key = license
    .command('key')
    .description(
      'The keys of a licence. An agency can have a key for each of its clients, with its own limit and end.',
    );
  addAdd(key);
  addEdit(key);
  addList(key);
  addEnd(key);
  addRekey(license);
}

interface AddOptions {
  label?: string;
  limit?: number;
  ends?: string;
}

function addAdd(key: Command): void {
  key
    .command('add')
    .description('Adds a key to a licence and prints it. All keys of a licence share its slots.')
    .argument('<key>', KEY_ARGUMENT)
    .option('--label <text>', 'the person or client that it is for', label)
    .option(
      '--limit <n>',
      'the most slots that this key may take, within the limit of the licence',
      positiveInteger,
    )
    .option('--ends <date>', 'its last day (UTC), if it ends before the licence', endText)
    .addHelpText('after', '\nExample:\n  licensing license key add 12 --label "Bakery Smith" --limit 1')
    .action((given: string, { label, limit, ends }: AddOptions, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const license = await licenseArgument(session.db, given);
        const { id } = license;
        const wanted = { path: { id }, body: { label, activation_limit: limit, ends_at: ends } };
        const added = await operate(session, licenseKeyOperations.addLicenseKey, wanted);
        output.print(added, added.license_key);
        output.note(
          `It is key ${added.id} of licence ${id}. To end it: licensing license key end ${id} ${added.id}`,
        );
        noteWiderTerms(output, license, added, session.now);
      }),
    );
}

type Key = DataOf<typeof licenseKeyOperations.updateLicenseKey>;

/** Notes that a key's terms are wider than the licence's own state, limit and end, which still apply. */
function noteWiderTerms(output: Output, license: License, key: Key, now: Date): void {
  const { id, activationLimit, expiresAt } = license;
  const status = liveStatus(license, now);
  if (status !== 'active') output.note(`note: licence ${id} is ${status}, so this key does not work now.`);
  if (activationLimit !== 0 && (key.activation_limit ?? 0) > activationLimit)
    output.note(`note: licence ${id} has ${activationLimit} slots in all, fewer than this key's limit.`);
  if (expiresAt !== null && key.ends_at !== null && new Date(key.ends_at) > expiresAt)
    output.note(`note: licence ${id} ends before this key, on ${formatTimestamp(expiresAt)}.`);
}

interface EditOptions {
  label?: string | typeof EXPLICIT_NULL;
  limit?: number | typeof EXPLICIT_NULL;
  ends?: string | typeof EXPLICIT_NULL;
}

function addEdit(key: Command): void {
  key
    .command('edit')
    .description('Changes the label, the limit or the end of a key. Activations over a new limit are kept.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<key_id>', KEY_ID_ARGUMENT, positiveInteger)
    .option('--label <text>', 'the person or client that it is for; none removes it', noneOr(label))
    .option(
      '--limit <n>',
      'the most slots that this key may take; none: the limit of the licence',
      noneOr(positiveInteger),
    )
    .option('--ends <date>', 'its last day (UTC); none: it ends with the licence', noneOr(endText))
    .addHelpText('after', '\nExample:\n  licensing license key edit 12 34 --limit 3')
    .action((given: string, keyId: number, { label: text, limit, ends }: EditOptions, command: Command) =>
      withSession(command, async (session) => {
        requireChange(command, text, limit, ends);
        const license = await licenseArgument(session.db, given);
        const { id } = license;
        const changed = await operate(session, licenseKeyOperations.updateLicenseKey, {
          path: { id, key_id: keyId },
          body: { label: text, activation_limit: limit, ends_at: ends },
        });
        session.output.print(changed, `Key ${keyId} of licence ${id} is changed.`);
        noteWiderTerms(session.output, license, changed, session.now);
      }),
    );
}

function addList(key: Command): void {
  key
    .command('list')
    .description("Lists a licence's keys, oldest first, including ended ones.")
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing license key list 12')
    .action((given: string, _options: object, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const license = await requireLicenseToShow({ db, output }, given);
        const keys = await keysOf(db, license);
        output.print(
          keys.map(({ key: one }) => keyJson(one)),
          () => keyTable(keys, now),
        );
      }),
    );
}

/** Formats a table of a licence's keys. */
export function keyTable(keys: KeyUse[], now: Date): string {
  return formatTable(
    ['ID', 'KEY', 'LABEL', 'SLOTS', 'ENDS'],
    keys.map(({ key, isMain, used }) => [
      key.id,
      key.keyHint,
      isMain && key.label === null ? 'main key' : key.label,
      key.replacedBy === null
        ? `${used}${key.activationLimit === null ? '' : `/${key.activationLimit}`}`
        : null,
      endOf(key, now),
    ]),
  );
}

function endOf(key: LicenseKey, now: Date): string {
  const { endsAt, replacedBy } = key;
  if (endsAt === null) return 'with the licence';
  const end = `${isKeyActive(key, now) ? '' : 'ended '}${formatTimestamp(endsAt)}`;
  return replacedBy === null ? end : `${end}, replaced by ${replacedBy}`;
}

function addEnd(key: Command): void {
  key
    .command('end')
    .description('Ends a key now. Its sites keep their slots, and the other keys can still validate them.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<key_id>', KEY_ID_ARGUMENT, positiveInteger)
    .option('--free', 'also remove the sites that were activated by it, together with their staging sites')
    .addHelpText('after', '\nExample:\n  licensing license key end 12 34 --free')
    .action((given: string, keyId: number, { free = false }: { free?: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const { id, plan } = await licenseArgument(session.db, given);
        const wanted = { path: { id, key_id: keyId }, query: { free: free ? ('1' as const) : undefined } };
        const ended = await operate(session, licenseKeyOperations.removeLicenseKey, wanted);
        session.output.print(
          ended,
          [
            `Key ${keyId} of licence ${id} has ended.`,
            ...ended.freed.map((one) => `${inBothForms(one, plan.activationType)} is removed.`),
          ].join('\n'),
        );
      }),
    );
}

interface RekeyOptions {
  keyId?: number;
  overlap?: string;
  mail?: boolean;
}

function addRekey(license: Command): void {
  license
    .command('rekey')
    .description(
      'Replaces the main key of a licence, or another of its keys, and prints the new key. Activations are kept.',
    )
    .argument('<key>', KEY_ARGUMENT)
    .option('--key-id <id>', 'the id of the key to replace; default: the main key', positiveInteger)
    .option(
      '--overlap <duration>',
      'how long the old key still works, such as 14d; default: it stops at once',
      duration,
    )
    .option('--mail', 'mail the new key to the customer; only for the main key')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing license rekey 12 --overlap 14d\n  licensing license rekey 12 --overlap 14d --mail',
    )
    .action((given: string, options: RekeyOptions, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const { id, mainKeyId } = await licenseArgument(session.db, given);
        const { keyId = mainKeyId, overlap } = options;
        const path = { id };
        const body = { key_id: options.keyId, overlap, mail: options.mail };
        const added = await operate(session, licenseKeyOperations.rekeyLicense, { path, body });
        output.print(added, added.license_key);
        if (overlap === undefined) return;
        const keys = await operateAll(session, licenseKeyOperations.listLicenseKeys, { path });
        const old = keys.find((key) => key.id === keyId);
        output.note(`The old key works until ${old?.ends_at ?? '-'}.`);
      }),
    );
}
