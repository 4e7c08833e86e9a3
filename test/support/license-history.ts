/** The calls on a licence as clients saw them, and a model of the correct answers. */

export type Kind = 'activate' | 'deactivate' | 'validate' | 'suspend' | 'reinstate' | 'stored';

export interface Call {
  /** 0 to 29; a client makes one call at a time */
  client: number;
  kind: Kind;
  /** index of the identifier (`identifierName`); undefined for a call without an identifier */
  identifier: number | undefined;
  /** in ms */
  startedAt: number;
  endedAt: number;
  /** the answer in the words of `step`, or the reason for no answer */
  answer: string;
  /** false after a time-out, 503 or cut connection: the call may take effect at any time after its start, or never */
  known: boolean;
}

/** All calls on one licence. The last call, of the kind `stored`, is the final stored state. */
export interface History {
  /** 0 for unlimited */
  limit: number;
  calls: Call[];
}

/** Identifiers as bits, and this bit for a suspended licence; 0 is a new licence. */
export type State = number;
const SUSPENDED = 1 << 20;

export function identifierName(index: number): string {
  return `${String.fromCharCode(97 + index)}.example`;
}

/** Returns a call's answer in a state, and the next state: docs/contract.md as a function. */
export function step(
  limit: number,
  state: State,
  { kind, identifier }: Pick<Call, 'kind' | 'identifier'>,
): { state: State; answer: string } {
  const used = count(state & ~SUSPENDED);
  const suspended = (state & SUSPENDED) !== 0;
  const bit = identifier === undefined ? 0 : 1 << identifier;
  const name = identifier === undefined ? undefined : identifierName(identifier);
  const has = identifier === undefined || (state & bit) !== 0;
  switch (kind) {
    case 'activate':
      if (suspended) return { state, answer: '403 LICENSE_INACTIVE' };
      if (has) return { state, answer: activatedAnswer(name, used, limit) };
      if (limit !== 0 && used >= limit)
        return { state, answer: `403 ACTIVATION_LIMIT_REACHED, ${used} of ${limit}` };
      return { state: state | bit, answer: activatedAnswer(name, used + 1, limit) };
    case 'deactivate':
      if (!has) return { state, answer: '404 ACTIVATION_NOT_FOUND' };
      return { state: state & ~bit, answer: deactivatedAnswer(name, used - 1) };
    case 'validate':
      return {
        state,
        answer: validatedAnswer(!suspended, suspended ? 'suspended' : 'active', has, used, limit),
      };
    case 'suspend':
      return suspended ? { state, answer: 'refused' } : { state: state | SUSPENDED, answer: 'done' };
    case 'reinstate':
      return suspended ? { state: state & ~SUSPENDED, answer: 'done' } : { state, answer: 'refused' };
    case 'stored':
      return { state, answer: storedAnswer(describeState(state), used) };
  }
}

/** Reports whether a call with this answer leaves every state unchanged. */
export function isRead({ kind, answer, known }: Call): boolean {
  if (kind === 'validate' || kind === 'stored') return true;
  return known && (/^4\d\d /.test(answer) || answer === 'refused');
}

export function describeState(state: State): string {
  const names: string[] = [];
  for (let i = 0; 1 << i < SUSPENDED; i++) if (state & (1 << i)) names.push(identifierName(i));
  return describeStored(state & SUSPENDED ? 'suspended' : 'active', names);
}

/** Describes a stored state. @param identifiers in any order */
export function describeStored(status: string, identifiers: string[]): string {
  return `${status} [${[...identifiers].sort().join(' ')}]`;
}

export function storedAnswer(rows: string, used: number): string {
  return `${rows}, counter ${used}`;
}

interface Body {
  data?: {
    valid?: boolean;
    status?: string;
    identifier?: string;
    identifier_activated?: boolean;
    activations_used?: number;
    activation_limit?: number;
  };
  error?: { code: string; activations_used?: number; activation_limit?: number };
}

/** Describes the service's answer in the words of `step`. An answer outside the contract matches none of them. */
export function describeAnswer(kind: Kind, status: number, text: string): string {
  const other = `${status} ${text.slice(0, 60)}`;
  let body: Body;
  try {
    body = JSON.parse(text) as Body;
  } catch {
    return other;
  }
  const { data, error } = body;
  if (error !== undefined) {
    const { code, activations_used: used, activation_limit: limit } = error;
    return `${status} ${code}${used === undefined ? '' : `, ${used} of ${limit}`}`;
  }
  if (status !== 200 || data === undefined) return other;
  const { identifier, activations_used: used, activation_limit: limit } = data;
  if (kind === 'validate')
    return validatedAnswer(data.valid, data.status, data.identifier_activated, used, limit);
  if (kind === 'activate' && data.status === 'active') return activatedAnswer(identifier, used, limit);
  if (kind === 'deactivate' && data.status === 'deactivated') return deactivatedAnswer(identifier, used);
  return other;
}

type Field<T> = T | undefined;

function activatedAnswer(identifier: Field<string>, used: Field<number>, limit: Field<number>): string {
  return `activated ${identifier}, ${used} of ${limit}`;
}

function deactivatedAnswer(identifier: Field<string>, used: Field<number>): string {
  return `deactivated ${identifier}, ${used} used`;
}

function validatedAnswer(
  valid: Field<boolean>,
  status: Field<string>,
  activated: Field<boolean>,
  used: Field<number>,
  limit: Field<number>,
): string {
  const words = [
    valid === true ? 'valid' : 'not valid',
    status,
    activated === true ? 'activated' : 'not activated',
  ];
  return `${words.join(', ')}, ${used} of ${limit}`;
}

function count(bits: number): number {
  let ones = 0;
  for (; bits !== 0; bits &= bits - 1) ones++;
  return ones;
}
