import { OperatorError, type OperatorErrorCode, type RefusalFacts } from '../licensing/operator-error';
import { moved } from '../texts/operators/en/moved';
import { say } from './moving/sayings';

/** Why a table or a move is refused: a code, with what its sentence names. Each door has its own words (texts, `moved.refusals`). */

declare module '../licensing/operator-error' {
  interface Refusals {
    transfer:
      | { reason: 'no-package' | 'not-an-export' | 'sealed-elsewhere' }
      /** `code`: the sentence of a refused table or move; `facts`: the values in it */
      | { reason: 'import-refused'; code: string; facts: readonly string[] };
  }
}

export type RefusalCode = keyof typeof moved.refusals;

/** @param facts what the sentence names; never a cell's text, which may be a key */
export function refusal(
  code: RefusalCode,
  facts: readonly string[] = [],
  { as, field }: { as?: OperatorErrorCode; field?: string } = {},
): OperatorError {
  return new OperatorError(say(moved.refusals, { code, facts }), {
    code: as ?? (field === undefined ? 'REFUSED' : 'INVALID_REQUEST'),
    field,
    facts: { reason: 'import-refused', code, facts },
  });
}

/** A refusal in the words of a page; undefined: it is none of these. */
export function wordsOf(refusals: typeof moved.refusals, facts?: RefusalFacts): string | undefined {
  if (facts?.reason !== 'import-refused') return undefined;
  return say(refusals, { code: facts.code as RefusalCode, facts: facts.facts });
}
