import { Option, type Command } from 'commander';
import { countOf } from '../base/count-of';
import { PLAN_DEFAULTS, type AfterExpiry, type PlanOptions } from '../licensing/catalogue';
import { ACTIVATION_TYPES } from '../licensing/core/identifiers';
import { OperatorError } from '../licensing/operator-error';
import { licenseOperations } from '../operations/licenses';
import { planOperations } from '../operations/plans';
import {
  durationOrLifetime,
  label,
  nonNegativeInteger,
  EXPLICIT_NULL,
  oneOf,
  positiveInteger,
  requireChange,
  noneOr,
  webAddress,
} from './arguments';
import { withSession } from './command';
import { optionFields, operate, operateAll, parseFieldValue, type DataOf } from './operate';
import { askYesOrNo } from './standard-input';
import { formatTable } from './tables';

const { addPlan, updatePlan } = planOperations;
type Plan = DataOf<typeof planOperations.getPlan>;

const AFTER_EXPIRY_HELP =
  'what an expired licence may still download: nothing, last-release (the versions published by its end), or security (also later security releases of their branches)';

const FREE_STAGING_HELP =
  'on: local and staging sites take no slot (only for domains; docs/staging-sites.md lists them)';

const MOVES_HELP = 'how many sites a customer may remove on the customer page within 30 days; 0 for none';

const UPGRADE_HELP =
  'https address where customers buy a larger licence, shown if no slot is free or a product is missing; none removes it';

function onOrOff(text: string): boolean {
  return oneOf(['on', 'off'])(text) === 'on';
}

function afterExpiry(text: string): AfterExpiry {
  const given = oneOf(['nothing', 'last-release', 'security'])(text);
  return given === 'last-release' ? 'last_release' : given;
}

export function addPlanCommands(program: Command): void {
  const plan = program
    .command('plan')
    .description('Plans: what a licence grants, with the number and kind of slots and the duration.');
  addAdd(plan);
  addEdit(plan);
  addRemove(plan);
  addList(plan);
}

/** Adds the options for a plan's further rights. @param given their defaults */
function addOptions(command: Command, given: Partial<PlanOptions> = {}): Command {
  return command
    .option('--after-expiry <what>', AFTER_EXPIRY_HELP, afterExpiry, given.afterExpiry)
    .option('--free-staging <on|off>', FREE_STAGING_HELP, onOrOff, given.freeStaging)
    .option('--self-service-moves <n>', MOVES_HELP, nonNegativeInteger, given.selfServiceMoves)
    .option('--upgrade-url <url>', UPGRADE_HELP, noneOr(webAddress));
}

function addAdd(plan: Command): void {
  addOptions(
    plan
      .command('add')
      .description('Adds a plan to a product.')
      .requiredOption('--product <id>', 'product id', positiveInteger)
      .requiredOption('--name <name>', 'the name that customers see', label)
      .requiredOption(
        '--activation-type <type>',
        `what takes a slot: ${ACTIVATION_TYPES.join(', ')}`,
        parseFieldValue(addPlan, 'activation_type'),
      )
      .requiredOption('--activation-limit <n>', 'slots of a licence; 0 for unlimited', nonNegativeInteger)
      .addOption(
        new Option('--duration <duration>', '1y, 6m, 30d or lifetime')
          .argParser(durationOrLifetime)
          .default(EXPLICIT_NULL, '"lifetime"'),
      ),
    PLAN_DEFAULTS,
  )
    .addHelpText(
      'after',
      '\nExample:\n  licensing plan add --product 42 --name Developer --activation-type domain --activation-limit 5 --duration 1y',
    )
    .action((options: object, command: Command) =>
      withSession(command, async (session) => {
        const added = await operate(session, addPlan, { body: optionFields(addPlan, options) });
        session.output.print(added, `Plan ${added.id} is added: ${added.name}.`);
      }),
    );
}

function addEdit(plan: Command): void {
  addOptions(
    plan
      .command('edit')
      .description(
        'Changes a plan for licences that are issued from now on. If the limit changes, it asks whether existing licences get the new one.',
      )
      .argument('<id>', 'plan id', positiveInteger)
      .option('--name <name>', 'the name that customers see', label)
      .option(
        '--activation-type <type>',
        'can only be changed while its licences have no activations',
        parseFieldValue(updatePlan, 'activation_type'),
      )
      .option('--activation-limit <n>', 'slots of a licence; 0 for unlimited', nonNegativeInteger)
      .option('--duration <duration>', '1y, 6m, 30d or lifetime', durationOrLifetime),
  )
    .addOption(
      new Option(
        '--licenses <what>',
        'whether licences with the old limit get the new one (follow) or not (keep)',
      ).choices(['follow', 'keep']),
    )
    .addHelpText('after', '\nExample:\n  licensing plan edit 7 --activation-limit 10 --licenses follow')
    .action((id: number, options: object, command: Command) =>
      withSession(command, async (session) => {
        const { output } = session;
        const { licenses, ...changes } = optionFields(updatePlan, options);
        requireChange(command, ...Object.values(changes));
        const path = { id };
        const before = await operate(session, planOperations.getPlan, { path });
        const to = changes.activation_limit ?? before.activation_limit;
        let followed = 0;
        const onProgress = (changed: number) => {
          followed = changed;
          output.progress(countOf(changed, 'licence'));
        };
        const edit = (decision: typeof licenses) =>
          operate(session, updatePlan, { path, body: { ...changes, licenses: decision }, onProgress });
        const edited = await edit(licenses)
          .catch(async (error: unknown) => {
            if (!(error instanceof OperatorError && error.facts?.reason === 'undecided')) throw error;
            const decision = await askWhetherToFollow(before.activation_limit, to);
            if (decision === undefined) throw error;
            return edit(decision);
          })
          .catch((error: unknown) => {
            if (followed > 0 && !(error instanceof OperatorError))
              output.note(
                `${countOf(followed, 'licence has', 'licences have')} ${to || 'unlimited'} slots now, and the others do not yet. Run the same command again to change the rest.`,
              );
            throw error;
          });
        const { licenses_changed: changed, licenses_skipped: skipped, activation_type: type } = edited;
        if (skipped > 0)
          output.note(
            `${countOf(skipped, 'licence was', 'licences were')} given another limit or plan by someone else in the meantime, and keep it.`,
          );
        const query = { plan_id: id };
        if (
          type !== before.activation_type &&
          (await operateAll(session, licenseOperations.listLicenses, { query }, 1)).length > 0
        )
          output.note(`note: existing licences on plan ${id} now also count by ${type}.`);
        output.print(
          edited,
          `Plan ${id} is changed: ${edited.name}.${to !== before.activation_limit ? ` Licences with the new limit: ${changed}.` : ''}`,
        );
      }),
    );
}

function addRemove(plan: Command): void {
  plan
    .command('remove')
    .description('Removes a plan that was added by mistake. No licence may be on it.')
    .argument('<id>', 'plan id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing plan remove 8')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const removed = await operate(session, planOperations.removePlan, { path: { id } });
        session.output.print(removed, `Plan ${id} is removed: ${removed.name}.`);
      }),
    );
}

/** Lists the options of a plan that differ from the defaults; null if all are equal. */
function optionsOf(plan: Plan): string | null {
  const moves = plan.self_service_moves;
  const options = [
    ...(plan.free_staging ? ['free staging'] : []),
    ...(plan.after_expiry === 'last_release' ? ['last release after the end'] : []),
    ...(plan.after_expiry === 'security' ? ['security releases after the end'] : []),
    ...(plan.upgrade_url === null ? [] : [`upgrade at ${plan.upgrade_url}`]),
    ...(moves === PLAN_DEFAULTS.selfServiceMoves ? [] : [`${moves} self-service moves`]),
  ];
  return options.length === 0 ? null : options.join(', ');
}

function addList(plan: Command): void {
  plan
    .command('list')
    .description('Lists plans.')
    .option('--product <id>', 'only of this product', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing plan list --product 42')
    .action(({ product }: { product?: number }, command: Command) =>
      withSession(command, async (session) => {
        const query = { product_id: product };
        const plans = await operateAll(session, planOperations.listPlans, { query });
        const withOptions = plans.some((one) => optionsOf(one) !== null);
        session.output.print(plans, () =>
          formatTable(
            ['ID', 'PRODUCT', 'NAME', 'TYPE', 'SLOTS', 'DURATION', ...(withOptions ? ['OPTIONS'] : [])],
            plans.map((one) => [
              one.id,
              one.product_id,
              one.name,
              one.activation_type,
              one.activation_limit || 'unlimited',
              one.duration ?? 'lifetime',
              ...(withOptions ? [optionsOf(one)] : []),
            ]),
            'No plans.',
          ),
        );
      }),
    );
}

/** Asks whether licences follow the plan's new limit. @returns undefined without a terminal */
async function askWhetherToFollow(from: number, to: number): Promise<'follow' | 'keep' | undefined> {
  const answer = await askYesOrNo(
    `Change licences with ${from || 'unlimited'} slots to ${to || 'unlimited'} slots too? [y/n] `,
  );
  return answer === undefined ? undefined : answer ? 'follow' : 'keep';
}
