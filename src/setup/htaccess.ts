import { API_PATH } from '../licensing/api';

/**
 * Returns the lines for the site's .htaccess that lead the exact prefix to the application.
 * @param base such as `/licensing-app`
 * @param folder the site's folder; its .htaccess sees paths without it
 */
export function htaccessLines(base: string, folder = ''): string {
  const isInside = base.startsWith(`${folder}/`);
  const name = isInside ? base.slice(folder.length + 1) : base;
  const pattern = (path: string) => path.replaceAll('.', '\\.');
  const api = API_PATH.replace(/^\//, '');
  return [
    ...(isInside ? [`RewriteRule ^${pattern(name)}(/|$) - [L]`] : []),
    `RewriteRule ^${pattern(api)}(/.*)?$ ${name}/${api}$1 [L]`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}
