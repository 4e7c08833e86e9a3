import type { Licensing } from '../licensing/licensing';
import type { Middleware } from './context';
import { compress, serveFile } from './static-file';

/** GET keys.json: the signing keys as a JWK set (RFC 7517). Software pins its keys: an hour's cache is harmless. */
export function publicKeys({ signer }: Licensing): Middleware {
  const load = async () => compress('application/json', JSON.stringify({ keys: await signer.publicKeys() }));
  return serveFile(load, 'document', { 'Cache-Control': 'public, max-age=3600' });
}
