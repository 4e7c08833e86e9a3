import type { Licensing } from '../licensing/licensing';
import type { Middleware } from './context';
import { compress, serveFile } from './static-file';

/** GET keys.json: the keys that sign, as a JWK set (RFC 7517). Software pins its keys, so an hour's delay harms nobody. */
export function publicKeys({ signer }: Licensing): Middleware {
  const load = async () => compress('application/json', JSON.stringify({ keys: await signer.publicKeys() }));
  return serveFile(load, 'document', { 'Cache-Control': 'public, max-age=3600' });
}
