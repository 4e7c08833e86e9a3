import type { Db } from '../../store/engine/database';
import type { StoredStatus } from '../../licensing/core/states';
import type { SkipReason, WarningCode } from './import-messages';

/**
 * The interface of a former system. A source is one file of this folder, which knows the tables, their meaning, and
 * what they do not contain. `run.ts` does the rest: the plan map, the dry run, one transaction, idempotency.
 */

/** The names that `--from` accepts. */
export type SourceName =
  | 'membershippro'
  | 'ars'
  | 'hikaserial'
  | 'edd-csv'
  | 'lmfwc-csv'
  | 'freemius-csv'
  | 'lemonsqueezy-csv'
  | 'gumroad-csv'
  | 'csv';

/** The forms of dates: `dmy` or `mdy` if the order of days and months is not obvious; `unix` for seconds since 1970. */
export const DATE_FORMS = ['unix', 'iso', 'dmy', 'mdy'] as const;
export type DateForm = (typeof DATE_FORMS)[number];

/** A plan that the source sells. */
export interface SourcePlan {
  /** the key in `--plans`: an id or a product's name, and after a colon its price or variant, such as `Pro:2` */
  key: string;
  /** the readable name */
  name: string;
  /** the product's name, for `--make-plans` and for the counts */
  product: string;
  /** the ids that the plan gives access to; for a key with several plans, the plan that has all ids of another covers it */
  covers: string[];
  /** the duration, such as `1y`; null if it never ends, undefined if the source does not state it */
  duration: string | null | undefined;
  /** the maximum number of sites; 0 for any number, undefined if the source does not state it */
  limit: number | undefined;
  /** the plan here that the source names, used if the map does not contain the plan */
  here?: number | undefined;
}

export interface SourceKey {
  key: string;
  /** the maximum number of sites of this key; undefined for the licence's limit */
  limit: number | undefined;
  /** the sites for which the key is activated, in the source's spelling */
  sites: string[];
  /** true if the key no longer works at the source, although the licence does */
  ended?: boolean;
}

/** A right at the source that becomes a licence here, or updates a licence. */
export interface SourceLicense {
  /** the source's id; the reference here is `NAME:ID` */
  id: string;
  /** the line or id that a remark names */
  row: number;
  /** the `key` of a `SourcePlan` */
  plan: string;
  /** the email address; null if unknown */
  customer: string | null;
  customerName: string | null;
  /** the keys, the main key first; without keys, the licence gets a new key */
  keys: SourceKey[];
  status: StoredStatus | 'expired';
  startsAt: Date | undefined;
  /** null if it never ends; undefined for the duration of the plan here, counted from `startsAt` */
  expiresAt: Date | null | undefined;
  /** the maximum number of sites; 0 for any number, undefined for the limit of the plan here */
  limit: number | undefined;
  /** the time of the latest use at the source, if known */
  lastUsedAt?: Date | undefined;
  /** the sites that belong to no particular key */
  sites: string[];
  metadata: Record<string, string>;
}

/** A row that does not become a licence, and the reason. */
export interface SourceOmission {
  row: number;
  leftOut: SkipReason;
}

/** A fact that changes what the import means, which the seller must know before it. */
export interface SourceWarning {
  row: number;
  /** the kind, by which warnings are grouped */
  warning: WarningCode;
  /** the values in its sentence */
  facts?: string[];
  /** the address of the customer to check */
  customer?: string;
}

export type SourceItem = SourceLicense | SourceOmission | SourceWarning;

/** The seller's options for a table with its own column names. */
export interface TableOptions {
  /** the columns of fields, which take precedence over guesses; an empty name states that the table has no such column */
  map: ReadonlyMap<string, string>;
  /** the names of columns to ignore */
  ignore: string[];
  /** the id or name for rows without a product */
  product: string | undefined;
  plan: string | undefined;
}

/** A column by its name in the heading, and its field; null if the column is left out. */
export interface ReadColumn {
  column: string;
  field: string | null;
}

/** The options for opening a source. */
export interface SourceContext {
  /** the service's own connection, which may read the site's tables */
  db: Db;
  /** the prefix of the site's tables, such as `jos_`; undefined to detect it */
  sitePrefix: string | undefined;
  /** the file of a CSV source; undefined if the caller sent no file */
  file: AsyncIterable<Buffer> | undefined;
  /** a second table with the customers' addresses (`--users`) */
  users: AsyncIterable<Buffer> | undefined;
  /** undefined to guess the form if exactly one form fits all rows */
  dates: DateForm | undefined;
  /** true if the seller has confirmed the columns of a source whose tables are not fully known */
  confirmed: boolean;
  /** the options of a `csv`; undefined to use only its heading */
  table?: TableOptions | undefined;
  /** the plan combinations of the map, such as `3+8` (rights.ts) */
  together?: string[][];
  /** the plans that the map leaves out: their licences get no keys */
  leftOut?: string[];
  /** whether this source was imported before */
  ranBefore?: boolean;
  now: Date;
}

/** An opened source, whose rows can be read. */
export interface OpenSource {
  /** the plans that the source sells, with or without licences */
  plans: SourcePlan[];
  /** the columns found in a source whose tables are not fully known; the run prints them and asks for confirmation */
  columns?: string[];
  /** the columns of a `csv`, each with the field that it was read as */
  readAs?: ReadColumn[];
  /** Yields all rows in the order of ids, with bounded memory. Called twice (survey.ts) */
  items(): AsyncIterable<SourceItem>;
}

export interface MovingSource {
  name: SourceName;
  /** the readable name, such as "Membership Pro" */
  title: string;
  /** whether the source reads a file, or the site's tables */
  reads: 'tables' | 'file';
  /** whether it accepts a second table with the customers' addresses (people.ts) */
  readsUsers?: boolean;
  /** Opens the source. @throws OperatorError for missing tables or columns, which it names */
  open(context: SourceContext): Promise<OpenSource>;
}
