/**
 * What customers read in Joomla, and what it means, for failures that leave no record here or that a customer tells of in
 * Joomla's words (docs/joomla-messages.md). Joomla's messages stay English in German too: the
 * updater has most of them from curl, and what a language pack makes of the others differs between its versions.
 * In the order in which an update can fail.
 */
export type JoomlaTexts = Record<JoomlaMessageCode, JoomlaMessage>;

export interface JoomlaMessage {
  /** as Joomla shows it */
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
