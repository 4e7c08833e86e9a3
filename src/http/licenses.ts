import { activate, deactivate } from '../licensing/activate';
import type { Licensing } from '../licensing/licensing';
import { isRefusal, type Refusal } from '../licensing/refusals';
import { formatTimestampOrNull } from '../licensing/timestamps';
import { licenseFields, sendData, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { InvalidRequestError, readKeyAlone, readLicenseRequest, type LicenseRequest } from './requests';

/** POST licenses/activate: contract, section 4.1. */
export function activateHandler(licensing: Licensing): Handler {
  const { lookUp, claim, now, accessLog } = licensing;
  return async (ctx) => {
    const request = readActivationRequest(ctx, 'activate', licensing);
    const { ip } = ctx.state.client;
    const outcome = await activate(
      () => lookUp(request),
      claim,
      { name: request.name, ip, actor: `customer:${ip}` },
      now(),
    );
    if (isRefusal(outcome)) {
      accessLog.record(refusedAccess(ctx, 'activate', request, outcome, now()));
      sendRefusal(ctx, outcome);
      return;
    }
    const { license, identifier, activationsUsed } = outcome;
    sendData(ctx, {
      status: 'active',
      ...licenseFields(request.key, license),
      activations_used: activationsUsed,
      expires_at: formatTimestampOrNull(license.expiresAt),
      identifier,
    });
  };
}

/** POST licenses/deactivate: decisions, "Deactivate". */
export function deactivateHandler(licensing: Licensing): Handler {
  const { db, lookUp, now, accessLog } = licensing;
  return async (ctx) => {
    const request = readActivationRequest(ctx, 'deactivate', licensing);
    const outcome = await deactivate(db, () => lookUp(request), `customer:${ctx.state.client.ip}`, now());
    if (isRefusal(outcome)) {
      accessLog.record(refusedAccess(ctx, 'deactivate', request, outcome, now()));
      sendRefusal(ctx, outcome);
      return;
    }
    sendData(ctx, {
      status: 'deactivated',
      license_key: request.key,
      identifier: outcome.identifier,
      activations_used: outcome.activationsUsed,
    });
  };
}

/** POST licenses/validate: contract, section 4.2. */
export function validateHandler({ validate, now }: Licensing): Handler {
  return async (ctx) => {
    const { key, keyDigest, identifier } = readLicenseRequest(ctx.request.body);
    const outcome = await validate({ keyDigest, identifier, ip: ctx.state.client.ip, now: now() });
    if (isRefusal(outcome)) {
      sendRefusal(ctx, outcome);
      return;
    }
    const { license, status, valid, identifierActivated } = outcome;
    sendData(ctx, {
      valid,
      status,
      ...licenseFields(key, license),
      activations_used: license.activationsUsed,
      expires_at: formatTimestampOrNull(license.expiresAt),
      identifier_activated: identifierActivated,
    });
  };
}

/**
 * A request for an activation, or its end, which needs an identifier. A refused one is written to the access log as
 * soon as it names a key; the rest of it may have any form.
 *
 * @throws InvalidRequestError
 */
function readActivationRequest(
  ctx: Context,
  endpoint: ActivationEndpoint,
  { accessLog, now }: Licensing,
): LicenseRequest {
  const { body } = ctx.request;
  try {
    const request = readLicenseRequest(body);
    if (request.identifier === undefined) throw new InvalidRequestError('"identifier" is required.');
    return request;
  } catch (error) {
    const key = readKeyAlone(body);
    if (key !== undefined)
      accessLog.record(
        refusedAccess(ctx, endpoint, { key, identifier: undefined }, { refused: 'INVALID_REQUEST' }, now()),
      );
    throw error;
  }
}

type ActivationEndpoint = 'activate' | 'deactivate';

function refusedAccess(
  ctx: Context,
  endpoint: ActivationEndpoint,
  { key, identifier }: Pick<LicenseRequest, 'key' | 'identifier'>,
  { refused, license }: Refusal,
  at: Date,
) {
  return {
    at,
    endpoint,
    outcome: refused,
    key,
    license,
    identifier,
    ip: ctx.state.client.ip,
    userAgent: ctx.get('User-Agent'),
  };
}
