import type Router from '@koa/router';
import { notFound } from '../../operations/kit/failures';
import type { RequestState } from '../context';
import { createKeyedSemaphore } from '../limits/keyed-semaphore';
import { answerPage, type StepUp } from './answer-page';
import { doorRoutes } from './door';
import { authenticateCustomer, authenticateOperator, allowAnonymous } from './authenticate';
import { myRoutes } from './my/routes';
import { operatorRoutes } from './operator/routes';
import type { PageResponse, PageCall, PagesDependencies, Route } from './page';
import { stepUpPage, ensureRecentSignIn } from './sign-in/step-up';
import { signInRoutes } from './sign-in/routes';

/** The addresses of all pages and their access rules. `answer-page.tsx` has the steps of a request. */

/** Adds all pages to the router, below `/pages`. */
export function mountPages(router: Router<RequestState>, dependencies: PagesDependencies): void {
  const takeTurn = createKeyedSemaphore(MAX_WAITING);
  const mount = <Call extends PageCall>(
    routes: Route<Call>[],
    enter: (call: PageCall, route: Route<Call>) => Promise<Call | PageResponse>,
    confirm?: StepUp<Call>,
  ) => {
    for (const route of routes) {
      const paths = route.path === '/' ? ['/pages{/}'] : [`/pages${route.path}`];
      for (const path of paths)
        router.all(path, answerPage(route, enter, { ...dependencies, takeTurn }, confirm));
    }
  };
  mount(signInRoutes, allowAnonymous);
  const hasDoor = dependencies.settings.config.joomlaRoot !== undefined;
  mount(hasDoor ? doorRoutes : doorRoutes.map(({ path }) => ({ path, ...LEADS_NOWHERE })), allowAnonymous);
  mount(myRoutes.open, allowAnonymous);
  mount(myRoutes.signedIn, authenticateCustomer);
  mount(operatorRoutes, authenticateOperator, { recent: ensureRecentSignIn, ask: stepUpPage });
  mount([NOWHERE], allowAnonymous);
}

const nowhere = (): never => {
  throw notFound('page');
};

const NOWHERE: Route<PageCall> = { path: '{/*rest}', get: nowhere };
/** The route without a Joomla site: it answers 404 to every method and origin. */
const LEADS_NOWHERE = { get: nowhere, post: nowhere, handlesCsrfItself: true } as const;

/** The number of a session's requests that may wait for the previous one: one more click than a person makes. */
const MAX_WAITING = 4;
