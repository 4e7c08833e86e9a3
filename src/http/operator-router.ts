import { LRUCache } from 'lru-cache';
import Router from '@koa/router';
import type { Authenticate } from '../access/authenticate';
import { API_PATH } from '../licensing/api';
import type { Licensing } from '../licensing/licensing';
import type { ManageSettings } from '../operations/settings';
import { mountManage } from './api/endpoint';
import type { State } from './context';
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

export interface OperatorRouterDependencies {
  licensing: Licensing;
  limiter: Limiter;
  isTrusted: PagesDependencies['isTrusted'];
  /** who may call the operator's API, and what it works on; undefined: it is not served */
  operator?: { authenticate: Authenticate; settings: ManageSettings };
  /** undefined: there are no pages; `db`: through a part of its connections */
  pages?: { db: PagesDependencies['db']; settings: PagesDependencies['settings']; assetsFolder: string };
  /** under which browsers know the service, such as `https://shop.example`; none: the request alone tells */
  origins?: (() => string[]) | undefined;
  /** undefined: `openapi.json` and `docs` are not served */
  document?: DocumentSettings;
  /** where the guides' site is, if it was built; undefined: the pages have no help */
  guideFolder?: string;
}

/** Figures that pages keep: each of the overview for some products, periods and languages. */
const MOST_FIGURES = 1_000;

/**
 * What customers' software does not call: the operator's API, shops' messages, pages, documents. A router of its own, because
 * each looks at all its addresses: customers' calls shall not wait for the operator's.
 * @throws Error when the pages' style was not built
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
}: OperatorRouterDependencies): Router<State> {
  const router = new Router<State>({ prefix: API_PATH, sensitive: true });
  router.use((ctx, next) => {
    ctx.state.origin = originOf(ctx, { isTrusted, origins });
    return next();
  });
  router.all('/keys.json', publicKeys(licensing));
  if (pages) mountLogo(router, pages.settings);
  if (operator) {
    const { db, now } = licensing;
    mountManage(router, { db, now, limiter, ...operator });
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
        asset: mountAssets(router, pages.assetsFolder),
        guide: mountGuide(router, guideFolder),
        lastFigures: { kept: new LRUCache({ max: MOST_FIGURES }), running: new Map() },
      });
  }
  if (document) mountDocument(router, document);
  return router;
}
