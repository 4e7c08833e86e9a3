import type { LoggedAccess } from '../store/access-log';
import type { StoredActivation } from '../store/activations';
import { PLAN_DEFAULTS, type Plan, type PlanOptions } from '../store/catalogue';
import type { RecordedEvent } from '../store/events';
import type { License } from '../store/licenses';
import type { Release } from '../store/releases';
import type { Token } from '../store/tokens';
import type { CatalogueProduct } from './bundles';
import type { AddedKey, LicenseKey } from './license-keys';
import { readMetadata } from './metadata';
import type { SigningKeyInUse } from './signing-keys';
import { liveStatus } from './core/states';
import { formatTimestamp, formatTimestampOrNull } from './timestamps';

/** Licences, activations and keys as JSON in snake_case; only `addedKeyJson` shows a key. */

export function productJson(product: CatalogueProduct) {
  return {
    id: product.id,
    name: product.name,
    element: product.element,
    includes: product.includes,
    renew_url: product.renewUrl,
    support_url: product.supportUrl,
    reminders: product.reminders,
    created_at: formatTimestamp(product.createdAt),
  };
}

/** The names in JSON of a plan's options. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;
export type PlanOptionsJson = { [Name in keyof PlanOptions as Snake<Name>]: PlanOptions[Name] };

const OPTIONS = Object.keys(PLAN_DEFAULTS) as (keyof PlanOptions)[];

function jsonName(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function optionsJson(plan: PlanOptions): PlanOptionsJson {
  return Object.fromEntries(OPTIONS.map((option) => [jsonName(option), plan[option]])) as PlanOptionsJson;
}

/** The options of a plan that JSON says. */
export function readPlanOptions(json: Partial<PlanOptionsJson>): Partial<PlanOptions> {
  const said = OPTIONS.map((option) => [option, (json as Record<string, unknown>)[jsonName(option)]]);
  return Object.fromEntries(said.filter(([, value]) => value !== undefined)) as Partial<PlanOptions>;
}

export function planJson(plan: Plan) {
  return {
    id: plan.id,
    product_id: plan.productId,
    name: plan.name,
    activation_type: plan.activationType,
    activation_limit: plan.activationLimit,
    duration: plan.duration,
    ...optionsJson(plan),
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
    metadata: readMetadata(license.metadata),
    expires_at: formatTimestampOrNull(license.expiresAt),
    last_check_at: formatTimestampOrNull(license.lastCheckAt),
    last_check_ip: license.lastCheckIp,
    check_count: license.checkCount,
    created_at: formatTimestamp(license.createdAt),
    revision: license.revision,
  };
}

export function activationJson(activation: StoredActivation, { mainKeyId }: Pick<License, 'mainKeyId'>) {
  return {
    id: activation.id,
    identifier: activation.identifier,
    name: activation.name,
    ip: activation.ip,
    key_id: activation.keyId ?? mainKeyId,
    free: activation.free,
    activated_at: formatTimestamp(activation.activatedAt),
    held_until: formatTimestampOrNull(activation.heldUntil),
  };
}

export function keyJson(key: LicenseKey) {
  return {
    id: key.id,
    key_hint: key.keyHint,
    label: key.label,
    activation_limit: key.activationLimit,
    ends_at: formatTimestampOrNull(key.endsAt),
    created_at: formatTimestamp(key.createdAt),
  };
}

/** A key as it is added, the only view with the key itself. */
export function addedKeyJson({ key, stored }: AddedKey) {
  const { id, ...others } = keyJson(stored);
  return { id, license_key: key, ...others };
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

export function accessJson(access: LoggedAccess) {
  return {
    id: access.id,
    at: formatTimestamp(access.at),
    times: access.times,
    last_at: formatTimestampOrNull(access.lastAt),
    license_id: access.licenseId,
    endpoint: access.endpoint,
    outcome: access.outcome,
    product_id: access.productId,
    version: access.version,
    identifier: access.identifier,
    ip: access.ip,
    user_agent: access.userAgent,
    site: access.site,
    installed_version: access.installedVersion,
  };
}

export function tokenJson(token: Token) {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    created_at: formatTimestamp(token.createdAt),
    expires_at: formatTimestampOrNull(token.expiresAt),
    last_used_at: formatTimestampOrNull(token.lastUsedAt),
  };
}

export function signingKeyJson({
  kid,
  state,
  x,
  createdAt,
  retiredAt,
}: Pick<SigningKeyInUse, 'kid' | 'state' | 'x' | 'createdAt' | 'retiredAt'>) {
  return {
    ...{ kid, state, x },
    created_at: formatTimestamp(createdAt),
    retired_at: formatTimestampOrNull(retiredAt),
  };
}
