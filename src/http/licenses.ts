import type { Licensing } from '../licensing/licensing';
import { formatTimestampOrNull } from '../licensing/timestamps';
import { isRefusal, type Refusal } from '../licensing/verdict';
import { licenseFields, sendData, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { readActivationRequest, readCoverage, readKeyAlone, readLabel, readLicenseRequest } from './requests';

/** POST licenses/activate: contract, section 4.1. */
export function activateHandler({ ledger, now, accessLog }: Licensing): Handler {
  return async (ctx) => {
    const { body } = ctx.request;
    const request = { ...readActivationRequest(body), productId: readCoverage(body) };
    const name = readLabel(body, request.key);
    const { ip } = ctx.state.client;
    const claim = { ...request, name, ip, actor: `customer:${ip}`, now: now() };
    const outcome = await ledger.activate(claim);
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
export function deactivateHandler({ ledger, now, accessLog }: Licensing): Handler {
  return async (ctx) => {
    const request = readActivationRequest(ctx.request.body);
    const { ip } = ctx.state.client;
    const outcome = await ledger.deactivate({ ...request, ip, actor: `customer:${ip}`, now: now() });
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
    const productId = readCoverage(ctx.request.body);
    const { ip } = ctx.state.client;
    const outcome = await validate({ key, keyDigest, identifier, productId, ip, now: now() });
    if (isRefusal(outcome)) {
      sendRefusal(ctx, outcome);
      return;
    }
    const { license, status, valid, identifierActivated, covered } = outcome;
    sendData(ctx, {
      valid,
      status,
      ...licenseFields(key, license),
      activations_used: license.activationsUsed,
      expires_at: formatTimestampOrNull(license.expiresAt),
      identifier_activated: identifierActivated,
      // undefined, and so left out, unless product_id was sent
      product_covered: covered,
    });
  };
}

/** Logs a call that was refused before it could be read, with its key if there is one. */
export function recordUnread(ctx: Context, { accessLog, now }: Licensing): void {
  const { endpoint } = ctx.state;
  if (endpoint !== 'activate' && endpoint !== 'deactivate') return;
  const request = { key: readKeyAlone(ctx.request.body), identifier: undefined };
  accessLog.record(refusedAccess(ctx, endpoint, request, { refused: 'INVALID_REQUEST' }, now()));
}

type ActivationEndpoint = 'activate' | 'deactivate';

function refusedAccess(
  ctx: Context,
  endpoint: ActivationEndpoint,
  {
    key,
    identifier,
    productId,
  }: { key: string | undefined; identifier: string | undefined; productId?: number | undefined },
  { refused, license, keyId }: Refusal,
  at: Date,
) {
  return {
    at,
    endpoint,
    outcome: refused,
    key,
    license,
    keyId,
    identifier,
    productId,
    ip: ctx.state.client.ip,
    client: ctx.state.client.limitKey,
    userAgent: ctx.get('User-Agent'),
  };
}
