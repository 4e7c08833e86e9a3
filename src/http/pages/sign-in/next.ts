const MAX_PATH_LENGTH = 2_000;

/** Returns the page to open after signing in. It prevents an open redirect: only paths of our own pages pass. */
export function nextOf(sent: URLSearchParams, name = 'next'): string {
  const given = sent.get(name) ?? '/';
  if (!/^\/[\x21-\x7e]*$/.test(given) || given.length > MAX_PATH_LENGTH) return '/';
  // Resolve the path like a browser: "/../x" and "/%2e%2e/x" lead out of the pages.
  const { pathname, search } = new URL(`http://pages.invalid/pages${given}`);
  const next = `${pathname.slice('/pages'.length)}${search}`;
  const isOurs = pathname.startsWith('/pages/') && !/^\/(?:[/\\]|enter\/)/.test(next);
  return isOurs ? next : '/';
}
