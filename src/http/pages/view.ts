import { createContext, useContext } from 'hono/jsx';
import type { Scope } from '../../access/caller';
import type { Format } from './format';
import type { CustomerLanguage } from '../../texts/customers/languages';
import type { OperatorLanguage } from '../../texts/operators/languages';
import type { Texts } from '../../texts/operators/texts';

/** The values that every component of a page may read about its request. */
export interface View {
  language: CustomerLanguage;
  /** the language of texts for operators only: the page's language, unless it is a customer's page */
  operatorLanguage: OperatorLanguage;
  /** the texts in the page's language */
  t: Texts;
  format: Format;
  theme: Theme;
  /** returns the address of a page from its path below `pages`, such as `/licenses/12` */
  to: (path: string, query?: Query) => string;
  /** returns the address of a style, a script, a font or the icons */
  asset: (name: AssetName) => string;
  /** returns the address of a guide, such as `releases`; undefined if it does not exist */
  guide: (page: string) => string | undefined;
  /** this page's path below `pages` */
  path: string;
  /** the signed-in operator; undefined for customers and visitors */
  operator: { name: string; scope: Scope; byDoor?: true | undefined } | undefined;
  /** the numbers next to the names of the navigation, as the overview last counted them; undefined if unknown */
  counts: NavCounts | undefined;
  /** true if the operator may change data */
  readonly mayWrite: boolean;
  /** the seller's name; empty if it is unknown */
  shopName: string;
  /** the address of the seller's picture */
  logo: string | undefined;
  /** the flash message of the previous action */
  flash: FlashMessage | undefined;
  now: Date;
}

/** The numbers of action items by the part of the navigation that lists them. */
export type NavCounts = Partial<Record<'overview' | 'orders' | 'mails', number>>;

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export type AssetName =
  | 'icons.svg'
  | 'licensing.css'
  | 'licensing.js'
  | 'inter-latin.woff2'
  | 'inter-latin-ext.woff2';

export type Query = Record<string, string | number | undefined>;

/** A flash message: a sentence by its name, with its values. */
export interface FlashMessage {
  code: keyof (Texts['said'] & Texts['kit']['said']);
  values: string[];
  /** remarks about a package, each a code and the values of its sentence */
  remarks?: string[][];
}

const ViewContext = createContext<View | undefined>(undefined);
export const ViewProvider = ViewContext.Provider;

/** Returns the request's view in any component of a page. */
export function useView(): View {
  const view = useContext(ViewContext);
  if (view === undefined) throw new Error('This component is rendered outside a page.');
  return view;
}
