import { formatTimestampOrNull } from '../base/days';
import { countOf } from '../base/count-of';
import { recountAfterImport } from '../figures/statistics';
import { inBothForms } from '../licensing/core/identifiers';
import { importOperations } from '../operations/imports';
import type { Target } from '../transfer/moving/plan-map';
import { TOO_SHORT, type MoveReport, type Sample } from '../transfer/moving/report';
import { mapOf, moveLicensesIn } from '../transfer/moving/run';
import { importMessageOf } from '../transfer/moving/import-messages';
import { moved } from '../texts/operators/en/moved';
import type { DateForm } from '../transfer/moving/source';
import { requireSource } from '../transfer/moving/sources';
import { moveJson } from '../transfer/moving/views';
import type { Session } from './command';
import { operate, operateAll } from './operate';
import { formatTable } from './tables';

/** `import --from`: shows a seller what moving in would change. */

export interface MoveInOptions {
  from?: string;
  plans?: string;
  makePlans?: boolean;
  dates?: DateForm;
  users?: string;
  confirmColumns?: boolean;
  sitePrefix?: string;
  map?: Map<string, string>;
  ignore?: string[];
  product?: string;
  plan?: string;
  skipBadRows?: boolean;
  dryRun?: boolean;
}

export interface Files {
  /** the file's name as it was typed; undefined without a file */
  name: string | undefined;
  file: AsyncIterable<Buffer> | undefined;
  users: AsyncIterable<Buffer> | undefined;
  readsAgain: boolean;
}

export async function runMoveIn(
  { db, config, now, actor, output }: Session,
  from: string,
  options: MoveInOptions,
  files: Files,
): Promise<void> {
  const { dryRun = false, map = new Map<string, string>(), ignore = [], product, plan } = options;
  const source = requireSource(from);
  const report = await moveLicensesIn(db, {
    ...options,
    ...files,
    source,
    dryRun,
    actor,
    now,
    confirmed: options.confirmColumns ?? false,
    table: { map, ignore, product, plan },
    refusesBadRows: from === 'csv' && options.skipBadRows !== true,
    secret: config.keySecret,
    onProgress: (done) => output.progress(countOf(done, 'licence')),
  });
  if (!dryRun) await recountAfterImport(db, now);
  output.print(moveJson(report), () =>
    describeMove(report, source.title, nextCommand(report, files.name, from, options)),
  );
}

export async function runUndo(session: Session, id: number): Promise<void> {
  const undone = await operate(session, importOperations.undoImport, { path: { id } });
  const { licenses, products, plans } = undone.removed;
  session.output.print(undone, () =>
    [
      `Removed: ${countOf(licenses, 'licence')}, ${countOf(plans, 'plan')}, ${countOf(products, 'product')}.`,
      ...(undone.left.length === 0
        ? []
        : [
            'Left:',
            formatTable(
              ['WHAT', 'ID', 'WHY'],
              undone.left.map(({ kind, id: one, reason }) => [kind, one, reason]),
            ),
          ]),
    ].join('\n'),
  );
}

export async function runList(session: Session): Promise<void> {
  const imports = await operateAll(session, importOperations.listImports);
  session.output.print(imports, () =>
    imports.length === 0
      ? 'No move from another system.'
      : formatTable(
          ['ID', 'FROM', 'AT', 'BY', 'NEW', 'CHANGED', 'KEPT', 'LEFT OUT', 'UNDONE'],
          imports.map((one) => [
            ...[one.id, one.source, one.at, one.actor, one.new, one.changed, one.kept, one.left_out],
            one.undone_at ?? '',
          ]),
        ),
  );
}

function describeMove(report: MoveReport, title: string, next: string): string {
  const { dryRun, counts, plans, leftOut, warnings, keptLicenses, samples, columns, readAs } = report;
  const said = (heading: string, lines: string[]) => (lines.length === 0 ? [] : ['', heading, ...lines]);
  return [
    ...said(`Plans of ${title}:`, [
      formatTable(
        ['THEIRS', 'NAME', 'LICENCES', 'OURS'],
        plans.map(({ key, name, licenses, leftOut: isOut, target }) => [
          ...[key, name, licenses],
          target === null
            ? isOut
              ? 'left out'
              : '?'
            : `${target.product} / ${target.plan.name} (${target.isNew ? `${dryRun ? 'would be made' : 'made'}: ${described(target.plan)}` : target.plan.id})`,
        ]),
      ),
    ]),
    ...said(dryRun ? 'After the import, this service would have:' : 'This service now has:', [
      formatTable(
        ['PRODUCT', 'PLAN', 'STATE', 'LICENCES'],
        counts.map(({ product, plan, state, licenses }) => [product, plan, state, licenses]),
      ),
    ]),
    ...said(
      'Please note:',
      warnings.flatMap(({ code, facts, count, rows, customers }) => [
        `  ${count} x ${code}: ${importMessageOf(moved.warnings, { code, facts })} (${rowsOf(rows, count)})`,
        ...(customers.length === 0 ? [] : [`    ${customers.join(', ')}`]),
      ]),
    ),
    ...said(
      'Left out:',
      leftOut.map(
        ({ count, rows, ...said }) =>
          `  ${count} x ${importMessageOf(moved.leftOut, said)} (${rowsOf(rows, count)})`,
      ),
    ),
    ...said(
      'Changed here since the last run, and kept:',
      keptLicenses.map(
        ({ license, reference, fields }) => `  licence ${license} (${reference}): ${fields.join(', ')}`,
      ),
    ),
    ...said('Examples, there and here:', samples.map(describeSample)),
    ...said(
      'Columns that were recognized, but need your confirmation:',
      columns === null ? [] : [`  ${columns.join(', ')}`],
    ),
    ...said(
      'Columns:',
      (readAs ?? []).map(({ column, field }) => `  ${column}: ${field ?? 'left out'}`),
    ),
    '',
    `${report.new} ${dryRun ? 'would be new' : 'new'}, ${report.changed} changed, ${report.same} the same, ${report.kept} kept, because they were changed here.`,
    ...(dryRun
      ? ['Nothing was changed: this was a dry run.', `Next: ${next}`]
      : [`Import ${report.id ?? ''}. To undo it: licensing import --undo ${report.id ?? ''}`]),
  ]
    .join('\n')
    .trim();
}

function described({ activationLimit, duration }: Target['plan']): string {
  return `${activationLimit === 0 ? 'any number of sites' : countOf(activationLimit, 'site')}, ${duration ?? 'for life'}`;
}

function rowsOf(rows: number[], count: number): string {
  const more = count - rows.length;
  return `row${count === 1 ? '' : 's'} ${rows.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function describeSample({ before, after }: Sample): string {
  const end = (at: Date | null | undefined) =>
    at === undefined ? 'by the plan' : (formatTimestampOrNull(at)?.slice(0, 10) ?? 'for life');
  const hint = (one: string | null) =>
    one === null ? 'new key' : one === TOO_SHORT ? 'a short key, unchanged' : `...${one}`;
  const there = `${before.id}: plan ${before.plan}, ${before.customer ?? 'no customer'}, ${before.status}, ends ${end(before.expiresAt)}, ${countOf(before.keys.length, 'key')}, ${countOf(before.sites.length, 'site')}`;
  const limit = after.activationLimit === 0 ? 'any number of' : after.activationLimit;
  const here = `${after.product} / ${after.plan}, ${after.customer ?? 'no customer'}, ${after.status}, ends ${end(after.expiresAt)}, ${limit} slots, keys ${after.keys.map(hint).join(', ')}${after.sites.length === 0 ? '' : `, sites ${after.sites.map((site) => inBothForms(site, undefined)).join(', ')}`}`;
  return `  ${there}\n    -> ${here}`;
}

/** Returns the command without --dry-run, with the options that are still missing. */
function nextCommand(
  report: MoveReport,
  name: string | undefined,
  from: string,
  { dates, users, sitePrefix, map: columns, ignore, product, plan, skipBadRows }: MoveInOptions,
): string {
  const map = mapOf(report);
  const given = (option: string, text: string | undefined) =>
    text === undefined || text === '' ? [] : [`${option} ${quoted(text)}`];
  return [
    `licensing import ${name === undefined ? '' : `${quoted(name)} `}--from ${from}`,
    ...given('--plans', map),
    ...given('--dates', dates),
    ...given('--users', users),
    ...given('--site-prefix', sitePrefix),
    ...given('--map', columns && [...columns].map(([field, column]) => `${field}=${column}`).join(',')),
    ...given('--ignore', ignore?.join(',')),
    ...given('--product', product),
    ...given('--plan', plan),
    ...(skipBadRows === true ? ['--skip-bad-rows'] : []),
    ...(report.columns === null ? [] : ['--confirm-columns']),
    ...(map.includes('=?') ? ['--dry-run'] : []),
  ].join(' ');
}

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `"${text.replace(/["$`\\]/g, '\\$&')}"`;
}
