import { CUSTOMERS, type CustomerLanguage } from '../customers/languages';
import { german } from './de/texts';
import { english } from './en/texts';
import type { OperatorTexts, Texts } from './texts';

/** The languages that operators read. Customers read each of them too. */
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

/** The same language, or English where no operator's text is written in it. */
export function operatorLanguageOf(language: CustomerLanguage): OperatorLanguage {
  return OPERATOR_LANGUAGES.find((one) => one === language) ?? 'en';
}

/** What a page is written with: for a customer the customers' texts, which are in every language. */
export function pageTexts(language: CustomerLanguage): Texts {
  return { ...OPERATORS[operatorLanguageOf(language)], ...CUSTOMERS[language] };
}
