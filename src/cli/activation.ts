import type { Command } from 'commander';
import { listFollowers, requireActivationOf } from '../licensing/activations';
import { OperatorError } from '../licensing/operator-error';
import { findLicense, type License } from '../licensing/licenses';
import { activationOperations } from '../operations/activations';
import { identifierText, label } from './arguments';
import { withSession, type Session } from './command';
import { KEY_ARGUMENT, licenseArgument, requireLicenseToShow } from './license-argument';
import { operate, operateAll, operateWithStatus } from './operate';
import { activationTable } from './tables';
import { inBothForms } from '../licensing/core/identifiers';
import { support } from '../texts/operators/en/support';

export function addActivationCommands(program: Command): void {
  const activation = program
    .command('activation')
    .description('The sites, devices or seats that use a licence.');
  addList(activation);
  addAdd(activation);
  addRemove(activation);
}

function addList(activation: Command): void {
  activation
    .command('list')
    .description("Lists a licence's activations, oldest first.")
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing activation list 12')
    .action((key: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const license = await requireLicenseToShow(session, key);
        const path = { id: license.id };
        const activations = await operateAll(session, activationOperations.listLicenseActivations, { path });
        activations.sort((one, other) => one.id - other.id);
        session.output.print(activations, () => activationTable(activations, license));
      }),
    );
}

function addAdd(activation: Command): void {
  activation
    .command('add')
    .description(
      'Activates an identifier as an operator: even over the limit, and whatever the state of the licence. The history records it as an override.',
    )
    .argument('<key>', KEY_ARGUMENT)
    .argument('<identifier>', 'domain, device, seat or instance, in any spelling', identifierText)
    .option('--name <label>', 'a label that is shown next to the identifier', label)
    .addHelpText('after', '\nExample:\n  licensing activation add 12 staging.example.com --name "Staging"')
    .action((key: string, identifier: string, { name }: { name?: string }, command: Command) =>
      withSession(command, async (session) => {
        const license = await licenseArgument(session.db, key);
        const { id, activationLimit } = license;
        const wanted = { path: { id }, body: { identifier, name } };
        const { status, data: added } = await operateWithStatus(
          session,
          activationOperations.addLicenseActivation,
          wanted,
        );
        if (status === 200)
          throw new OperatorError(
            `${inBothForms(added.identifier, license.plan.activationType)} is already activated on licence ${id}.`,
            {
              code: 'CONFLICT',
            },
          );
        const used = await countUsed(session, license);
        if (activationLimit !== 0 && used > activationLimit)
          session.output.note(
            `Licence ${id} is now over its limit of ${activationLimit}: its activations stay, and its users cannot add any.`,
          );
        session.output.print(
          added,
          `${inBothForms(added.identifier, license.plan.activationType)} is activated on licence ${id}: ${support.slotsUsed(used, activationLimit)}.`,
        );
      }),
    );
}

function addRemove(activation: Command): void {
  activation
    .command('remove')
    .description('Frees the slot of an identifier.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<identifier>', 'the identifier, in any spelling; "licensing activation list" shows them')
    .addHelpText('after', '\nExample:\n  licensing activation remove 12 old.example.com')
    .action((key: string, text: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const license = await licenseArgument(session.db, key);
        const { id } = license;
        const activation = await requireActivationOf(session.db, license, text);
        const written = (identifier: string) => inBothForms(identifier, license.plan.activationType);
        const followers = (await listFollowers(session.db, activation)).map(written);
        const path = { id, activation_id: activation.id };
        const removed = await operate(session, activationOperations.removeLicenseActivation, { path });
        session.output.print(
          removed,
          `${[written(removed.identifier), ...followers].join(', ')} ${followers.length === 0 ? 'is' : 'are'} removed from licence ${id}: ${support.slotsUsed(await countUsed(session, license), license.activationLimit)}.`,
        );
      }),
    );
}

/** Returns the number of used slots after a change. */
async function countUsed({ db }: Session, { id, activationsUsed }: License): Promise<number> {
  return (await findLicense(db, id))?.activationsUsed ?? activationsUsed;
}
