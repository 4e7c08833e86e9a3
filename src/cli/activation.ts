import type { Command } from 'commander';
import { addActivation, removeActivation } from '../licensing/core/activations';
import { OperatorError } from '../licensing/operator-error';
import { listActivations } from '../licensing/licenses';
import { identifierText, label } from './arguments';
import { withSession } from './command';
import { KEY_ARGUMENT, requireLicense, requireLicenseToShow } from './license-argument';
import { activationJson } from '../licensing/views';
import { activationTable } from './tables';

export function addActivationCommands(program: Command): void {
  const activation = program
    .command('activation')
    .description('Which sites, devices or seats use a licence.');
  addList(activation);
  addAdd(activation);
  addRemove(activation);
}

function addList(activation: Command): void {
  activation
    .command('list')
    .description("Lists a licence's activations, the oldest first.")
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing activation list 12')
    .action((key: string, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const license = await requireLicenseToShow({ db, output }, key);
        const activations = await listActivations(db, license.id);
        output.print(
          activations.map((one) => activationJson(one, license)),
          () => activationTable(activations),
        );
      }),
    );
}

function addAdd(activation: Command): void {
  activation
    .command('add')
    .description(
      "Activates an identifier by the operator's word: over the limit too, and in every state of the licence. The history records it as an override.",
    )
    .argument('<key>', KEY_ARGUMENT)
    .argument('<identifier>', 'domain, device, seat or instance, in any spelling', identifierText)
    .option('--name <label>', 'a label for people', label)
    .addHelpText('after', '\nExample:\n  licensing activation add 12 staging.example.com --name "Staging"')
    .action((key: string, identifier: string, { name }: { name?: string }, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        const license = await requireLicense(db, key);
        const added = await addActivation(db, license, { identifier, name }, { actor, now });
        if (added.repeated)
          throw new OperatorError(`${added.identifier} is activated on licence ${license.id} already.`, {
            code: 'CONFLICT',
          });
        const { activationLimit } = license;
        if (activationLimit !== 0 && added.activationsUsed > activationLimit)
          output.note(
            `Licence ${license.id} is over its limit of ${activationLimit} now: it keeps what it has and takes no more by itself.`,
          );
        output.print(
          { id: license.id, identifier: added.identifier, activations_used: added.activationsUsed },
          `${added.identifier} is activated on licence ${license.id}: ${added.activationsUsed} of ${activationLimit || 'unlimited'} slots used.`,
        );
      }),
    );
}

function addRemove(activation: Command): void {
  activation
    .command('remove')
    .description('Frees the slot of an identifier.')
    .argument('<key>', KEY_ARGUMENT)
    .argument('<identifier>', 'as "activation list" shows it, or in any other spelling')
    .addHelpText('after', '\nExample:\n  licensing activation remove 12 old.example.com')
    .action((key: string, identifier: string, _options: object, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        const license = await requireLicense(db, key);
        const removed = await removeActivation(db, license, identifier, { actor, now });
        output.print(
          { id: license.id, identifier: removed.identifier, activations_used: removed.activationsUsed },
          `${removed.identifier} is removed from licence ${license.id}: ${removed.activationsUsed} of ${license.activationLimit || 'unlimited'} slots used.`,
        );
      }),
    );
}
