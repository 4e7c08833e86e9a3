import { OperatorError, type OperatorErrorCode, type RefusalFacts } from '../licensing/operator-error';
import { moved } from '../texts/operators/en/moved';
import { importMessageOf } from './moving/import-messages';

/** The refusals of tables and moves: a code, and its sentence's values. Each interface words it (texts, `moved.refusals`). */

declare module '../licensing/operator-error' {
  interface Refusals {
    transfer:
      | { reason: 'no-package' | 'not-an-export' | 'sealed-elsewhere' }
      /** `code` selects the sentence of a refused table or move, and `facts` are the values in it */
      | { reason: 'import-refused'; code: string; facts: readonly string[] };
  }
}

export type ImportErrorCode = keyof typeof moved.refusals;

/** Returns the error of a refusal. @param facts the values in its sentence, never a cell's text, which may be a key */
export function importError(
  code: ImportErrorCode,
  facts: readonly string[] = [],
  { as, field }: { as?: OperatorErrorCode; field?: string } = {},
): OperatorError {
  return new OperatorError(importMessageOf(moved.refusals, { code, facts }), {
    code: as ?? (field === undefined ? 'REFUSED' : 'INVALID_REQUEST'),
    field,
    facts: { reason: 'import-refused', code, facts },
  });
}

/** Returns a refusal in the words of a page; undefined for another error. */
export function wordsOf(refusals: typeof moved.refusals, facts?: RefusalFacts): string | undefined {
  if (facts?.reason !== 'import-refused') return undefined;
  return importMessageOf(refusals, { code: facts.code as ImportErrorCode, facts: facts.facts });
}
