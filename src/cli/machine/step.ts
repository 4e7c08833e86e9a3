import type { Rights } from '../../setup/files';
import type { Made } from '../../setup/journal';
import type { Output } from '../command';
import type { WebServer } from './web-servers';

/** What the steps of setup have in common. */

export interface Step {
  title: string;
  /** nothing: all is as it has to be. @throws OperatorError when it cannot be */
  look(): Promise<Change[]>;
}

export interface Change {
  /** what will be changed */
  words: string;
  /** @returns what the journal keeps of it; undefined: it is data, or nothing that is taken back */
  make(): Promise<Made | undefined>;
}

export interface Setup {
  joomlaRoot: string;
  url: URL;
  /** undefined: what runs already, else what the memory allows */
  instances: number | undefined;
  envFile: string;
  webServer: WebServer;
  output: Output;
  /** what is changed that running instances know nothing of */
  stale: { instances: boolean };
  /** what is left to a person */
  byHand: string[];
}

/** Files for people and for the web server, root's own. */
export const PUBLIC: Rights = { mode: 0o644, owner: [0, 0] };
