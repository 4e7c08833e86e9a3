import type { Delivery } from '../adapters/adapter';
import type { ShopAnswer } from './ask';

/**
 * The list that a sender keeps of what it told: a file for each kind in this folder. It is read from the newest to the
 * oldest, so that what happens meanwhile moves nothing behind the place that a run has reached.
 */
export interface ShopList {
  /** what a key of this sender is */
  key: RegExp;
  /** says what it looks like and what it has to be allowed, as a sentence */
  keyNeeds: string;
  /** the shop runs on a site of its own */
  isOnSite?: true;
  /** how far back it goes, in days; undefined: to the beginning */
  days?: number;
  /** where its API is */
  origin(key: string, siteUrl: string | null): string;
  headers(key: string): Record<string, string>;
  /** The path of a page, with its query. @param cursor undefined: of the first one */
  path(window: Window, cursor: string | undefined): string;
  /** @throws InvalidRequestError when the answer is not such a list */
  read(answer: ShopAnswer, window: Window, cursor: string | undefined): Page;
  /** What follows a page that is not there, where that means nothing; undefined: it should be there. */
  missing?(cursor: string | undefined): Pick<Page, 'next'> | undefined;
}

/** What was told from `since` to `until`. */
export interface Window {
  since: Date;
  until: Date;
}

export interface Page {
  /** what would have come as messages, and means something here */
  deliveries: Delivery[];
  /** the cursor of the next page; undefined: this is the last one */
  next: string | undefined;
}
