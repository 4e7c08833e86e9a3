import type { Db } from '../../store/engine/database';
import type { LicenseCheck } from '../../store/licenses/licenses';
import type { BatchReply } from './batches';
import type { Ledger } from './ledger';
import { lookUp, type LookupQuery } from './lookup';
import { isRefusal, judgeValidation, type Refusal, type Validation } from './verdict';

export interface ValidateRequest extends LookupQuery {
  ip: string;
  now: Date;
}

/**
 * Validates licences in batches of one read and one write. Each call is counted before it is answered, so no count is
 * lost (docs/contract.md, 6.6).
 * @returns the answers; a promise for a licence whose row is locked
 */
export function createValidator(
  db: Db,
  ledger: Pick<Ledger, 'count'>,
): (requests: ValidateRequest[]) => Promise<BatchReply<Validation | Refusal>[]> {
  return async (requests) => {
    const found = await lookUp(db, requests);
    const validations = requests.map(({ identifier, now }, i) =>
      judgeValidation(found[i], identifier !== undefined, now),
    );
    const checks = requests.flatMap(({ now, ip }, i): LicenseCheck[] => {
      const validation = validations[i] as Validation | Refusal;
      return isRefusal(validation) ? [] : [{ licenseId: validation.license.id, calls: 1, at: now, ip }];
    });
    const uncounted = await ledger.count(checks);
    return validations.map(
      (validation) => uncounted.get(validation.license?.id ?? 0)?.then(() => validation) ?? validation,
    );
  };
}
