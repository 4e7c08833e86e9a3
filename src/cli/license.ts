import { InvalidArgumentError, Option, type Command } from 'commander';
import { formatTimestamp, formatTimestampOrNull } from '../base/days';
import { includedProducts, namesOf, readCatalogue, type CatalogueProduct } from '../licensing/bundles';
import { MAX_ISSUED } from '../licensing/issue';
import { isUrlSafeKey, KEY_NOT_URL_SAFE } from '../licensing/core/keys';
import { requirePlanNamed } from '../licensing/find-or-throw';
import { hasMetadata, type MetadataChanges } from '../licensing/metadata';
import { nextPayment, paidUntil, STORED_STATUSES } from '../licensing/core/states';
import { findNamesake, readLicense, searchLicenses, type License } from '../licensing/licenses';
import { activationJson, keyJson, licenseJson } from '../licensing/views';
import { ORDER_EVENTS } from '../orders/order-events';
import { licenseKeyOperations } from '../operations/license-keys';
import { licenseOperations } from '../operations/licenses';
import {
  duration,
  emailAddress,
  endDate,
  endText,
  label,
  metadataChange,
  nonNegativeInteger,
  oneOf,
  positiveInteger,
  upTo,
  usageError,
} from './arguments';
import { withSession, type Output, type Session } from './command';
import { describeError } from './describe-error';
import { REKEY } from './hints';
import { addAmendments } from './license-amend';
import { KEY_ARGUMENT, licenseArgument, requireLicenseToShow } from './license-argument';
import { optionFields, operate, operateWithStatus, type DataOf } from './operate';
import { FROM_STANDARD_INPUT, readValue } from './standard-input';
import { addKeyCommands, keyTable } from './license-key';
import { activationTable, formatFields, licenseTable } from './tables';
import { support } from '../texts/operators/en/support';

export function addLicenseCommands(program: Command): void {
  const license = program.command('license').description('Licences: what customers have bought.');
  addIssue(license);
  addShow(license);
  addList(license);
  addTransition(license, 'suspend', 'Stops a licence until "reinstate" or "renew" makes it active again.');
  addTransition(license, 'reinstate', 'Makes a suspended licence active again.');
  addTransition(license, 'revoke', 'Ends a licence for good, because of abuse or a chargeback.');
  addTransition(license, 'cancel', 'Ends a licence for good, for example after a refund.');
  addRenew(license);
  addAmendments(license);
  addKeyCommands(license);
}

interface IssueOptions {
  plan: string;
  reference?: string;
  expires?: string;
  lifetime?: boolean;
  activationLimit?: number;
  metadata?: MetadataChanges;
  key?: string;
  send?: boolean;
}

const { issueLicense, renewLicense } = licenseOperations;
type IssuedLicense = Extract<DataOf<typeof issueLicense>, unknown[]>[number];

function addIssue(license: Command): void {
  license
    .command('issue')
    .description(
      'Issues a licence and prints its key. It is shown only now, unless LICENSING_KEY_SECRET is set: then "license reveal" shows it again.',
    )
    .requiredOption('--plan <plan>', 'id, or a name that only one plan has', label)
    .option('--customer <email>', "the customer's e-mail address", emailAddress)
    .option('--reference <order>', "the shop's order; the same order gives the same licence again", label)
    .addOption(
      new Option('--expires <date>', "its last day (UTC), instead of the plan's duration")
        .argParser(unlessNever(endText))
        .conflicts('lifetime'),
    )
    .option('--lifetime', "it never expires, whatever the plan's duration is")
    .option('--activation-limit <n>', "slots, instead of the plan's; 0 for unlimited", nonNegativeInteger)
    .option(
      '--metadata <name=text>',
      'a name and text of your own, such as order_item=77, kept with the licence; may be repeated, up to 20 times',
      metadataChange,
    )
    .option('--key <key>', `a key of your own choice; ${FROM_STANDARD_INPUT}`)
    .option(
      '--count <n>',
      `how many to issue, at most ${MAX_ISSUED}; --json prints them as an array`,
      upTo(MAX_ISSUED),
    )
    .option('--send', 'mail the key to the customer, with the first download and where to enter the key')
    .addHelpText(
      'after',
      '\nExample:\n  licensing license issue --plan 7 --customer jane@example.com --reference order-1001',
    )
    .action((options: IssueOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        const { plan, reference, send } = options;
        // Look everything up before issuing, because an error after that would lose the new key.
        const { id } = await requirePlanNamed(db, plan);
        const namesake = await findNamesake(db, reference);
        const body = {
          ...optionFields(issueLicense, options),
          plan_id: id,
          key: options.key === undefined ? undefined : await readValue(options.key, 'Licence key'),
        };
        const { status, data } = await operateWithStatus(session, issueLicense, { body });
        const isNew = status === 201;
        const issued = [data].flat();
        const [first] = issued;
        noteUnusable(output, first);
        noteNobodys(output, issued);
        if (send) noteSent(output, first, isNew);
        if (issued.some(({ license_key: key }) => key !== null && !isUrlSafeKey(key)))
          output.note(`note: ${KEY_NOT_URL_SAFE} ${REKEY}`);
        noteOtherTerms(output, options, first);
        if (namesake !== undefined && first && namesake !== first.id)
          output.note(
            `note: the licence with the id ${namesake} is another one. Write reference:${reference} or id:${first.id} for this licence, and id:${namesake} for the other.`,
          );
        if (first?.license_key === null)
          output.note(
            `note: this licence was issued before, and its key cannot be shown. ${await whyWithheld(session, first.id)}`,
          );
        output.print(data, () =>
          issued
            .map(({ id: one, license_key: key }) => `${key ?? '(key not known)'}  licence ${one}`)
            .join('\n'),
        );
      }),
    );
}

/** Returns the reason why a key cannot be revealed. */
async function whyWithheld(session: Session, id: number): Promise<string> {
  const revealed = operate(session, licenseKeyOperations.revealLicense, { path: { id } });
  return revealed.then(() => '', describeError);
}

function noteSent(output: Output, license: IssuedLicense | undefined, isNew: boolean): void {
  if (license !== undefined)
    output.note(
      isNew
        ? `The key will be mailed to ${license.customer ?? '-'} as soon as the service runs.`
        : `note: this licence was issued before, and its key is not mailed again. To mail it: licensing mail send ${license.id}`,
    );
}

/** Notes a licence without a customer and an order, which support cannot find by its buyer. */
function noteNobodys(output: Output, issued: IssuedLicense[]): void {
  const ids = issued.flatMap(({ id, customer, reference }) =>
    customer === null && reference === null ? [id] : [],
  );
  const [first] = ids;
  if (first === undefined) return;
  const whose =
    ids.length === 1
      ? `licence ${first} names neither a customer nor an order`
      : `these ${ids.length} licences name neither a customer nor an order`;
  output.note(`note: ${whose}. To set the customer of one: licensing license set-customer ${first} EMAIL`);
}

/** Notes an unusable licence: a new one may already be expired, and one found by its reference may have any state. */
function noteUnusable(output: Output, issued: IssuedLicense | undefined): void {
  if (issued === undefined || issued.status === 'active') return;
  const { id, status } = issued;
  output.note(
    status === 'expired'
      ? 'note: this end is in the past, so the licence is already expired.'
      : `note: licence ${id}, which has this reference, is ${status}: its key does not work. "licensing license history ${id}" shows why.`,
  );
}

/** Notes other terms: issuing for the same order again changes nothing, even if the terms differ. */
function noteOtherTerms(output: Output, options: IssueOptions, issued: IssuedLicense | undefined): void {
  if (issued === undefined) return;
  const { id, activation_limit: limit, expires_at: expires, metadata } = issued;
  const end = options.lifetime ? null : options.expires && formatTimestamp(endDate(options.expires));
  const differs = [
    ...(end === undefined || end === expires
      ? []
      : [`its end (${expires ?? 'none'}), which "licensing license renew" changes`]),
    ...(options.activationLimit === undefined || options.activationLimit === limit
      ? []
      : [`its slots (${limit || 'unlimited'}), which "licensing license set-limit" changes`]),
    ...(hasMetadata(metadata, options.metadata ?? {})
      ? []
      : ['its metadata, which "licensing license metadata" changes']),
  ];
  if (differs.length > 0)
    output.note(`note: licence ${id} was issued before, and keeps ${differs.join(', and ')}.`);
}

function addShow(license: Command): void {
  license
    .command('show')
    .description('Shows a licence with its keys and activations.')
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing license show 12')
    .action((key: string, _options: object, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const { id } = await requireLicenseToShow({ db, output }, key);
        const { license: found, keys, activations } = await readLicense(db, id);
        const included = includedProducts(await readCatalogue(db), found.product.id);
        const json = {
          ...licenseJson(found, now),
          keys: keys.map(({ key: one }) => keyJson(one)),
          activations: activations.map((one) => activationJson(one, found)),
        };
        output.print(json, () =>
          [
            formatLicense(found, included, now),
            ...(keys.length > 1 ? ['', keyTable(keys, now)] : []),
            '',
            activationTable(json.activations, found),
          ].join('\n'),
        );
      }),
    );
}

function formatLicense(license: License, included: CatalogueProduct[], now: Date): string {
  const row = licenseJson(license, now);
  return formatFields([
    ['id', row.id],
    ['key ends in', row.key_hint],
    ['status', row.status],
    ['product', `${row.product} (${row.product_id})`],
    ...(included.length > 0 ? [['also covers', namesOf(included)] as [string, string]] : []),
    ['plan', `${row.plan} (${row.plan_id})`],
    ['slots', `${support.slotsUsed(row.activations_used, row.activation_limit)}, by ${row.activation_type}`],
    ['customer', row.customer],
    ['reference', row.reference],
    ...Object.entries(row.metadata).map(([name, text]): [string, string] => [`metadata.${name}`, text]),
    ['expires', row.expires_at ?? 'never'],
    ...(row.renews_itself ? [['paid until', paidInWords(license, now)] as [string, string]] : []),
    ['last check', row.last_check_at && `${row.last_check_at} from ${row.last_check_ip ?? '-'}`],
    ['checks', row.check_count],
    ['created', row.created_at],
  ]);
}

/** Describes the paid-through date of a subscription. */
function paidInWords(license: License, now: Date): string {
  const paid = formatTimestampOrNull(paidUntil(license)) ?? 'never expires';
  return `${paid}, ${nextPayment(license, now) === 'awaited' ? 'renewal awaited' : 'renews automatically'}`;
}

interface ListOptions {
  product?: number;
  plan?: string;
  status?: string;
  customer?: string;
  reference?: string;
  hint?: string;
  expiring?: string;
  issuedSince?: string;
  suspendedBy?: string;
  limit: number;
  after?: number;
}

function addList(license: Command): void {
  license
    .command('list')
    .description('Lists licences in the order of their ids, a page at a time.')
    .option('--product <id>', 'only of this product', positiveInteger)
    .option('--plan <plan>', 'only on this plan: its id or name', label)
    .option(
      '--status <status>',
      `only in this state: ${[...STORED_STATUSES, 'expired'].join(', ')}`,
      oneOf([...STORED_STATUSES, 'expired']),
    )
    .option('--customer <email>', 'only of this customer')
    .option('--reference <order>', 'only of this order', label)
    .option('--hint <end>', 'only with a key that ends in this (its last group)')
    .option(
      '--expiring <duration>',
      'only licences that end within this time, such as 30d (up to the end of the last day, UTC), and do not renew automatically',
      duration,
    )
    .option(
      '--issued-since <time>',
      'only licences that were issued, not imported, at this time (UTC) or later',
    )
    .option(
      '--suspended-by <event>',
      'only licences that this event of their order suspended, such as charged_back',
      oneOf(ORDER_EVENTS),
    )
    .option('--limit <n>', 'how many to list', positiveInteger, 100)
    .option('--after <id>', 'the next page: only ids above this one', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing license list --product 42 --expiring 30d')
    .action((options: ListOptions, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const { product: productId, ...others } = options;
        const licenses = await searchLicenses(db, { ...others, productId }, now);
        const last = licenses.at(-1);
        const more =
          licenses.length === options.limit && last ? [`There may be more: --after ${last.id}`] : [];
        output.printList(
          licenses.map((one) => licenseJson(one, now)),
          () => licenseTable(licenses, now),
          more,
        );
      }),
    );
}

function addTransition(
  license: Command,
  verb: 'suspend' | 'reinstate' | 'revoke' | 'cancel',
  description: string,
): void {
  license
    .command(verb)
    .description(description)
    .argument('<key>', KEY_ARGUMENT)
    .option('--reason <text>', "kept in the licence's history", label)
    .addHelpText('after', `\nExample:\n  licensing license ${verb} 12 --reason "ticket 77"`)
    .action((key: string, { reason }: { reason?: string }, command: Command) =>
      withSession(command, async (session) => {
        const { id } = await licenseArgument(session.db, key);
        const wanted = { path: { id }, body: { reason } };
        const changed = await operate(session, licenseOperations[`${verb}License`], wanted);
        session.output.print(changed, `Licence ${id} is ${changed.status} now.`);
      }),
    );
}

interface RenewOptions {
  until?: string;
  for?: string;
  lifetime?: boolean;
  reason?: string;
}

function addRenew(license: Command): void {
  license
    .command('renew')
    .description(
      'Extends a licence, from its end or from now if it has expired, or sets its end. A suspended licence becomes active again.',
    )
    .argument('<key>', KEY_ARGUMENT)
    .addOption(
      new Option('--until <date>', 'the new last day (UTC), which may be earlier than the present one')
        .argParser(unlessNever(endText))
        .conflicts(['for', 'lifetime']),
    )
    .addOption(
      new Option('--for <duration>', 'how much longer: 1y, 6m or 30d')
        .argParser(unlessNever(duration))
        .conflicts('lifetime'),
    )
    .option('--lifetime', 'it never expires')
    .option('--reason <text>', "kept in the licence's history", label)
    .addHelpText('after', '\nExample:\n  licensing license renew 12 --for 1y')
    .action((key: string, options: RenewOptions, command: Command) =>
      withSession(command, async (session) => {
        const { until, for: length, lifetime } = options;
        if (until === undefined && length === undefined && !lifetime)
          usageError(command, 'Give one of --until, --for and --lifetime.');
        const { id, expiresAt: before } = await licenseArgument(session.db, key);
        const body = optionFields(renewLicense, options);
        const changed = await operate(session, renewLicense, { path: { id }, body });
        const { expires_at: end, paid_until: paid } = changed;
        const grace = paid === end ? '' : `, and paid until ${paid ?? ''}`;
        session.output.print(
          changed,
          `Licence ${id} is active ${end === null ? 'forever' : `until ${end}`}${grace}.`,
        );
        noteShortened(session.output, changed, formatTimestampOrNull(before));
      }),
    );
}

/** Warns about a shorter term, because an operator who renews may have typed a wrong date. */
function noteShortened(
  output: Output,
  { id, expires_at: end }: DataOf<typeof renewLicense>,
  before: string | null,
): void {
  if (end === null || (before !== null && before <= end)) return;
  const [was, option] =
    before === null
      ? ['the licence had no end before', '--lifetime']
      : ['the old end was later', `--until ${before}`];
  output.note(`note: ${was}. To restore it: licensing license renew ${id} ${option}`);
}

/** Makes a reader of end dates refuse "never" and "lifetime", because the option for this is --lifetime. */
function unlessNever<T>(read: (text: string) => T): (text: string) => T {
  return (text) => {
    if (/^(never|lifetime)$/i.test(text))
      throw new InvalidArgumentError('Use --lifetime for a licence that never expires.');
    return read(text);
  };
}
