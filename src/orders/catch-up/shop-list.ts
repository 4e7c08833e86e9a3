import type { InboundWebhook } from '../adapters/adapter';
import type { ShopAnswer } from './ask';

/**
 * The list that a sender keeps of its events; this folder has a file for each kind. It is read from the newest entry to
 * the oldest, so that new events do not shift the entries behind the cursor.
 */
export interface ShopList {
  /** the form of this sender's API keys */
  key: RegExp;
  /** a sentence about the form of a key and its permissions */
  keyNeeds: string;
  /** set if the shop runs on a website of its own */
  isOnSite?: true;
  /** the number of days that the list covers; undefined if it is complete */
  days?: number;
  /** returns the origin of the API */
  origin(key: string, siteUrl: string | null): string;
  headers(key: string): Record<string, string>;
  /** Returns the path and query of a page. @param cursor undefined for the first page */
  path(window: Window, cursor: string | undefined): string;
  /** Reads a page. @throws InvalidRequestError if the response is not such a list */
  read(answer: ShopAnswer, window: Window, cursor: string | undefined): ShopListPage;
  /** Returns the page to read after a page that does not exist; undefined if every page must exist. */
  missing?(cursor: string | undefined): Pick<ShopListPage, 'next'> | undefined;
}

/** The period from which events are read. */
export interface Window {
  since: Date;
  until: Date;
}

export interface ShopListPage {
  /** the events that have a meaning here, in the form of their messages */
  deliveries: InboundWebhook[];
  /** the cursor of the next page; undefined after the last page */
  next: string | undefined;
}
