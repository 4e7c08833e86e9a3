import type { Db } from '../store/database';
import type { Check } from '../store/licenses';
import type { Ledger } from './ledger';
import { lookUp, type Named } from './lookup';
import { judgeValidation, type Refusal, type Validation } from './verdict';

export interface ValidateRequest extends Named {
  /** the client's address */
  ip: string;
  now: Date;
}

/**
 * Answers validate calls in batches, with one read and one write for each. A call is counted before it is answered, so
 * that no acknowledged call is lost (contract, section 4.2).
 *
 * @returns for each request its answer, or a promise of it while its licence's row is held
 */
export function createValidator(
  db: Db,
  ledger: Pick<Ledger, 'count'>,
): (requests: ValidateRequest[]) => Promise<(Validation | Refusal | Promise<Validation | Refusal>)[]> {
  return async (requests) => {
    const found = await lookUp(db, requests);
    const checks = requests.flatMap(({ now, ip }, i): Check[] => {
      const license = found[i]?.license;
      return license ? [{ licenseId: license.id, calls: 1, at: now, ip }] : [];
    });
    const waiting = await ledger.count(checks);
    return requests.map(({ identifier, now }, i) => {
      const validation = judgeValidation(found[i], identifier !== undefined, now);
      return waiting.get(found[i]?.license.id ?? 0)?.then(() => validation) ?? validation;
    });
  };
}
