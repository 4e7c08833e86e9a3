import type { Command } from 'commander';
import { requirePlanNamed } from '../licensing/find-or-throw';
import type { MetadataChanges } from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import type { Plan } from '../licensing/catalogue';
import { listEvents } from '../licensing/licenses';
import { licenseKeyOperations } from '../operations/license-keys';
import { licenseOperations } from '../operations/licenses';
import { emailAddress, label, metadataChange, nonNegativeInteger, positiveInteger, upTo } from './arguments';
import { withSession, type Output, type Session } from './command';
import { KEY_ARGUMENT, licenseArgument, requireLicenseToShow } from './license-argument';
import { operate, type BodyOf, type DataOf } from './operate';
import { eventJson, licenseJson } from '../licensing/views';
import { askYesOrNo } from './standard-input';
import { formatFields } from './tables';
import { actorInWords } from '../support/sentences';
import { history } from '../texts/operators/en/history';
import { support } from '../texts/operators/en/support';

/** Adds the subcommands of `licensing license` that do not change a licence's state, and its history. */
export function addAmendments(license: Command): void {
  addSetLimit(license);
  addChangePlan(license);
  addSetCustomer(license);
  addMetadata(license);
  addReveal(license);
  addHistory(license);
}

function addSetLimit(license: Command): void {
  license
    .command('set-limit')
    .description('Changes how many slots a licence has. Activations over the new limit are kept.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<n>', 'slots; 0 for unlimited', nonNegativeInteger)
    .addHelpText('after', '\nExample:\n  licensing license set-limit 12 10')
    .action((key: string, limit: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { id } = await licenseArgument(session.db, key);
        await amend(session, id, { activation_limit: limit });
      }),
    );
}

function addChangePlan(license: Command): void {
  license
    .command('change-plan')
    .description('Moves a licence to another plan. Its key, its end and its activations stay.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<plan>', "id, or name among the product's plans", label)
    .option('--yes', 'do not ask if the plan belongs to another product')
    .addHelpText('after', '\nExample:\n  licensing license change-plan 12 8')
    .action((key: string, written: string, { yes }: { yes?: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const { db } = session;
        const found = await licenseArgument(db, key);
        const plan = await requirePlanNamed(db, written, found.product.id);
        const changes = { plan_id: plan.id };
        const license = await amend(session, found.id, {
          ...changes,
          ...(yes && { other_product: yes }),
        }).catch(async (error: unknown) => {
          const asks = error instanceof OperatorError && error.facts?.reason === 'other-product';
          if (!asks) throw error;
          const answer = await askYesOrNo(`${error.message}\nMove it to the other product? [y/N] `);
          if (answer === undefined) throw error;
          if (!answer) throw new OperatorError('Nothing was changed.');
          return amend(session, found.id, { ...changes, other_product: true });
        });
        noteOtherDuration(session.output, license, plan);
      }),
    );
}

function addSetCustomer(license: Command): void {
  license
    .command('set-customer')
    .description('Sets the customer of a licence.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<email>', "the customer's e-mail address", emailAddress)
    .addHelpText('after', '\nExample:\n  licensing license set-customer 12 jane@example.com')
    .action((key: string, customer: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { id } = await licenseArgument(session.db, key);
        const { key_mailed: isMailed } = await amend(session, id, { customer });
        if (isMailed) session.output.note(`The keys of its order are mailed to ${customer}.`);
      }),
    );
}

function addMetadata(license: Command): void {
  license
    .command('metadata')
    .description(
      "Changes a licence's metadata: names and texts of your own, which customers never see. Names that you do not give stay. Without a name, it prints all metadata.",
    )
    .argument('<key>', KEY_ARGUMENT)
    .argument('[metadata...]', 'NAME=TEXT sets a name, and NAME= removes it', metadataChange)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing license metadata 12 order_item=77 channel=fair\n  licensing license metadata 12 channel=\n  licensing license metadata 12',
    )
    // Commander passes an empty array if no changes were given.
    .action((key: string, changes: MetadataChanges, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { db, now, output } = session;
        const json =
          Object.keys(changes).length === 0
            ? licenseJson(await requireLicenseToShow(session, key), now)
            : await change(session, (await licenseArgument(db, key)).id, { metadata: changes });
        const fields = Object.entries(json.metadata);
        output.print(json, () =>
          fields.length === 0 ? `Licence ${json.id} has no metadata.` : formatFields(fields),
        );
      }),
    );
}

function addReveal(license: Command): void {
  license
    .command('reveal')
    .description("Prints a licence's key, if it was kept. The licence's history records that.")
    .argument('<id>', 'licence id', positiveInteger)
    .option('--key-id <id>', 'the id of another of its keys; default: the main key', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing license reveal 12')
    .action((id: number, { keyId }: { keyId?: number }, command: Command) =>
      withSession(command, async (session) => {
        const wanted = { path: { id }, body: { key_id: keyId } };
        const revealed = await operate(session, licenseKeyOperations.revealLicense, wanted);
        session.output.print(revealed, revealed.license_key);
        // Look the licence up only for the note: an order's number may have selected another customer's licence.
        await requireLicenseToShow(session, String(id));
      }),
    );
}

/** The maximum size of a page: about 10 MB of the longest entries. */
const MAX_PAGE = 1_000;

function addHistory(license: Command): void {
  license
    .command('history')
    .description(
      'Shows each change of a licence: when it was made, by whom, and what was changed. The latest change is the last.',
    )
    .argument('<key>', KEY_ARGUMENT)
    .option('--limit <n>', `how many changes to show, at most ${MAX_PAGE}`, upTo(MAX_PAGE), 100)
    .option('--before <id>', 'only changes before the one with this id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing license history 12')
    .action((key: string, { limit, before }: { limit: number; before?: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const { id } = await requireLicenseToShow({ db, output }, key);
        const events = (await listEvents(db, id, { before, limit })).map(eventJson);
        output.print(events, () =>
          events.length === 0 ? 'No changes are recorded.' : events.flatMap(describeEvent).join('\n'),
        );
        const [first] = events;
        if (events.length === limit && first)
          output.note(`There may be earlier changes: --before ${first.id}`);
      }),
    );
}

type License = DataOf<typeof licenseOperations.getLicense>;
type Changes = Partial<BodyOf<typeof licenseOperations.updateLicense>>;

function change(session: Session, id: number, body: Changes) {
  return operate(session, licenseOperations.updateLicense, { path: { id }, body });
}

async function amend(session: Session, id: number, changes: Changes) {
  const { output } = session;
  const license = await change(session, id, changes);
  const { activations_used: used, activation_limit: limit } = license;
  if (limit !== 0 && used > limit)
    output.note(
      `Licence ${id} is over its limit: ${used} of ${limit} slots are used. Its activations stay, and its users cannot add any. "licensing activation list ${id}" shows them.`,
    );
  output.print(
    license,
    `Licence ${id}: plan ${license.plan} (${license.plan_id}), ${support.slotsUsed(used, limit)}, customer ${license.customer ?? '-'}.`,
  );
  return license;
}

/** Notes that a change of plan keeps the paid end, which the operator may want to change. */
function noteOtherDuration(
  output: Output,
  { id, expires_at: end }: Pick<License, 'id' | 'expires_at'>,
  plan: Plan,
): void {
  if ((end === null) === (plan.duration === null)) return;
  const [stands, option] = end === null ? ['has no end', '--until DATE'] : [`ends on ${end}`, '--lifetime'];
  output.note(
    `note: plan ${plan.id} is for ${plan.duration ?? 'life'}, and licence ${id} still ${stands}; "licensing license renew ${id} ${option}" changes that.`,
  );
}

function describeEvent({
  at,
  actor,
  action,
  times,
  last_at,
  before,
  after,
}: ReturnType<typeof eventJson>): string[] {
  const what = last_at === null ? action : `${action}, ${times} times until ${last_at}`;
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return [
    `${at}  ${actorInWords(actor, { history })}  ${what}`,
    ...names.map((name) => {
      const words = [was, is].flatMap((fields) => word(fields[name]));
      return `    ${name}: ${[...new Set(words)].join(' -> ')}`;
    }),
  ];
}

/** Returns the recorded fields, with each name of the metadata as a separate field. */
function fieldsOf(recorded: Record<string, unknown> | null): Record<string, unknown> {
  const { metadata, ...fields } = recorded ?? {};
  if (typeof metadata !== 'object' || metadata === null) return recorded ?? {};
  for (const [name, text] of Object.entries(metadata)) fields[`metadata.${name}`] = text;
  return fields;
}

function word(value: unknown): string[] {
  if (value === undefined) return [];
  return [typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)];
}
