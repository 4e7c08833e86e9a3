/**
 * The messages that customers read in Joomla, and their meaning, for failures that leave no record here or that a
 * customer quotes (docs/joomla-messages.md). The messages stay in English, even in German texts: most come from curl,
 * and translations of the others differ between versions of a language pack. They are in the order in which an update
 * can fail.
 */
export type JoomlaTexts = Record<JoomlaMessageCode, JoomlaMessage>;

export interface JoomlaMessage {
  /** the message as Joomla shows it */
  says: string;
  means: string;
  todo: string;
}

export type JoomlaMessageCode =
  | 'NOT_OFFERED'
  | 'KEY_FIELD_EMPTY'
  | 'BLANK_IN_KEY'
  | 'STATUS_400'
  | 'STATUS_403'
  | 'STATUS_404'
  | 'STATUS_429'
  | 'SERVER_ERROR'
  | 'REDIRECTED'
  | 'CERTIFICATE'
  | 'NOT_CONNECTED'
  | 'NO_PACKAGE'
  | 'CHECKSUM'
  | 'NO_CHECKSUM'
  | 'OUT_OF_MEMORY';
