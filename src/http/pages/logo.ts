import type Router from '@koa/router';
import type { Picture } from '../../packages/pictures';
import type { RequestState } from '../context';
import { compress, serveFile, type StaticFile } from '../static-file';

/** Headers of the picture. An SVG may contain a script, which must not run as the site if its own address is opened. */
const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'Cache-Control': 'public, max-age=3600',
};

/** Adds `pages/my/logo`, the seller's current picture, to the router; 404 without a picture. */
export function mountLogo(
  router: Router<RequestState>,
  settings: { readonly shopLogo: Picture | undefined },
): void {
  let known: { of: Picture; file: Promise<StaticFile> } | undefined;
  const load = () => {
    const { shopLogo: picture } = settings;
    if (picture === undefined) return undefined;
    if (known?.of !== picture) known = { of: picture, file: compress(picture.type, picture.bytes) };
    return known.file;
  };
  router.all('/pages/my/logo', serveFile(load, 'pages', HEADERS));
}
