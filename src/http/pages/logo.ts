import type Router from '@koa/router';
import { readPicture } from '../../packages/pictures';
import type { State } from '../context';
import { compress, once, serveFile } from '../static-file';

/** An SVG may carry a script, which must not run as the site when somebody opens the picture's own address. */
const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'Cache-Control': 'public, max-age=3600',
};

/** Adds `pages/my/logo`, the seller's picture, to the router. @param path a file that `readPicture` can use */
export function mountLogo(router: Router<State>, path: string): void {
  const logo = once(() => {
    const { type, bytes } = readPicture(path);
    return compress(type, bytes);
  });
  router.all('/pages/my/logo', serveFile(logo, 'pages', HEADERS));
}
