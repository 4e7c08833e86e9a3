import { formatTimestampOrNull } from '../../base/days';
import { jsonOf } from '../../base/json';
import type { ImportRun } from '../../store/imports';
import { moved } from '../../texts/operators/en/moved';
import type { MappedPlan } from './plan-map';
import type { MoveReport, Sample } from './report';
import type { MoveCounts } from './run';
import { importMessageOf } from './import-messages';
import type { UndoResult } from './undo';

/** Converts moves to the JSON of the API and of `--json`. */

export function moveJson(report: MoveReport) {
  return {
    ...jsonOf(report, 'id', 'dryRun', 'source'),
    plans: report.plans.map(planJson),
    ...jsonOf(report, 'counts', 'new', 'changed', 'same', 'kept', 'keptLicenses'),
    left_out: report.leftOut.map(({ count, rows, ...said }) => ({
      ...said,
      reason: importMessageOf(moved.leftOut, said),
      count,
      rows,
    })),
    warnings: report.warnings.map(({ code, facts, ...others }) => ({
      code,
      facts,
      message: importMessageOf(moved.warnings, { code, facts }),
      ...others,
    })),
    samples: report.samples.map(sampleJson),
    columns: report.columns,
    read_as: report.readAs,
    made: { products: report.madeProducts, plans: report.madePlans },
  };
}

function planJson({ target, ...plan }: MappedPlan) {
  return {
    ...jsonOf(plan, 'key', 'name', 'product', 'licenses', 'leftOut'),
    target: target && {
      plan_id: target.plan.id > 0 ? target.plan.id : null,
      plan: target.plan.name,
      product: target.product,
      new: target.isNew,
      ...jsonOf(target.plan, 'activationLimit', 'duration'),
    },
  };
}

function sampleJson({ before, after }: Sample) {
  return {
    before: {
      ...jsonOf(before, 'id', 'plan', 'customer', 'status', 'startsAt'),
      expires_at: formatTimestampOrNull(before.expiresAt ?? null),
      key_hints: before.keys,
      sites: before.sites,
    },
    after: {
      ...jsonOf(after, 'reference', 'product', 'plan', 'customer', 'status', 'expiresAt', 'activationLimit'),
      key_hints: after.keys,
      sites: after.sites,
    },
  };
}

export function importJson(run: ImportRun) {
  const counts = JSON.parse(run.countsJson) as MoveCounts;
  return {
    ...jsonOf(run, 'id', 'source', 'at', 'actor'),
    ...jsonOf(counts, 'new', 'changed', 'same', 'kept', 'leftOut'),
    made: { products: counts.products, plans: counts.plans },
    ...jsonOf(run, 'undoneAt'),
  };
}

export function undoResultJson({ id, removed, left }: UndoResult) {
  return {
    id,
    removed: { licenses: removed.license, products: removed.product, plans: removed.plan },
    left: left.map(({ kind, id: one, code }) => ({ kind, id: one, code, reason: moved.stays[code] })),
  };
}
