import * as nodeModule from 'node:module';

/** The function exists since Node 22.10; the types are those of the oldest supported Node. */
const { flushCompileCache } = nodeModule as { flushCompileCache?: () => void };

/**
 * Writes compiled code to Node's compile cache, if it is on (scripts/release/start/compile-cache.cjs). By default it is
 * only written at a normal exit, which a service seldom reaches.
 */
export function writeCompileCache(): void {
  flushCompileCache?.();
}
