import { formatTimestamp, formatTimestampOrNull } from '../base/days';
import type { Licensing } from '../licensing/licensing';
import type { SlotResult } from '../licensing/core/slot-changes';
import type { ClaimsSubject } from '../licensing/core/token-claims';
import { isRefusal, type Refusal } from '../licensing/core/verdict';
import { commonFields, sendData, sendFailure, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import {
  readActivationRequest,
  readCoverage,
  readKeyAlone,
  readLabel,
  readLicenseRequest,
  readSigning,
} from './requests';

/** Handles POST licenses/activate (docs/contract.md, 6). */
export function activateHandler({ ledger, now, accessLog, signer }: Licensing): Handler {
  return async (ctx) => {
    const { body } = ctx.request;
    const request = { ...readActivationRequest(body), productId: readCoverage(body) };
    const name = readLabel(body, request.key);
    const signing = readSigning(body, { key: request.key, isForm: isForm(ctx) });
    const { ip } = ctx.state.client;
    const claim = { ...request, name, ip, actor: `customer:${ip}`, now: now() };
    const outcome = await ledger.activate(claim);
    if (isRefusal(outcome)) {
      accessLog.record(refusedAccess(ctx, 'activate', request, outcome, now()));
      sendRefusal(ctx, outcome);
      return;
    }
    const { license, identifier, activationsUsed } = outcome;
    const answer = {
      status: 'active',
      ...commonFields(request.key, license),
      activations_used: activationsUsed,
      expires_at: formatTimestampOrNull(license.expiresAt),
      identifier,
    };
    if (signing === undefined) {
      sendData(ctx, answer);
      return;
    }
    const { productId } = request;
    const token = await signer.signAnswer(
      {
        ...subjectOf(outcome),
        asked: productId === undefined ? undefined : { productId, covered: true },
      },
      { keyDigest: request.keyDigest, nonce: signing.nonce, now: claim.now },
    );
    sendData(ctx, { ...answer, token: token?.token ?? null });
  };
}

/** Returns the facts for a signed answer after a success. */
function subjectOf({ license, identifier, keyEndsAt }: SlotResult): ClaimsSubject {
  return {
    license,
    keyEndsAt,
    status: 'active',
    valid: true,
    identifier: { text: identifier, activated: true },
  };
}

/** Reports whether the body is a form, in which all fields are texts. */
function isForm(ctx: Context): boolean {
  return ctx.is('urlencoded') === 'urlencoded';
}

/** Handles POST licenses/token: a file for a machine without network. The activation is held until the file ends. */
export function tokenHandler({ ledger, now, accessLog, signer }: Licensing): Handler {
  return async (ctx) => {
    const request = readActivationRequest(ctx.request.body);
    const { ip } = ctx.state.client;
    const claim = { ...request, ip, actor: `customer:${ip}`, now: now(), days: signer.offlineDays };
    const outcome = await ledger.hold(claim);
    if (isRefusal(outcome)) {
      accessLog.record(refusedAccess(ctx, 'token', request, outcome, now()));
      sendRefusal(ctx, outcome);
      return;
    }
    const { keyDigest } = request;
    const { file } = outcome;
    const token = file && (await signer.signFile(subjectOf(outcome), { keyDigest, file }));
    if (token === undefined) {
      // The last signing key was deleted from the database by hand in the meantime.
      sendFailure(ctx, 'NOT_FOUND');
      return;
    }
    sendData(ctx, { token: token.token, expires_at: formatTimestamp(token.expiresAt) });
  };
}

/** Handles POST licenses/deactivate (docs/contract.md, 6). */
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

/** Handles POST licenses/validate (docs/contract.md, 6). */
export function validateHandler({ validate, now, signer }: Licensing): Handler {
  return async (ctx) => {
    const { body } = ctx.request;
    const { key, keyDigest, identifier } = readLicenseRequest(body);
    const productId = readCoverage(body);
    const signing = readSigning(body, { key, isForm: isForm(ctx) });
    const { ip } = ctx.state.client;
    const at = now();
    const outcome = await validate({ key, keyDigest, identifier, productId, ip, now: at });
    if (isRefusal(outcome)) {
      sendRefusal(ctx, outcome);
      return;
    }
    const { license, status, valid, identifierActivated, covered } = outcome;
    const answer = {
      valid,
      status,
      ...commonFields(key, license),
      activations_used: license.activationsUsed,
      expires_at: formatTimestampOrNull(license.expiresAt),
      identifier_activated: identifierActivated,
      // undefined and therefore left out, unless product_id was sent
      product_covered: covered,
    };
    if (signing === undefined) {
      sendData(ctx, answer);
      return;
    }
    const token = await signer.signAnswer(
      {
        ...outcome,
        identifier:
          identifier === undefined
            ? undefined
            : { text: outcome.identifier ?? null, activated: identifierActivated },
        asked: productId === undefined || covered === undefined ? undefined : { productId, covered },
      },
      { keyDigest, nonce: signing.nonce, now: at },
    );
    sendData(ctx, { ...answer, token: token?.token ?? null });
  };
}

/** Logs a call that was refused before it was read, including its key if it has one. */
export function logUnparsed(ctx: Context, { accessLog, now }: Licensing): void {
  const { endpoint } = ctx.state;
  if (endpoint !== 'activate' && endpoint !== 'deactivate' && endpoint !== 'token') return;
  const request = { key: readKeyAlone(ctx.request.body), identifier: undefined };
  accessLog.record(refusedAccess(ctx, endpoint, request, { refused: 'INVALID_REQUEST' }, now()));
}

type ActivationEndpoint = 'activate' | 'deactivate' | 'token';

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
