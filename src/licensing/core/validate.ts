import type { Db } from '../../store/database';
import type { Check } from '../../store/licenses';
import type { Ledger } from './ledger';
import { lookUp, type Named } from './lookup';
import { isRefusal, judgeValidation, type Refusal, type Validation } from './verdict';

export interface ValidateRequest extends Named {
  ip: string;
  now: Date;
}

/**
 * Answers calls in batches of one read and one write. Counts each before its answer, so none is lost
 * (docs/contract.md, 6.6).
 * @returns for each request its answer, or a promise of it while its licence's row is held
 */
export function createValidator(
  db: Db,
  ledger: Pick<Ledger, 'count'>,
): (requests: ValidateRequest[]) => Promise<(Validation | Refusal | Promise<Validation | Refusal>)[]> {
  return async (requests) => {
    const found = await lookUp(db, requests);
    const validations = requests.map(({ identifier, now }, i) =>
      judgeValidation(found[i], identifier !== undefined, now),
    );
    const checks = requests.flatMap(({ now, ip }, i): Check[] => {
      const validation = validations[i] as Validation | Refusal;
      return isRefusal(validation) ? [] : [{ licenseId: validation.license.id, calls: 1, at: now, ip }];
    });
    const waiting = await ledger.count(checks);
    return validations.map(
      (validation) => waiting.get(validation.license?.id ?? 0)?.then(() => validation) ?? validation,
    );
  };
}
