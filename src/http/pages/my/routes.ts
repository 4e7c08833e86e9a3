import type { CustomerCall, PageCall, Route } from '../page';
import { byMailRoute } from './by-mail';
import { languageRoute } from './details';
import { downloadRoute } from './downloads';
import { enterRoutes } from './enter';
import { keyRoutes } from './keys';
import { removeSiteRoute } from './remove-site';
import { siteRoutes } from './sites';

/** The customers' pages: public ones, and those that need a session. */
export const myRoutes: { open: Route<PageCall>[]; signedIn: Route<CustomerCall>[] } = {
  open: enterRoutes,
  signedIn: [byMailRoute, languageRoute, downloadRoute, ...siteRoutes, removeSiteRoute, ...keyRoutes],
};
