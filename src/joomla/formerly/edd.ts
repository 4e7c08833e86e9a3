/**
 * Converts the service's update response to the one of `get_version` in Easy Digital Downloads. A web server replaces
 * these texts. In JSON, a quote inside a text has a backslash before it, so no name or changelog contains these texts.
 */

/** PHP's serialize() of an array with an empty changelog. Clients ignore a response without sections. */
const SECTIONS = 'a:1:{s:9:\\"changelog\\";s:0:\\"\\";}';

/** Returns the texts to replace. @param packageUrl the download URL, with the variable that contains the key */
export function eddReplacements(packageUrl: string): [from: string, to: string][] {
  return [
    [
      '{"data":{"update_available":true,"name":',
      `{"package":"${packageUrl}","download_link":"${packageUrl}","sections":"${SECTIONS}","name":`,
    ],
    [',"version":', ',"new_version":'],
    // Opens a brace for the one that the first replacement removed, so that the braces at the end match.
    [',"download_url":', ',"update":{"download_url":'],
  ];
}
