import { createContext, useContext } from 'hono/jsx';
import type { Scope } from '../../access/caller';
import type { Format } from './format';
import type { CustomerLanguage } from '../../texts/customers/languages';
import type { OperatorLanguage } from '../../texts/operators/languages';
import type { Texts } from '../../texts/operators/texts';

/** What every component may ask about the request that a page is made for. */
export interface View {
  language: CustomerLanguage;
  /** what only operators read is in; the page's own, unless it is a customer's */
  operatorLanguage: OperatorLanguage;
  /** the texts of the page's language */
  t: Texts;
  format: Format;
  theme: Theme;
  /** the address of a page, from its path below `pages`, such as `/licenses/12` */
  to: (path: string, query?: Query) => string;
  /** the address of a style or script */
  asset: (name: AssetName) => string;
  /** the address of a page of the documentation, such as `releases`; undefined: it is not there */
  guide: (page: string) => string | undefined;
  /** the path of this page below `pages` */
  path: string;
  /** who is signed in as operator; undefined: nobody, or a customer */
  operator: { name: string; scope: Scope; byDoor?: true | undefined } | undefined;
  /** whether that is an operator who may change things */
  readonly mayWrite: boolean;
  /** the seller's name; empty: not known */
  shopName: string;
  /** the address of the seller's picture */
  logo: string | undefined;
  /** the result of the action that led here */
  said: Said | undefined;
  now: Date;
}

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export type AssetName = 'licensing.css' | 'licensing.js';

export type Query = Record<string, string | number | undefined>;

/** A sentence by its name, with its values. */
export interface Said {
  code: keyof (Texts['said'] & Texts['kit']['said']);
  values: string[];
  /** remarks on a package: each a code and what its sentence names */
  remarks?: string[][];
}

const ViewContext = createContext<View | undefined>(undefined);
export const ViewProvider = ViewContext.Provider;

/** The request's view, in any component of a page. */
export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error('This component stands in no page.');
  return view;
}
