import { liveStatus } from '../licensing/states';
import { formatTimestamp, formatTimestampOrNull } from '../licensing/timestamps';
import type { Activation } from '../store/activations';
import type { Plan, Product } from '../store/catalogue';
import type { RecordedEvent } from '../store/events';
import type { License } from '../store/licenses';
import type { Release } from '../store/releases';
import { formatTable } from './command';

/** Tables, and what `--json` prints: the fields of the contract's section 2 in snake_case. Neither contains a key. */

export function productJson(product: Product) {
  return {
    id: product.id,
    name: product.name,
    element: product.element,
    created_at: formatTimestamp(product.createdAt),
  };
}

export function planJson(plan: Plan) {
  return {
    id: plan.id,
    product_id: plan.productId,
    name: plan.name,
    activation_type: plan.activationType,
    activation_limit: plan.activationLimit,
    duration: plan.duration,
    created_at: formatTimestamp(plan.createdAt),
  };
}

export function licenseJson(license: License, now: Date) {
  return {
    id: license.id,
    key_hint: license.keyHint,
    status: liveStatus(license, now),
    product_id: license.product.id,
    product: license.product.name,
    plan_id: license.plan.id,
    plan: license.plan.name,
    activation_type: license.plan.activationType,
    activation_limit: license.activationLimit,
    activations_used: license.activationsUsed,
    customer: license.customer,
    reference: license.reference,
    expires_at: formatTimestampOrNull(license.expiresAt),
    last_check_at: formatTimestampOrNull(license.lastCheckAt),
    last_check_ip: license.lastCheckIp,
    check_count: license.checkCount,
    created_at: formatTimestamp(license.createdAt),
  };
}

/** A table of licences. */
export function licenseTable(licenses: License[], now: Date): string {
  // A column with the same value in every row would only narrow the others.
  const severalProducts = new Set(licenses.map(({ product }) => product.id)).size > 1;
  return formatTable(
    ['ID', 'KEY', 'STATUS', ...(severalProducts ? ['PRODUCT'] : []), 'PLAN', 'SLOTS', 'EXPIRES', 'CUSTOMER'],
    licenses.map((one) => [
      one.id,
      one.keyHint,
      liveStatus(one, now),
      ...(severalProducts ? [one.product.name] : []),
      one.plan.name,
      `${one.activationsUsed}/${one.activationLimit || '∞'}`,
      formatTimestampOrNull(one.expiresAt)?.slice(0, 10) ?? 'never',
      one.customer,
    ]),
    'No licences.',
  );
}

export function activationJson(activation: Activation) {
  return {
    identifier: activation.identifier,
    name: activation.name,
    ip: activation.ip,
    activated_at: formatTimestamp(activation.activatedAt),
  };
}

/** A table of activations. */
export function activationTable(activations: Activation[]): string {
  return formatTable(
    ['IDENTIFIER', 'NAME', 'IP', 'ACTIVATED'],
    activations.map((one) => [one.identifier, one.name, one.ip, formatTimestamp(one.activatedAt)]),
    'No activations.',
  );
}

export function eventJson({ id, at, actor, action, before, after, times, lastAt }: RecordedEvent) {
  return {
    id,
    at: formatTimestamp(at),
    actor,
    action,
    before,
    after,
    times,
    last_at: formatTimestampOrNull(lastAt),
  };
}

export function releaseJson(release: Release) {
  return {
    id: release.id,
    product_id: release.productId,
    version: release.version,
    state: release.state,
    changelog: release.changelog,
    published_at: formatTimestampOrNull(release.publishedAt),
    file_name: release.fileName,
    file_size: release.fileSize,
    sha256: release.sha256,
    sha384: release.sha384,
    sha512: release.sha512,
    created_at: formatTimestamp(release.createdAt),
  };
}
