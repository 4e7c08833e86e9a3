import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Router from '@koa/router';
import type { RequestState } from '../context';
import { etagOf, serveFile, typeOf, type StaticFile } from '../static-file';
import type { AssetName } from './view';

/**
 * The style, script, fonts and icons of the pages, which the build writes into `dist/pages` (scripts/build-pages.mjs).
 */

export interface Assets {
  /** returns a file's address below `pages/`, such as `assets/licensing-0123456789abcdef.css` */
  asset: (name: AssetName) => string;
}

const FOLDER = 'assets';

/** Headers that cache a file for ever: its name contains a hash, so that a changed file has another address. */
const HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/**
 * Reads the files once, and serves them at `pages/assets/NAME`.
 * @param folder `dist/pages`
 * @throws Error if the folder was not built
 */
export function mountAssets(router: Router<RequestState>, folder: string): Assets {
  const names = readBuilt(folder, 'manifest.json') as Record<AssetName, string>;
  const files = new Map(
    Object.entries(names).map(([name, served]) => [served, readAsset(folder, name)] as const),
  );
  router.all(
    `/pages/${FOLDER}/:name`,
    serveFile((ctx) => files.get((ctx.params as { name: string }).name), 'pages', HEADERS),
  );
  return { asset: (name) => `${FOLDER}/${names[name]}` };
}

function readBuilt(folder: string, name: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8'));
  } catch (error) {
    throw new Error(`The style of the pages is not in ${folder}. Run "npm run build" first.`, {
      cause: error,
    });
  }
}

function readAsset(folder: string, name: string): StaticFile {
  const read = (end: string) => readFileSync(join(folder, name + end));
  const plain = read('');
  const file = { type: typeOf(name), etag: etagOf(plain), plain };
  // A font is compressed already.
  return name.endsWith('.woff2') ? file : { ...file, br: read('.br'), gzip: read('.gz') };
}
