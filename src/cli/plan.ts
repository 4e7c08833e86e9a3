import { Option, type Command } from 'commander';
import { quantity } from '../licensing/quantity';
import {
  addPlan,
  editPlanAndLicenses,
  PLAN_DEFAULTS,
  plansOf,
  removePlan,
  type Limits,
  type NewPlan,
  type AfterExpiry,
  type Plan,
  type PlanOptions,
} from '../licensing/catalogue';
import { ACTIVATION_TYPES } from '../licensing/core/identifiers';
import { OperatorError } from '../licensing/operator-error';
import {
  durationOrLifetime,
  label,
  nonNegativeInteger,
  oneOf,
  planDuration,
  positiveInteger,
  requireChange,
} from './arguments';
import { withSession } from './command';
import { askYesOrNo } from './standard-input';
import { planJson } from '../licensing/views';
import { formatTable } from './tables';

interface AddOptions extends Omit<NewPlan, 'productId' | 'duration'> {
  product: number;
  duration: string;
}

interface EditOptions extends Partial<Omit<NewPlan, 'productId' | 'duration'>> {
  duration?: string;
  licenses?: 'follow' | 'keep';
}

const AFTER_EXPIRY_HELP =
  'what an expired licence may still download: nothing, or last-release (the versions published by its end)';

const FREE_STAGING_HELP =
  'on: local and staging sites take no slot (only for domains; docs/staging-sites.md says which those are)';

const MOVES_HELP = "how many sites customers may remove on the customer's page within 30 days; 0 for none";

function onOrOff(text: string): boolean {
  return oneOf(['on', 'off'])(text) === 'on';
}

function afterExpiry(text: string): AfterExpiry {
  return oneOf(['nothing', 'last-release'])(text) === 'nothing' ? 'nothing' : 'last_release';
}

export function addPlanCommands(program: Command): void {
  const plan = program
    .command('plan')
    .description('What a licence grants: how many slots, of what kind, for how long.');
  addAdd(plan);
  addEdit(plan);
  addRemove(plan);
  addList(plan);
}

/** The options of what a plan grants besides. @param given what they are when they are not said */
function addOptions(command: Command, given: Partial<PlanOptions> = {}): Command {
  return command
    .option('--after-expiry <what>', AFTER_EXPIRY_HELP, afterExpiry, given.afterExpiry)
    .option('--free-staging <on|off>', FREE_STAGING_HELP, onOrOff, given.freeStaging)
    .option('--self-service-moves <n>', MOVES_HELP, nonNegativeInteger, given.selfServiceMoves);
}

function addAdd(plan: Command): void {
  addOptions(
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
      .option('--duration <duration>', '1y, 6m, 30d or lifetime', durationOrLifetime, 'lifetime'),
    PLAN_DEFAULTS,
  )
    .addHelpText(
      'after',
      '\nExample:\n  licensing plan add --product 42 --name Developer --activation-type domain --activation-limit 5 --duration 1y',
    )
    .action(({ product, duration, ...options }: AddOptions, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const plan = { productId: product, duration: planDuration(duration), ...options };
        const added = await addPlan(db, plan, now);
        output.print(planJson(added), `Plan ${added.id} is added: ${added.name}.`);
      }),
    );
}

function addEdit(plan: Command): void {
  addOptions(
    plan
      .command('edit')
      .description(
        'Changes a plan for licences issued from now on. Asks whether the licences it has follow a new limit.',
      )
      .argument('<id>', 'plan id', positiveInteger)
      .option('--name <name>', 'name shown to customers', label)
      .option(
        '--activation-type <type>',
        'only while its licences have no activations',
        oneOf(ACTIVATION_TYPES),
      )
      .option('--activation-limit <n>', 'slots of a licence; 0 for unlimited', nonNegativeInteger)
      .option('--duration <duration>', '1y, 6m, 30d or lifetime', durationOrLifetime),
  )
    .addOption(
      new Option('--licenses <what>', 'whether licences with the old limit follow a new one').choices([
        'follow',
        'keep',
      ]),
    )
    .addHelpText('after', '\nExample:\n  licensing plan edit 7 --activation-limit 10 --licenses follow')
    .action((id: number, { licenses, duration, ...others }: EditOptions, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        requireChange(command, duration, ...Object.values(others));
        const changes = {
          ...others,
          ...(duration === undefined ? {} : { duration: planDuration(duration) }),
        };
        const decide = async (limits: Limits) => licenses ?? (await askWhetherToFollow(limits));
        let followed = 0;
        const onProgress = (changed: number) => {
          followed = changed;
          output.progress(quantity(changed, 'licence'));
        };
        const edited = await editPlanAndLicenses(db, id, changes, decide, { actor, now }, onProgress).catch(
          (error: unknown) => {
            if (followed > 0 && !(error instanceof OperatorError))
              output.note(
                `${quantity(followed, 'licence has', 'licences have')} ${(others.activationLimit ?? 0) || 'unlimited'} slots now, the others not yet: the same command again goes on with them.`,
              );
            throw error;
          },
        );
        const { before, plan, changed, skipped, inUse } = edited;
        if (skipped > 0)
          output.note(
            `${quantity(skipped, 'licence was', 'licences were')} given another limit or plan by somebody else meanwhile, and keep it.`,
          );
        if (inUse && plan.activationType !== before.activationType)
          output.note(
            `note: the licences that are on plan ${id} already count by ${plan.activationType} too now.`,
          );
        output.print(
          { ...planJson(plan), licenses_changed: changed, licenses_skipped: skipped },
          `Plan ${id} is changed: ${plan.name}.${plan.activationLimit !== before.activationLimit ? ` Licences that follow: ${changed}.` : ''}`,
        );
      }),
    );
}

function addRemove(plan: Command): void {
  plan
    .command('remove')
    .description('Removes a plan that was added by mistake: one that no licence is on.')
    .argument('<id>', 'plan id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing plan remove 8')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const removed = await removePlan(db, id);
        output.print(planJson(removed), `Plan ${id} is removed: ${removed.name}.`);
      }),
    );
}

/** What a plan grants other than by default; null: nothing. */
function optionsOf({ freeStaging, afterExpiry, selfServiceMoves }: Plan): string | null {
  const options = [
    ...(freeStaging ? ['free staging'] : []),
    ...(afterExpiry === 'last_release' ? ['last release after the end'] : []),
    ...(selfServiceMoves === PLAN_DEFAULTS.selfServiceMoves
      ? []
      : [`${selfServiceMoves} self-service moves`]),
  ];
  return options.length === 0 ? null : options.join(', ');
}

function addList(plan: Command): void {
  plan
    .command('list')
    .description('Lists plans.')
    .option('--product <id>', 'only those of this product', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing plan list --product 42')
    .action(({ product }: { product?: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const plans = await plansOf(db, product);
        const withOptions = plans.some((one) => optionsOf(one) !== null);
        output.print(plans.map(planJson), () =>
          formatTable(
            ['ID', 'PRODUCT', 'NAME', 'TYPE', 'SLOTS', 'DURATION', ...(withOptions ? ['OPTIONS'] : [])],
            plans.map((one) => [
              one.id,
              one.productId,
              one.name,
              one.activationType,
              one.activationLimit || 'unlimited',
              one.duration ?? 'lifetime',
              ...(withOptions ? [optionsOf(one)] : []),
            ]),
            'No plans.',
          ),
        );
      }),
    );
}

/** @returns undefined when there is nobody to ask */
async function askWhetherToFollow({ from, to }: Limits): Promise<'follow' | 'keep' | undefined> {
  const answer = await askYesOrNo(
    `Licences issued with ${from || 'unlimited'} slots: shall they have ${to || 'unlimited'} now? [y/n] `,
  );
  return answer === undefined ? undefined : answer ? 'follow' : 'keep';
}
