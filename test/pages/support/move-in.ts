import { formOf, type PagesAnswer, type PagesClient } from './session';

/** Sends the forms of the page *Move in* like a browser. */

/** Sends the form that was shown last, with a file or with the file that it kept. */
export function send(
  pages: PagesClient,
  shown: PagesAnswer,
  fields: Record<string, string>,
  file?: string | Buffer,
  users?: string | Buffer,
): Promise<PagesAnswer> {
  const { once = '', ...hidden } = formOf(shown.html, '/move-in');
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...selected(shown.html), ...hidden, ...fields }))
    body.append(name, value);
  if (file !== undefined) body.append('file', new Blob([file], { type: 'text/csv' }), 'licenses.csv');
  if (users !== undefined) body.append('users', new Blob([users], { type: 'text/csv' }), 'users.csv');
  return pages.post(`/move-in?once=${once}`, body);
}

/** Returns the chosen option of each select. */
export function selected(html: string): Record<string, string> {
  return Object.fromEntries(
    [...html.matchAll(/<select[^>]* name="([^"]*)".*?<\/select>/gs)].map(([select, name = '']) => [
      name,
      /<option value="([^"]*)" selected/.exec(select)?.[1] ?? '',
    ]),
  );
}

export async function start(
  pages: PagesClient,
  fields: Record<string, string>,
  file?: string | Buffer,
  users?: string | Buffer,
): Promise<PagesAnswer> {
  return send(pages, await pages.get('/move-in'), fields, file, users);
}
