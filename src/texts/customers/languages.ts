import { german } from './de/texts';
import { english } from './en/texts';

/** The languages that customers read. A further one is a folder here, a line in this list, and its mails (`mails`). */
export const CUSTOMERS = {
  // Read at their use, so that a start evaluates no texts.
  get en() {
    return english;
  },
  get de() {
    return german;
  },
};

export type CustomerLanguage = keyof typeof CUSTOMERS;
export const CUSTOMER_LANGUAGES = Object.keys(CUSTOMERS) as CustomerLanguage[];

/** undefined: it is not one of them */
export function asCustomerLanguage(code: string | null | undefined): CustomerLanguage | undefined {
  return CUSTOMER_LANGUAGES.find((one) => one === code);
}
