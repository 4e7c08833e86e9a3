/**
 * The answer to `get_version` of Easy Digital Downloads' clients, made of the service's own about updates: a web server
 * replaces these texts in it. Within a text of JSON their quotes have a backslash before them, so that no name and no
 * changelog contains them.
 */

/** PHP's serialize() of an array with an empty changelog: clients take an answer without sections for none. */
const SECTIONS = 'a:1:{s:9:\\"changelog\\";s:0:\\"\\";}';

/** @param packageUrl of the download, with the variable that has the key as it was sent */
export function eddReplacements(packageUrl: string): [from: string, to: string][] {
  return [
    [
      '{"data":{"update_available":true,"name":',
      `{"package":"${packageUrl}","download_link":"${packageUrl}","sections":"${SECTIONS}","name":`,
    ],
    [',"version":', ',"new_version":'],
    // Opens again what the first one left out, so that the braces at the end match.
    [',"download_url":', ',"update":{"download_url":'],
  ];
}
