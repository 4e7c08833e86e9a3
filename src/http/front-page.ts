import type { Middleware } from './context';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Licence service</title>
</head>
<body>
<h1>This is a licence service</h1>
<p>Software that was bought here asks this address whether its licence is valid, and for updates. It works: there is
nothing to do or to see here in a browser.</p>
<p>Do you have a licence key? Type it into your software. In Joomla, that is the field &ldquo;Download Key&rdquo; of
System &rarr; Update Sites.</p>
<p><a href="/">To the start page of this site</a></p>
</body>
</html>
`;

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  Vary: 'Accept',
};

/** Explains the API's address to people who open it in a browser. Other clients receive 404. */
export const frontPage: Middleware = (ctx, next) => {
  // Require an explicit text/html, because libraries and curl accept any type.
  if (!/\btext\/html\b/i.test(ctx.get('Accept'))) return next();
  ctx.set(HEADERS);
  ctx.body = PAGE;
  return undefined;
};
