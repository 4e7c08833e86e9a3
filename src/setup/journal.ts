import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { readText, writeText } from './files';
import type { ConnectedSite } from './web-server';

/** The journal's folder. Only root may write to it, unlike the service's /var/lib/licensing: it decides what root undoes. */
export const SETUP_STATE_DIR = '/var/lib/licensing-gateway';

/** A change by setup that it can undo. Data is not listed here: tables, settings, packages, and the user that owns them. */
export type JournalEntry =
  /** `to` and `before`: the present and the former target of the link; null: it did not exist */
  | { kind: 'link'; path: string; to: string; before: string | null }
  | { kind: 'tree'; path: string }
  | { kind: 'member'; user: string; group: string }
  | { kind: 'file'; path: string; text: string }
  | { kind: 'unit-file'; path: string; text: string }
  | { kind: 'instances'; names: string[] }
  | { kind: 'modules'; names: string[] }
  | { kind: 'site'; site: ConnectedSite; reload: string[] }
  | { kind: 'door'; path: string };

export interface Journal {
  /** in the order in which they were made */
  made: JournalEntry[];
}

const EMPTY: Journal = { made: [] };

function fileIn(state: string): string {
  return join(state, 'setup.json');
}

export function readJournal(state: string = SETUP_STATE_DIR): Journal {
  const text = readText(fileIn(state));
  if (text === undefined) return EMPTY;
  try {
    return JSON.parse(text) as Journal;
  } catch {
    throw new OperatorError(
      `${fileIn(state)}, in which setup records its changes, is not complete. Restore it. If you remove it instead, --undo can no longer undo anything.`,
    );
  }
}

/** Writes the journal after each change, so that a failed change leaves the earlier ones recorded. */
export async function writeJournal(journal: Journal, state: string = SETUP_STATE_DIR): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 });
  await writeText(fileIn(state), `${JSON.stringify(journal, null, 1)}\n`, { mode: 0o600 });
}

/** Records a change. A later record about a file, unit or link replaces the text of the earlier one. */
export async function appendToJournal(made: JournalEntry, state: string = SETUP_STATE_DIR): Promise<void> {
  const journal = readJournal(state);
  const same = journal.made.findIndex((one) => keyOf(one) === keyOf(made));
  if (same < 0) return writeJournal({ made: [...journal.made, made] }, state);
  const before = journal.made[same];
  await writeJournal({ made: journal.made.with(same, withEarlier(made, before)) }, state);
}

/** Keeps the state before the first change, and every instance that was ever started. */
function withEarlier(made: JournalEntry, before: JournalEntry | undefined): JournalEntry {
  if (made.kind === 'link' && before?.kind === 'link') return { ...made, before: before.before };
  if (made.kind === 'instances' && before?.kind === 'instances')
    return { ...made, names: [...new Set([...before.names, ...made.names])].sort() };
  return made;
}

function keyOf(made: JournalEntry): string {
  switch (made.kind) {
    case 'member':
      return `member ${made.user} ${made.group}`;
    case 'instances':
      return 'instances';
    case 'modules':
      return `modules ${made.names.join(' ')}`;
    case 'site':
      return `site ${JSON.stringify(made.site)}`;
    default:
      return `${made.kind} ${made.path}`;
  }
}

export async function removeFromJournal(made: JournalEntry, state: string = SETUP_STATE_DIR): Promise<void> {
  const left = readJournal(state).made.filter((one) => JSON.stringify(one) !== JSON.stringify(made));
  if (left.length === 0) await rm(fileIn(state), { force: true });
  else await writeJournal({ made: left }, state);
}

/** Returns the latest text that setup wrote there; undefined if setup did not write it. */
export function lastWrittenText(path: string, state: string = SETUP_STATE_DIR): string | undefined {
  const made = readJournal(state).made.find(
    (one) => (one.kind === 'file' || one.kind === 'unit-file') && one.path === path,
  );
  return made?.kind === 'file' || made?.kind === 'unit-file' ? made.text : undefined;
}
