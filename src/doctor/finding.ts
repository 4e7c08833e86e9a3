import type { Config } from '../settings/config';
import type { Db } from '../store/engine/database';
import { driverReason } from '../store/engine/errors';
import type { DoctorWords, ToldWords } from '../texts/operators/doctor';
import type { OperatorTexts } from '../texts/operators/texts';
import { challengeOf } from './http-get';

type DoctorTexts = OperatorTexts['doctor'];

/** A finding of the command `licensing doctor`, which reports it in English. */
export interface CommandFinding {
  /** a stable code for programs */
  code: string;
  level: 'ok' | 'warning' | 'problem';
  /** false if the check could not run, so that the result is unknown */
  checked: boolean;
  say: (texts: DoctorTexts) => ToldWords;
}

/** A finding that the service can make too. Its pages show it in the reader's language. */
export interface CheckFinding extends CommandFinding {
  isTranslated: true;
}

/** A finding in the form that the service returns. */
export type Examined = Pick<CheckFinding, 'say'> & { id: string; state: CheckFinding['level'] };

export interface CheckContext {
  config: Config;
  db: Db;
  now: () => Date;
  /** the site's public address; undefined if it is not checked */
  url: URL | undefined;
  /** authorities for its certificate; undefined for Node's own */
  ca: string[] | undefined;
  /** the author of repairs; undefined for no repairs */
  repairAs: string | undefined;
  progress: (text: string) => void;
  /** a web server's log, if one was given */
  log?: { name: string; readLines: () => AsyncIterable<string> };
}

export type Check = (patient: CheckContext) => Promise<CheckFinding[]>;
/** A check that only the command runs. */
export type CommandCheck = (patient: CheckContext) => Promise<CommandFinding[]>;

/** Returns a finding's words from `doctor` in the operators' texts, or an English text that only the command shows. */
export type Say = (texts: DoctorTexts) => DoctorWords | string;

type Consequence = Required<Pick<DoctorWords, 'why' | 'remedy'>>;

export function ok(code: string, say: Say): CheckFinding;
export function ok(code: string, what: string): CommandFinding;
export function ok(code: string, words: Say | string): CommandFinding {
  return finding({ code, level: 'ok', checked: true }, words);
}

export function warning(code: string, say: Say): CheckFinding;
export function warning(code: string, what: string, consequence: Consequence): CommandFinding;
export function warning(code: string, words: Say | string, consequence?: Consequence): CommandFinding {
  return finding({ code, level: 'warning', checked: true }, words, consequence);
}

export function problem(code: string, say: Say): CheckFinding;
export function problem(code: string, what: string, consequence: Consequence): CommandFinding;
export function problem(code: string, words: Say | string, consequence?: Consequence): CommandFinding {
  return finding({ code, level: 'problem', checked: true }, words, consequence);
}

/** Creates the finding of a check that could not run. It is never "ok". */
export function unchecked(code: string, say: Say): CheckFinding;
export function unchecked(code: string, what: string, remedy?: string): CommandFinding;
export function unchecked(code: string, words: Say | string, remedy?: string): CommandFinding {
  return finding({ code, level: 'warning', checked: false }, words, { remedy });
}

function finding(
  about: Omit<CommandFinding, 'say'>,
  words: Say | string,
  consequence?: Omit<DoctorWords, 'what'>,
): CheckFinding | CommandFinding {
  const say = (texts: DoctorTexts): ToldWords => {
    const told = typeof words === 'string' ? { what: words, ...consequence } : words(texts);
    const { what, why, remedy, said }: DoctorWords = typeof told === 'string' ? { what: told } : told;
    const unknown = about.checked ? null : texts.nothingKnown;
    return { what, why: why ?? unknown, remedy: remedy ?? null, said: said ?? null };
  };
  return typeof words === 'string' ? { ...about, say } : { ...about, say, isTranslated: true };
}

/** Describes an error briefly. A driver's message is left out, because it repeats the statement and its values. */
export function shortReason(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const reason = driverReason(error) ?? message ?? code ?? 'no reason given';
  return reason.replace(/\.+$/, '');
}

/** Converts a failed check to a finding, so that the other checks still run. */
export async function runCheck<F extends CommandFinding>(
  code: string,
  look: () => Promise<F[]>,
): Promise<(F | CheckFinding)[]> {
  try {
    return await look();
  } catch (error) {
    const challenge = challengeOf(error);
    if (challenge !== undefined) return [problem(code, (t) => t.challenged(challenge))];
    const said = shortReason(error);
    return [unchecked(code, (t) => t.checkFailed(code, said))];
  }
}
