import { formatTimestampOrNull } from '../base/days';
import type { LoggedAccess } from '../store/access-log';
import type { StoredActivation } from '../store/licenses/activations';
import type { RecordedEvent } from '../store/events';
import type { License } from '../store/licenses/licenses';
import type { Release } from '../store/releases';
import { jsonOf } from '../base/json';
import type { ApiToken } from '../store/tokens';
import type { AddedKey, LicenseKey } from './license-keys';
import { readMetadata } from './metadata';
import type { SigningKeyInUse } from './signing-keys';
import { liveStatus, paidUntil } from './core/states';

/** The serializers of licences, activations and keys: JSON in snake_case; only `addedKeyJson` shows a key. */

export function licenseJson(license: License, now: Date) {
  const { product, plan } = license;
  return {
    ...jsonOf(license, 'id', 'keyHint'),
    status: liveStatus(license, now),
    product_id: product.id,
    product: product.name,
    plan_id: plan.id,
    plan: plan.name,
    activation_type: plan.activationType,
    ...jsonOf(license, 'activationLimit', 'activationsUsed', 'customer', 'reference'),
    metadata: readMetadata(license.metadata),
    ...jsonOf(license, 'expiresAt'),
    paid_until: formatTimestampOrNull(paidUntil(license)),
    ...jsonOf(license, 'renewsItself', 'lastCheckAt', 'lastCheckIp', 'checkCount', 'createdAt', 'revision'),
  };
}

export function activationJson(activation: StoredActivation, { mainKeyId }: Pick<License, 'mainKeyId'>) {
  return {
    ...jsonOf(activation, 'id', 'identifier', 'name', 'ip'),
    key_id: activation.keyId ?? mainKeyId,
    ...jsonOf(activation, 'free', 'activatedAt', 'heldUntil'),
  };
}

export function keyJson(key: LicenseKey) {
  return jsonOf(key, 'id', 'keyHint', 'label', 'activationLimit', 'endsAt', 'createdAt');
}

/** Returns an added or revealed key; the only view with the key itself. */
export function addedKeyJson({ key, stored }: AddedKey) {
  const { id, ...others } = keyJson(stored);
  return { id, license_key: key, ...others };
}

export function eventJson(event: RecordedEvent) {
  return jsonOf(event, 'id', 'at', 'actor', 'action', 'before', 'after', 'times', 'lastAt');
}

export function releaseJson(release: Release) {
  return {
    ...jsonOf(
      release,
      'id',
      'productId',
      'version',
      'state',
      'changelog',
      'rollout',
      'security',
      'advisory',
      'cve',
      'sameFixAs',
      'notifiedAt',
      'publishedAt',
      'fileName',
      'fileSize',
    ),
    ...jsonOf(release, 'sha256', 'sha384', 'sha512', 'createdAt'),
  };
}

export function accessJson(access: LoggedAccess) {
  return {
    ...jsonOf(
      access,
      'id',
      'at',
      'times',
      'lastAt',
      'licenseId',
      'endpoint',
      'outcome',
      'productId',
      'version',
      'keyHint',
    ),
    ...jsonOf(access, 'identifier', 'ip', 'userAgent', 'site', 'installedVersion'),
  };
}

export function tokenJson(token: ApiToken) {
  return jsonOf(token, 'id', 'name', 'scope', 'createdAt', 'expiresAt', 'lastUsedAt');
}

export function signingKeyJson(
  key: Pick<SigningKeyInUse, 'kid' | 'state' | 'x' | 'createdAt' | 'retiredAt'>,
) {
  return jsonOf(key, 'kid', 'state', 'x', 'createdAt', 'retiredAt');
}
