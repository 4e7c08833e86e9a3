import { CUSTOMERS, type CustomerLanguage } from '../customers/languages';
import { german } from './de/texts';
import { english } from './en/texts';
import type { OperatorTexts, Texts } from './texts';

/** The message catalogues (i18n) of operators, by languages, all of which are also languages of customers. */
const LIST = {
  get en() {
    return english;
  },
  get de() {
    return german;
  },
} satisfies Partial<Record<CustomerLanguage, OperatorTexts>>;

export type OperatorLanguage = keyof typeof LIST;
export const OPERATORS: Record<OperatorLanguage, OperatorTexts> = LIST;
export const OPERATOR_LANGUAGES = Object.keys(OPERATORS) as OperatorLanguage[];

/** Returns the language, or English if it has no texts for operators. */
export function operatorLanguageOf(language: CustomerLanguage): OperatorLanguage {
  return OPERATOR_LANGUAGES.find((one) => one === language) ?? 'en';
}

/** Returns the texts of a page: for a customer the customers' texts, which exist in every language. */
export function pageTexts(language: CustomerLanguage): Texts {
  return { ...OPERATORS[operatorLanguageOf(language)], ...CUSTOMERS[language] };
}
