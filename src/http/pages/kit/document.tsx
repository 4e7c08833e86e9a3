import type { Child } from 'hono/jsx';
import { useView } from '../view';

/** The HTML document around every page. */
export function Document({
  title,
  kind,
  children,
}: {
  title: string;
  /** the class of the body */
  kind?: string | undefined;
  children: Child;
}) {
  const { language, theme, asset } = useView();
  return (
    <html lang={language} data-theme={theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={theme === 'auto' ? 'light dark' : theme} />
        <meta name="robots" content="noindex" />
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <link
          rel="preload"
          href={asset('inter-latin.woff2')}
          as="font"
          type="font/woff2"
          crossorigin="anonymous"
        />
        <link rel="stylesheet" href={asset('licensing.css')} />
        <script src={asset('licensing.js')} defer />
      </head>
      <body {...(kind === undefined ? {} : { class: kind })}>{children}</body>
    </html>
  );
}
