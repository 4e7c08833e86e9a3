import { LRUCache } from 'lru-cache';
import Router from '@koa/router';
import type { Authenticate } from '../access/authenticate';
import { API_PATH } from '../licensing/api';
import type { Licensing } from '../licensing/licensing';
import type { ManageSettings } from '../operations/settings';
import { mountOperatorApi } from './api/endpoint';
import type { RequestState } from './context';
import { mountDocument, type DocumentSettings } from './document/public-files';
import { mountHooks } from './hooks';
import { mountAssets } from './pages/assets';
import { mountGuide } from './pages/guide';
import { mountLogo } from './pages/logo';
import { mountPages } from './pages/mount';
import type { PagesDependencies } from './pages/page';
import { publicKeys } from './public-keys';
import type { Limiter } from './limits/rate-limit';
import { originOf } from './same-origin';

export interface OperatorRouterDeps {
  licensing: Licensing;
  limiter: Limiter;
  isTrusted: PagesDependencies['isTrusted'];
  /** the callers and settings of the operator's API; undefined if it is not served */
  operator?: { authenticate: Authenticate; settings: ManageSettings };
  /** the settings of the pages, with `db` limited to a part of the connections; undefined if there are no pages */
  pages?: { db: PagesDependencies['db']; settings: PagesDependencies['settings']; assetsFolder: string };
  /** returns the origins that browsers use, such as `https://shop.example`; if empty, only the request decides */
  origins?: (() => string[]) | undefined;
  /** the settings of `openapi.json` and `docs`; undefined if they are not served */
  document?: DocumentSettings;
  /** the folder of the guides' site, if it was built; undefined if the pages have no help */
  guideFolder?: string;
}

/** The maximum number of cached figures: one for each set of products, period and language of the overview. */
const MAX_FIGURES = 1_000;

/**
 * Creates the router for everything but customers' software: the operator's API, shops' messages, pages, documents. A
 * router tries all its routes, so this one is separate: customers' calls do not wait for the operator's.
 * @throws Error if the stylesheet of the pages was not built
 */
export function createOperatorRouter({
  licensing,
  limiter,
  isTrusted,
  operator,
  pages,
  origins = () => [],
  document,
  guideFolder,
}: OperatorRouterDeps): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: API_PATH, sensitive: true });
  router.use((ctx, next) => {
    ctx.state.origin = originOf(ctx, { isTrusted, origins });
    return next();
  });
  router.all('/keys.json', publicKeys(licensing));
  if (pages) mountLogo(router, pages.settings);
  if (operator) {
    const { db, now } = licensing;
    mountOperatorApi(router, { db, now, limiter, ...operator });
    mountHooks(router, { db, now, limiter, settings: operator.settings });
    if (pages)
      mountPages(router, {
        db: pages.db,
        now,
        limiter,
        licensing,
        isTrusted,
        authenticate: operator.authenticate,
        settings: pages.settings,
        ...mountAssets(router, pages.assetsFolder),
        guide: mountGuide(router, guideFolder),
        lastFigures: { kept: new LRUCache({ max: MAX_FIGURES }), running: new Map() },
      });
  }
  if (document) mountDocument(router, document);
  return router;
}
