import { API_PATH, API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../../licensing/api';
import { doctor as english } from '../../texts/operators/en/doctor';
import { readDownloadAddress, schemeAndHostOf } from '../addresses';
import { readChallenge } from '../challenge';
import { carriesKey } from './download-key';
import type { SiteResponse } from './fetch';
import { phpTrim } from './xml-updates';

export const REMEDY_FOR_TOO_LARGE =
  'Joomla keeps the whole package in memory, and no site has that much. If the package is smaller, find out what answers instead of the service.';

/** Returns the remedy if a CDN or firewall answered instead of the site; undefined if the site answered. */
export function remedyForChallenge(
  { status, headers, redirects }: SiteResponse,
  address: string,
): string | undefined {
  const url = new URL(redirects.at(-1) ?? address);
  const challenge = readChallenge(url, status, (name) => headers.get(name));
  return challenge && english.challenged(challenge).remedy;
}

/** Returns the remedy for an update XML that answers with a status other than 200. */
export function remedyForXml(answer: SiteResponse, url: string): string {
  const challenge = remedyForChallenge(answer, url);
  if (challenge !== undefined) return challenge;
  const { status } = answer;
  const { pathname } = new URL(url);
  if (pathname.startsWith(`${API_PATH}/`))
    return `The licence service does not serve the update XML: put it next to the site's other files, and write its address into the manifest's <updateservers>.`;
  if (status === 404)
    return `The file does not exist. Write it where the web server looks for ${pathname}, usually that path in the site's folder: licensing update-xml write --product ID --out /var/www/YOUR.SITE${pathname}. If it is somewhere else, the manifest's <updateservers> must name that address.`;
  if (status === 401 || status === 403)
    return 'Let everyone read the update XML without a login: chmod 644 on the file, and no password or firewall in front of its address.';
  return 'The web server must answer 200 for the update XML: look into its error log.';
}

/** Remedies for this service's plain-text answers (docs/contract.md, 8.2). ID is replaced by the product's id. */
const REMEDIES = new Map(
  Object.entries({
    [KEY_REQUIRED]:
      'The key did not arrive: look for a "#" in the <downloadurl>, or a redirect; both drop it.',
    [API_TEXTS.LICENSE_NOT_FOUND]:
      'No licence has this key. Compare it with the issued key: "licensing license show -", or "licensing why" with its last characters.',
    [API_TEXTS.LICENSE_INACTIVE]:
      'The licence is suspended, revoked or cancelled: "licensing license history KEY" shows when that happened, and why.',
    [API_TEXTS.LICENSE_EXPIRED]:
      'The licence has expired: "licensing license renew KEY --for 1y" extends it.',
    [API_TEXTS.ACTIVATION_NOT_FOUND]:
      'The <downloadurl> has an "identifier", and the key is not activated for it. Remove it from the address: the key is enough.',
    [API_TEXTS.PRODUCT_MISMATCH]:
      "The key is for another product than the one in the <downloadurl>: give the customer a key for this product, or correct the product's id in the XML.",
    [API_TEXTS.DOWNLOAD_NOT_FOUND]:
      'The version in the <downloadurl> is not published, or it was withdrawn. See: licensing release list --product ID. Then: licensing update-xml write --product ID',
    [API_TEXTS.FILE_NOT_FOUND]:
      'The package is not in the folder of packages, or the service or nginx cannot read it there. Run "licensing doctor" on the server, as the user the service runs as: it names the file, and the command that repairs it.',
    [API_TEXTS.RATE_LIMITED]:
      'The rate limit refused it: wait a minute, and see LICENSING_DOWNLOAD_RATE_LIMIT.',
    [PRODUCT_ID_REQUIRED]:
      'The <downloadurl> is not the download address. Write the update XML again: licensing update-xml write',
  }),
);

/** Returns the remedy for a package that answers with a status other than 200. `key` is in the form that Joomla stores. */
export function remedyForStatus(answer: SiteResponse, downloadUrl: string, key: string): string {
  const { status, body, redirects } = answer;
  const challenge = remedyForChallenge(answer, phpTrim(downloadUrl));
  if (challenge !== undefined) return challenge;
  const id = readDownloadAddress(phpTrim(downloadUrl))?.productId;
  const last = redirects.at(-1);
  const known = REMEDIES.get(body.toString('utf8').trim())?.replace(/\bID\b/g, String(id ?? 'ID'));
  if (last !== undefined && !carriesKey(last, key) && [400, 401, 403].includes(status))
    return `The address redirects to another one, and the redirect drops the key: write the final address into the <downloadurl> (--base-url).${known === undefined ? '' : ` ${known}`}`;
  if (known !== undefined) return known;
  // oxlint-disable-next-line no-control-regex -- what is not ASCII
  if (status === 400 && /[^\u0000-\u007f]/.test(key))
    return 'The typed key has a character that is not ASCII, usually an invisible blank from a mail or web page: the customer has to type it again. The nginx configuration of "licensing nginx" drops such characters.';
  if (status === 404)
    return id === undefined
      ? `That is not the address of a download, which ends in ${API_PATH}/downloads/ID. Write the update XML again: licensing update-xml write --product ID --base-url https://YOUR.SITE`
      : `The web server answers instead of the licence service: either --base-url of "licensing update-xml write --product ${id}" named another site, or nginx does not pass the address on. See: licensing doctor --url ${schemeAndHostOf(phpTrim(downloadUrl))}`;
  if (status === 401 || status === 403)
    return "Something in front of the licence service refuses the request: a firewall, a login or the site itself. The service's own refusals have other texts.";
  if (status >= 500)
    return "The service or a server in front of it fails: look into its log and nginx's error log.";
  return `Joomla accepts only 200, and this is ${status}: find out what sends it, such as a cache or a proxy in front of the service.`;
}

/** Returns the remedy for a package without an answer, by the NO_ANSWER's message. `key` is in the form that Joomla stores. */
export function remedyForNoAnswer(message: string, downloadUrl: string, key: string): string {
  if (message.startsWith('URL using'))
    return /\s/.test(phpTrim(downloadUrl)) || !/\s/.test(key)
      ? 'The <downloadurl> is not an address that Joomla can request: write the update XML again.'
      : 'The typed key contains a blank: the customer has to enter it again, without blanks before, in or after it.';
  if (message.startsWith('Maximum')) return 'The address redirects in a loop: correct the redirect.';
  if (message.startsWith('transfer closed'))
    return 'The connection broke while the package was sent: look into the logs of the service and of the servers in front of it.';
  if (message.startsWith('SSL'))
    return "This machine does not accept the certificate of the <downloadurl>'s host. Usually its intermediate certificates are missing, and then customers' sites also refuse it: nginx's ssl_certificate must name the file with the whole chain (fullchain.pem).";
  if (message.startsWith('Could not resolve host'))
    return "The name in the <downloadurl> has no address: correct it (--base-url), or the name's DNS records.";
  if (message.startsWith('Failed to connect') || message.startsWith('Operation timed out'))
    return "The <downloadurl>'s host does not answer: check that the web server runs, and that no firewall blocks connections to it or from here.";
  return "Check the name, the certificate and the firewall of the <downloadurl>'s host.";
}
