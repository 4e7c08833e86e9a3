import type { CustomerCall, PageCall, Route } from '../page';

/** The customers' pages: those that everybody may open, and those of a session. */
export const myRoutes: { open: Route<PageCall>[]; signedIn: Route<CustomerCall>[] } = {
  open: [],
  signedIn: [],
};
