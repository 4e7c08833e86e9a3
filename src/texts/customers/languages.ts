import { german } from './de/texts';
import { english } from './en/texts';

/** The languages of customers. A further language needs a folder here, a line in this list, and its mails (`mails`). */
export const CUSTOMERS = {
  // Loaded at first use, so that the start evaluates no texts.
  get en() {
    return english;
  },
  get de() {
    return german;
  },
};

export type CustomerLanguage = keyof typeof CUSTOMERS;
export const CUSTOMER_LANGUAGES = Object.keys(CUSTOMERS) as CustomerLanguage[];

/** Returns the language with this code; undefined if there is none. */
export function asCustomerLanguage(code: string | null | undefined): CustomerLanguage | undefined {
  return CUSTOMER_LANGUAGES.find((one) => one === code);
}
