import type { Command } from 'commander';
import {
  addKey,
  editKey,
  endKey,
  isOpen,
  keysOf,
  rekey,
  type KeyUse,
  type LicenseKey,
} from '../licensing/license-keys';
import type { License } from '../licensing/licenses';
import { liveStatus } from '../licensing/core/states';
import { formatTimestamp } from '../licensing/timestamps';
import { addedKeyJson, keyJson } from '../licensing/views';
import { duration, endDate, label, orNull, positiveInteger, requireChange, unlessNone } from './arguments';
import { withSession, type Output } from './command';
import { KEY_ARGUMENT, requireLicense, requireLicenseToShow } from './license-argument';
import { formatTable } from './tables';

const KEY_ID_ARGUMENT = 'id of the key: "licensing license key list" shows it';

/** `licensing license key` and `licensing license rekey`. */
export function addKeyCommands(license: Command): void {
  const key = license
    .command('key')
    .description(
      'The keys of a licence: further ones for clients of an agency, each with its own limit or end.',
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
  ends?: Date;
}

function addAdd(key: Command): void {
  key
    .command('add')
    .description('Gives a licence a further key and prints it. It opens the licence with the same slots.')
    .argument('<key>', KEY_ARGUMENT)
    .option('--label <text>', 'whom it is for', label)
    .option('--limit <n>', "the most slots that may be taken by it, within the licence's", positiveInteger)
    .option('--ends <date>', 'its end, before that of the licence; the whole of that day (UTC)', endDate)
    .addHelpText('after', '\nExample:\n  licensing license key add 12 --label "Bakery Smith" --limit 1')
    .action((given: string, { label, limit, ends }: AddOptions, command: Command) =>
      withSession(command, async ({ db, config, now, actor, output }) => {
        const license = await requireLicense(db, given);
        const { id } = license;
        const terms = { label, activationLimit: limit, endsAt: ends };
        const added = await addKey(db, id, terms, config.keySecret, { actor, now });
        output.print(addedKeyJson(added), added.key);
        output.note(
          `It is key ${added.stored.id} of licence ${id}, and ends with "licensing license key end ${id} ${added.stored.id}".`,
        );
        noteWiderTerms(output, license, added.stored, now);
      }),
    );
}

/** The licence's own state, limit and end hold all the same. */
function noteWiderTerms(output: Output, license: License, key: LicenseKey, now: Date): void {
  const { id, activationLimit, expiresAt } = license;
  const status = liveStatus(license, now);
  if (status !== 'active')
    output.note(`note: licence ${id} is ${status}, and so this key opens nothing now.`);
  if (activationLimit !== 0 && (key.activationLimit ?? 0) > activationLimit)
    output.note(`note: licence ${id} has ${activationLimit} slots in all, fewer than this key's limit.`);
  if (expiresAt !== null && key.endsAt !== null && key.endsAt > expiresAt)
    output.note(`note: licence ${id} ends before this key, on ${formatTimestamp(expiresAt)}.`);
}

interface EditOptions {
  label?: string;
  limit?: number | 'none';
  ends?: Date | 'none';
}

function addEdit(key: Command): void {
  key
    .command('edit')
    .description('Changes the label, the limit or the end of a key. Activations over a new limit are kept.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<key_id>', KEY_ID_ARGUMENT, positiveInteger)
    .option('--label <text>', 'whom it is for; none removes it', unlessNone(label))
    .option(
      '--limit <n>',
      "the most slots that may be taken by it; none: the licence's",
      unlessNone(positiveInteger),
    )
    .option(
      '--ends <date>',
      'its end, the whole of that day (UTC); none: with the licence',
      unlessNone(endDate),
    )
    .addHelpText('after', '\nExample:\n  licensing license key edit 12 34 --limit 3')
    .action((given: string, keyId: number, options: EditOptions, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        requireChange(command, options.label, options.limit, options.ends);
        const license = await requireLicense(db, given);
        const { id } = license;
        const terms = {
          label: orNull(options.label),
          activationLimit: orNull(options.limit),
          endsAt: orNull(options.ends),
        };
        const changed = await editKey(db, id, keyId, terms, { actor, now });
        output.print(keyJson(changed), `Key ${keyId} of licence ${id} is changed.`);
        noteWiderTerms(output, license, changed, now);
      }),
    );
}

function addList(key: Command): void {
  key
    .command('list')
    .description("Lists a licence's keys, the oldest first, with those that have ended.")
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

/** A table of a licence's keys. */
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
  const end = `${isOpen(key, now) ? '' : 'ended '}${formatTimestamp(endsAt)}`;
  return replacedBy === null ? end : `${end}, replaced by ${replacedBy}`;
}

function addEnd(key: Command): void {
  key
    .command('end')
    .description('Ends a key now. Its sites keep their slots, and can still be validated by the other keys.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<key_id>', KEY_ID_ARGUMENT, positiveInteger)
    .option('--free', 'also removes what was activated by it, and the staging sites which those carry')
    .addHelpText('after', '\nExample:\n  licensing license key end 12 34 --free')
    .action((given: string, keyId: number, { free = false }: { free?: boolean }, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        const { id } = await requireLicense(db, given);
        const { key: ended, freed } = await endKey(db, id, keyId, { free }, { actor, now });
        output.print(
          { ...keyJson(ended), freed },
          [`Key ${keyId} of licence ${id} has ended.`, ...freed.map((one) => `${one} is removed.`)].join(
            '\n',
          ),
        );
      }),
    );
}

interface RekeyOptions {
  keyId?: number;
  overlap?: string;
}

function addRekey(license: Command): void {
  license
    .command('rekey')
    .description(
      'Gives a licence a new key in the place of its main key, or of another, and prints it. Activations are kept.',
    )
    .argument('<key>', KEY_ARGUMENT)
    .option('--key-id <id>', 'the key to replace; the main key unless given', positiveInteger)
    .option(
      '--overlap <duration>',
      'how long the old key still works, such as 14d; without it, it stops at once',
      duration,
    )
    .addHelpText('after', '\nExample:\n  licensing license rekey 12 --overlap 14d')
    .action((given: string, options: RekeyOptions, command: Command) =>
      withSession(command, async ({ db, config, now, actor, output }) => {
        const { id } = await requireLicense(db, given);
        const added = await rekey(db, id, options, config.keySecret, { actor, now });
        output.print({ ...addedKeyJson(added), id, key_id: added.stored.id }, added.key);
        if (options.overlap !== undefined)
          output.note(`The old key works until ${formatTimestamp(added.oldEndsAt)}.`);
      }),
    );
}
