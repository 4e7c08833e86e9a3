import type { Config } from '../config';
import type { Db } from '../store/database';
import { driverReason } from '../store/errors';

export interface Finding {
  /** stable, for programs */
  code: string;
  level: 'ok' | 'warning' | 'problem';
  /** false: the check could not be made, so the result is unknown */
  checked: boolean;
  what: string;
  why: string | null;
  remedy: string | null;
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

interface Consequence {
  why: string;
  remedy: string;
}

export function ok(code: string, what: string): Finding {
  return { code, level: 'ok', checked: true, what, why: null, remedy: null };
}

export function warning(code: string, what: string, { why, remedy }: Consequence): Finding {
  return { code, level: 'warning', checked: true, what, why, remedy };
}

export function problem(code: string, what: string, { why, remedy }: Consequence): Finding {
  return { code, level: 'problem', checked: true, what, why, remedy };
}

/** A check that could not be made is never "ok". */
export function unchecked(code: string, what: string, remedy: string | null = null): Finding {
  return {
    code,
    level: 'warning',
    checked: false,
    what,
    why: 'Nothing is known of it, neither good nor bad.',
    remedy,
  };
}

/** An error in a few words. A driver's message is left out, because it repeats the statement and its values. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const reason = driverReason(error) ?? message ?? code ?? 'no reason given';
  return reason.replace(/\.+$/, '');
}

/** Turns a failed check into a finding, so that the others still run. */
export async function attempt(code: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [unchecked(code, `${code} could not be checked: ${reasonOf(error)}.`)];
  }
}
