import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Router from '@koa/router';
import type { RequestState } from '../context';
import { etagOf, serveFile, typeOf, type StaticFile } from '../static-file';

/** Serves the style and script of the pages, which the build writes into `dist/pages` (scripts/build-pages.mjs). */

import type { AssetName } from './view';

/** Returns a file's address below `pages/`, such as `assets/licensing-0123456789abcdef.css`. */
export type AssetAddress = (name: AssetName) => string;

const FOLDER = 'assets';

/** Headers that cache a file for ever: its name contains a hash, so that a changed file has another address. */
const HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/**
 * Reads the files once, and serves them at `pages/assets/NAME`.
 * @param folder `dist/pages`
 * @throws Error if the folder was not built
 */
export function mountAssets(router: Router<RequestState>, folder: string): AssetAddress {
  const names = readManifest(folder);
  const files = new Map(
    Object.entries(names).map(([name, served]) => [served, readAsset(folder, name)] as const),
  );
  router.all(
    `/pages/${FOLDER}/:name`,
    serveFile((ctx) => files.get((ctx.params as { name: string }).name), 'pages', HEADERS),
  );
  return (name) => `${FOLDER}/${names[name]}`;
}

function readManifest(folder: string): Record<AssetName, string> {
  try {
    return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<AssetName, string>;
  } catch (error) {
    throw new Error(`The style of the pages is not in ${folder}. Run "npm run build" first.`, {
      cause: error,
    });
  }
}

function readAsset(folder: string, name: string): StaticFile {
  const read = (end: string) => readFileSync(join(folder, name + end));
  const plain = read('');
  return { type: typeOf(name), etag: etagOf(plain), plain, br: read('.br'), gzip: read('.gz') };
}
