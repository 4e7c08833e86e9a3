import * as nodeModule from 'node:module';

/** Since Node 22.10; the types are those of the oldest Node. */
const { flushCompileCache } = nodeModule as { flushCompileCache?: () => void };

/**
 * Writes the code that was compiled so far, where Node keeps any (scripts/release/start/compile-cache.cjs). Otherwise it is
 * written when the process ends by itself, which a service seldom does.
 */
export function keepCompiled(): void {
  flushCompileCache?.();
}
