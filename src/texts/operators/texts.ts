import type { CustomerTexts } from '../customers/texts';
import type { Language } from '../language';
import type { Translated } from '../translated';
import type { english } from './en/texts';
import type { FailureTexts } from './failures';
import type { JoomlaTexts } from './joomla-says';
import type { RemedyTexts } from './remedy';
import type { SupportTexts } from './support';

interface Declared {
  language: Language;
  failures: FailureTexts;
  joomlaSays: JoomlaTexts;
  remedy: RemedyTexts;
  support: SupportTexts;
}

/** All texts for operators in one language, a file for each area. */
export type OperatorTexts = Declared & Translated<Omit<typeof english, keyof Declared>>;

/** The texts of a page. */
export type Texts = OperatorTexts & CustomerTexts;
