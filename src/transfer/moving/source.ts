import type { Db } from '../../store/engine/database';
import type { StoredStatus } from '../../licensing/core/states';
import type { LeftOutReason, WarningCode } from './sayings';

/**
 * What a former system is read into. A source is one file of this folder: where its rows are, what each column and state means,
 * and what cannot be known. `run.ts` does the rest: the plan map, the dry run, one transaction, twice is once.
 */

/** The names that `--from` takes. */
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

/** The order of days and months in dates that do not say it; `unix`: seconds since 1970. */
export const DATE_FORMS = ['unix', 'iso', 'dmy', 'mdy'] as const;
export type DateForm = (typeof DATE_FORMS)[number];

/** What the source sells, and its key in the plan map. */
export interface SourcePlan {
  /** as `--plans` names it: an id, or for a CSV a product's name, `NAME:PRICE` where there are price ids */
  key: string;
  /** in people's words */
  name: string;
  /** the product's name, for `--make-plans` and for the counts */
  product: string;
  /** ids of what the plan gives, for one key over several plans: the plan with all of another's covers it */
  covers: string[];
  /** such as `1y`; null: for life; undefined: the source does not say */
  duration: string | null | undefined;
  /** sites; 0: any number; undefined: the source does not say */
  limit: number | undefined;
  /** our plan that the source names, where the map says nothing */
  here?: number | undefined;
}

export interface SourceKey {
  key: string;
  /** sites of this key alone; undefined: all of the licence */
  limit: number | undefined;
  /** what the key is activated for, as the source has it */
  sites: string[];
  /** it works no more at the source, where the licence does */
  ended?: boolean;
}

/** A right of the source that becomes a licence here, or an update of one. */
export interface SourceLicense {
  /** the source's id: the reference is `NAME:ID` */
  id: string;
  /** the line or id that a remark names */
  row: number;
  /** a `SourcePlan`'s key */
  plan: string;
  /** an address; null: not known */
  customer: string | null;
  customerName: string | null;
  /** the first is the main key; none: the licence gets a key of ours */
  keys: SourceKey[];
  status: StoredStatus | 'expired';
  startsAt: Date | undefined;
  /** null: for life; undefined: the duration of the plan here, from `startsAt` on */
  expiresAt: Date | null | undefined;
  /** sites; 0: any number; undefined: the limit of the plan here */
  limit: number | undefined;
  /** when it was used last at the source, where that is known */
  lastUsedAt?: Date | undefined;
  /** sites that belong to no key of their own */
  sites: string[];
  /** the licence's metadata */
  metadata: Record<string, string>;
}

/** A row that becomes no licence, and why. */
export interface SourceOmission {
  row: number;
  leftOut: LeftOutReason;
}

/** Something that a person has to know before the import, by kind: what changes its meaning. */
export interface SourceWarning {
  row: number;
  /** the kind, by which they are grouped */
  warning: WarningCode;
  /** what its sentence names */
  facts?: string[];
  /** the customer whom somebody has to look at, by address */
  customer?: string;
}

export type SourceItem = SourceLicense | SourceOmission | SourceWarning;

/** The seller's words about a table whose columns have names of their own. */
export interface TableOptions {
  /** columns by field, which win over what their names suggest; an empty name: the table has no such column */
  map: ReadonlyMap<string, string>;
  /** names of columns left out on purpose */
  ignore: string[];
  /** id or name, for rows that name none */
  product: string | undefined;
  plan: string | undefined;
}

/** A column, by its name in the heading, and the field that it fills; null: it is left out. */
export interface ReadColumn {
  column: string;
  field: string | null;
}

/** What a source is opened with. */
export interface SourceContext {
  /** the service's own connection, which may read the site's tables */
  db: Db;
  /** of the site's tables, such as `jos_`; undefined: found by the tables that are there */
  sitePrefix: string | undefined;
  /** the file of a CSV source; undefined: none was given */
  file: AsyncIterable<Buffer> | undefined;
  /** a second table that has the customers' addresses (`--users`) */
  users: AsyncIterable<Buffer> | undefined;
  /** undefined: guessed where exactly one form fits all rows */
  dates: DateForm | undefined;
  /** columns of a source that cannot be seen whole, confirmed by the seller */
  confirmed: boolean;
  /** Options of `csv`; undefined: all by its heading. */
  table?: TableOptions | undefined;
  /** plans that the map takes together, such as `3+8` (rights.ts) */
  together?: string[][];
  /** plans that the map leaves out: keys go to none of their licences */
  leftOut?: string[];
  /** Whether this source was moved in from before. */
  ranBefore?: boolean;
  now: Date;
}

/** A source with its rows at hand. */
export interface OpenSource {
  /** what the source sells, with licences or without */
  plans: SourcePlan[];
  /** columns that were found, of a source that cannot be seen whole; the run prints them and asks */
  columns?: string[];
  /** The columns of a `csv`, and what each was read as. */
  readAs?: ReadColumn[];
  /** all its rows, in the order of ids; memory stays bounded; called twice (survey.ts) */
  items(): AsyncIterable<SourceItem>;
}

export interface MovingSource {
  name: SourceName;
  /** in people's words: "Membership Pro" */
  title: string;
  /** a file is read, or the site's tables */
  reads: 'tables' | 'file';
  /** whether it takes a second table with the customers' addresses (people.ts) */
  readsUsers?: boolean;
  /** @throws OperatorError when the tables or columns are not there, saying which were looked for */
  open(context: SourceContext): Promise<OpenSource>;
}
