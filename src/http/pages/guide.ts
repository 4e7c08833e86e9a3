import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type Router from '@koa/router';
import { API_PATH } from '../../licensing/api';
import type { RequestState } from '../context';
import { compress, memoizeSuccess, serveFile, typeOf, type StaticFile } from '../static-file';
import { setPageHeaders } from './headers';

/** The documentation's site, which `npm run docs` writes into `docs-site`: help for the operator's pages. */

/** Returns the address below `pages/` of a guide; undefined without it. @param page its name in `docs`: `releases` */
export type GuideAddress = (page: string) => string | undefined;

const AT = '/pages/guide/';

/**
 * Serves the site at `pages/guide/`, if it was built. It contains nothing about this installation, so it is public.
 * @param folder `docs-site`; undefined if there is no site
 */
export function mountGuide(router: Router<RequestState>, folder: string | undefined): GuideAddress {
  const files = new Map(folder === undefined ? [] : filesIn(folder));
  if (files.size > 0) {
    const serve = serveFile((ctx) => files.get(ctx.path.slice(`${API_PATH}${AT}`.length))?.(), 'pages');
    router.all(`${AT}*file`, async (ctx, next) => {
      setPageHeaders(ctx);
      // Allow inline styles, because the site's script adds an element for styles, which remains empty.
      const policy = ctx.response.get('Content-Security-Policy');
      ctx.set('Content-Security-Policy', policy.replace("style-src 'self'", "$& 'unsafe-inline'"));
      ctx.set('X-Robots-Tag', 'noindex');
      await serve(ctx, next);
    });
  }
  return (page) => {
    const name = page + '.html';
    return files.has(name) ? `guide/${name}` : undefined;
  };
}

function filesIn(folder: string): [name: string, load: () => Promise<StaticFile>][] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(folder, path);
      return [name, memoizeSuccess(async () => compress(typeOf(name) || 'text/plain', await readFile(path)))];
    });
}
