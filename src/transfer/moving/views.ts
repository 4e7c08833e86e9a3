import { formatTimestamp, formatTimestampOrNull } from '../../base/days';
import type { ImportRun } from '../../store/imports';
import { moved } from '../../texts/operators/en/moved';
import type { MappedPlan } from './plan-map';
import type { MoveReport, Sample } from './report';
import type { MoveCounts } from './run';
import { say } from './sayings';
import type { Undone } from './undo';

/** Moves as the API and `--json` show them. */

export function moveJson(report: MoveReport) {
  return {
    id: report.id,
    dry_run: report.dryRun,
    source: report.source,
    plans: report.plans.map(planJson),
    counts: report.counts,
    new: report.new,
    changed: report.changed,
    same: report.same,
    kept: report.kept,
    kept_licenses: report.keptLicenses,
    left_out: report.leftOut.map(({ count, rows, ...said }) => ({
      ...said,
      reason: say(moved.leftOut, said),
      count,
      rows,
    })),
    warnings: report.warnings.map(({ code, facts, ...others }) => ({
      code,
      facts,
      message: say(moved.warnings, { code, facts }),
      ...others,
    })),
    samples: report.samples.map(sampleJson),
    columns: report.columns,
    read_as: report.readAs,
    made: { products: report.madeProducts, plans: report.madePlans },
  };
}

function planJson({ key, name, product, licenses, target, leftOut }: MappedPlan) {
  return {
    key,
    name,
    product,
    licenses,
    left_out: leftOut,
    target: target && {
      plan_id: target.plan.id > 0 ? target.plan.id : null,
      plan: target.plan.name,
      product: target.product,
      new: target.isNew,
      activation_limit: target.plan.activationLimit,
      duration: target.plan.duration,
    },
  };
}

function sampleJson({ before, after }: Sample) {
  return {
    before: {
      id: before.id,
      plan: before.plan,
      customer: before.customer,
      status: before.status,
      starts_at: formatTimestampOrNull(before.startsAt),
      expires_at: formatTimestampOrNull(before.expiresAt ?? null),
      key_hints: before.keys,
      sites: before.sites,
    },
    after: {
      reference: after.reference,
      product: after.product,
      plan: after.plan,
      customer: after.customer,
      status: after.status,
      expires_at: formatTimestampOrNull(after.expiresAt),
      activation_limit: after.activationLimit,
      key_hints: after.keys,
      sites: after.sites,
    },
  };
}

export function importJson({ id, source, at, actor, countsJson, undoneAt }: ImportRun) {
  const counts = JSON.parse(countsJson) as MoveCounts;
  return {
    id,
    source,
    at: formatTimestamp(at),
    actor,
    new: counts.new,
    changed: counts.changed,
    same: counts.same,
    kept: counts.kept,
    left_out: counts.leftOut,
    made: { products: counts.products, plans: counts.plans },
    undone_at: formatTimestampOrNull(undoneAt),
  };
}

export function undoneJson({ id, removed, left }: Undone) {
  return {
    id,
    removed: { licenses: removed.license, products: removed.product, plans: removed.plan },
    left: left.map(({ kind, id: one, code }) => ({ kind, id: one, code, reason: moved.stays[code] })),
  };
}
