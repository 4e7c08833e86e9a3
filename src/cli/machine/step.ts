import type { Rights } from '../../setup/files';
import type { JournalEntry } from '../../setup/journal';
import type { Output } from '../command';
import type { WebServer } from './web-servers';

/** The types that the steps of setup share. */

export interface SetupStep {
  title: string;
  /** Lists the necessary changes; none if all is in order. @throws OperatorError if a change is impossible */
  look(): Promise<PlannedChange[]>;
}

export interface PlannedChange {
  /** the description of the change */
  words: string;
  /** Makes the change. @returns the record for the journal; undefined for data, and for changes that remain */
  make(): Promise<JournalEntry | undefined>;
}

export interface Setup {
  joomlaRoot: string;
  url: URL;
  /** undefined: the number that runs already, otherwise as many as the memory allows */
  instances: number | undefined;
  envFile: string;
  webServer: WebServer;
  output: Output;
  /** whether changes require a restart of running instances */
  stale: { instances: boolean };
  /** the tasks that are left to a person */
  byHand: string[];
}

/** The permissions of files for people and for the web server, which belong to root. */
export const WORLD_READABLE: Rights = { mode: 0o644, owner: [0, 0] };
