import type { Command } from 'commander';
import { addPlan, type NewPlan } from '../licensing/catalogue';
import { ACTIVATION_TYPES } from '../licensing/identifiers';
import { listPlans } from '../store/catalogue';
import { durationOrLifetime, label, nonNegativeInteger, oneOf, positiveInteger } from './arguments';
import { formatTable, withSession } from './command';
import { planJson } from './rows';

export function addPlanCommands(program: Command): void {
  const plan = program
    .command('plan')
    .description('What a licence grants: how many slots, of what kind, for how long.');

  plan
    .command('add')
    .description('Adds a plan to a product.')
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--name <name>', 'name shown to customers', label)
    .requiredOption(
      '--activation-type <type>',
      `what a slot is taken by: ${ACTIVATION_TYPES.join(', ')}`,
      oneOf(ACTIVATION_TYPES),
    )
    .requiredOption('--activation-limit <n>', 'slots of a licence; 0 for unlimited', nonNegativeInteger)
    .option('--duration <duration>', '1y, 6m, 30d or lifetime', durationOrLifetime, null)
    .addHelpText(
      'after',
      '\nExample:\n  licensing plan add --product 42 --name Developer --activation-type domain --activation-limit 5 --duration 1y',
    )
    .action(({ product, ...options }: Omit<NewPlan, 'productId'> & { product: number }, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const added = await addPlan(db, { productId: product, ...options }, now);
        output.print(planJson(added), `Plan ${added.id} is added: ${added.name}.`);
      }),
    );

  plan
    .command('list')
    .description('Lists plans.')
    .option('--product <id>', 'only those of this product', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing plan list --product 42')
    .action(({ product }: { product?: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const plans = await listPlans(db, product);
        output.print(plans.map(planJson), () =>
          formatTable(
            ['ID', 'PRODUCT', 'NAME', 'TYPE', 'SLOTS', 'DURATION'],
            plans.map((one) => [
              one.id,
              one.productId,
              one.name,
              one.activationType,
              one.activationLimit || 'unlimited',
              one.duration ?? 'lifetime',
            ]),
          ),
        );
      }),
    );
}
