import type { Config } from '../config';
import type { Db } from '../store/database';
import { driverReason } from '../store/errors';

/** A finding in English, as the command `licensing doctor` tells it. */
export interface CommandFinding {
  /** stable, for programs */
  code: string;
  level: 'ok' | 'warning' | 'problem';
  /** false: the check could not be made, so the result is unknown */
  checked: boolean;
  what: string;
  why: string | null;
  remedy: string | null;
}

/** A finding that the service itself can make: its pages show it in the reader's language. */
export interface Finding extends CommandFinding {
  german: { what: string; why: string | null; remedy: string | null; said: string | null };
}

export interface Patient {
  config: Config;
  db: Db;
  now: () => Date;
  /** the site's public address; undefined: not to be checked */
  url: URL | undefined;
  /** authorities for its certificate; undefined: Node's own */
  ca: string[] | undefined;
  /** the author of repairs; undefined: repair nothing */
  repairAs: string | undefined;
  progress: (text: string) => void;
}

export type Check = (patient: Patient) => Promise<Finding[]>;
/** A check that only the command makes. */
export type CommandCheck = (patient: Patient) => Promise<CommandFinding[]>;

interface Consequence {
  why: string;
  remedy: string;
}

/** The German text of a finding. */
interface German {
  what: string;
  why: string;
  /** missing: the English remedy, which is a command alone */
  remedy?: string;
  /** what a server, a library or another part of the program said, in English */
  said?: string | undefined;
}

type GermanUnchecked = Omit<German, 'why'>;

export function ok(code: string, what: string, german: string): Finding;
export function ok(code: string, what: string): CommandFinding;
export function ok(code: string, what: string, german?: string): CommandFinding {
  const finding = { code, level: 'ok' as const, checked: true, what, why: null, remedy: null };
  return inGerman(finding, german === undefined ? undefined : { what: german });
}

export function warning(code: string, what: string, consequence: Consequence, german: German): Finding;
export function warning(code: string, what: string, consequence: Consequence): CommandFinding;
export function warning(
  code: string,
  what: string,
  { why, remedy }: Consequence,
  german?: German,
): CommandFinding {
  return inGerman({ code, level: 'warning', checked: true, what, why, remedy }, german);
}

export function problem(code: string, what: string, consequence: Consequence, german: German): Finding;
export function problem(code: string, what: string, consequence: Consequence): CommandFinding;
export function problem(
  code: string,
  what: string,
  { why, remedy }: Consequence,
  german?: German,
): CommandFinding {
  return inGerman({ code, level: 'problem', checked: true, what, why, remedy }, german);
}

/** A check that could not be made is never "ok". */
export function unchecked(
  code: string,
  what: string,
  remedy: string | null,
  german: GermanUnchecked,
): Finding;
export function unchecked(code: string, what: string, remedy?: string | null): CommandFinding;
export function unchecked(
  code: string,
  what: string,
  remedy: string | null = null,
  german?: GermanUnchecked,
): CommandFinding {
  const why = 'Nothing is known of it, neither good nor bad.';
  return inGerman(
    { code, level: 'warning', checked: false, what, why, remedy },
    german && { ...german, why: 'Darüber ist nichts bekannt, weder Gutes noch Schlechtes.' },
  );
}

function inGerman(
  finding: CommandFinding,
  german: (Partial<German> & { what: string }) | undefined,
): CommandFinding | Finding {
  if (german === undefined) return finding;
  const { what, why = null, remedy = finding.remedy, said = null } = german;
  return { ...finding, german: { what, why, remedy, said } };
}

/** An error in a few words. A driver's message is left out, because it repeats the statement and its values. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const reason = driverReason(error) ?? message ?? code ?? 'no reason given';
  return reason.replace(/\.+$/, '');
}

/** Turns a failed check into a finding, so that the others still run. */
export async function attempt<F extends CommandFinding>(
  code: string,
  look: () => Promise<F[]>,
): Promise<(F | Finding)[]> {
  try {
    return await look();
  } catch (error) {
    const said = reasonOf(error);
    return [
      unchecked(code, `${code} could not be checked: ${said}.`, null, {
        what: `${code} konnte nicht geprüft werden.`,
        said,
      }),
    ];
  }
}
