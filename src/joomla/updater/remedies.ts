import { API_PATH, API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../../licensing/api';
import { doctor as english } from '../../texts/operators/en/doctor';
import { readDownloadAddress, siteOf } from '../addresses';
import { readChallenge } from '../challenge';
import { carriesKey } from './download-key';
import type { Answer } from './fetch';
import { phpTrim } from './xml-updates';

export const REMEDY_FOR_TOO_LARGE =
  'Joomla holds the whole package in memory, and no site has as much. If the package is smaller, find what answers in its place.';

/** Returns the remedy if a CDN or firewall answered in place of the site; undefined if the site did. */
export function remedyForChallenge(
  { status, headers, redirects }: Answer,
  address: string,
): string | undefined {
  const url = new URL(redirects.at(-1) ?? address);
  const challenge = readChallenge(url, status, (name) => headers.get(name));
  return challenge && english.challenged(challenge).remedy;
}

/** Returns the remedy for an update XML that answers with a status other than 200. */
export function remedyForXml(answer: Answer, url: string): string {
  const challenge = remedyForChallenge(answer, url);
  if (challenge !== undefined) return challenge;
  const { status } = answer;
  const { pathname } = new URL(url);
  if (pathname.startsWith(`${API_PATH}/`))
    return `The licence service does not serve the update XML: put it beside the site's other files, and its address into the manifest's <updateservers>.`;
  if (status === 404)
    return `No file is there. Write it where the web server finds ${pathname}, mostly that path in the site's folder: licensing update-xml write --product ID --out /var/www/YOUR.SITE${pathname}. If it lies elsewhere, the manifest's <updateservers> has to name that address.`;
  if (status === 401 || status === 403)
    return 'Let everybody read the update XML without a login: chmod 644 on the file, and no password or firewall before its address.';
  return "The update XML must be answered with 200: look into the web server's error log.";
}

/** Remedies for this service's plain-text answers (docs/contract.md, 8.2). ID is replaced by the product's id. */
const REMEDIES = new Map(
  Object.entries({
    [KEY_REQUIRED]:
      'The key did not arrive: look for a "#" in the <downloadurl>, or a redirect; both drop it.',
    [API_TEXTS.LICENSE_NOT_FOUND]:
      'No licence has this key. Compare it with the one issued: "licensing license show -", or "licensing why" with its end.',
    [API_TEXTS.LICENSE_INACTIVE]:
      'The licence is suspended, revoked or cancelled: "licensing license history KEY" says since when and why.',
    [API_TEXTS.LICENSE_EXPIRED]:
      'The licence has expired: "licensing license renew KEY --for 1y" extends it.',
    [API_TEXTS.ACTIVATION_NOT_FOUND]:
      'The <downloadurl> names a site by "identifier", where the key is not activated. Take that out of it: whom a download is for, its key says.',
    [API_TEXTS.PRODUCT_MISMATCH]:
      "The key is for another product than the one in the <downloadurl>: give the customer this product's, or correct the product's id in the XML.",
    [API_TEXTS.DOWNLOAD_NOT_FOUND]:
      'The version in the <downloadurl> is not published, or it was withdrawn. See: licensing release list --product ID. Then: licensing update-xml write --product ID',
    [API_TEXTS.FILE_NOT_FOUND]:
      'The package is not in the folder of packages, or the service or nginx may not read it there. Run "licensing doctor" on the server, as the user the service runs as: it names the file, and the command that mends it.',
    [API_TEXTS.RATE_LIMITED]:
      'The rate limit refused it: wait a minute, and see LICENSING_DOWNLOAD_RATE_LIMIT.',
    [PRODUCT_ID_REQUIRED]:
      'The <downloadurl> is not the download address. Write the update XML again: licensing update-xml write',
  }),
);

/** Returns the remedy for a package that answers with a status other than 200. `key` is in the form that Joomla stores. */
export function remedyForStatus(answer: Answer, downloadUrl: string, key: string): string {
  const { status, body, redirects } = answer;
  const challenge = remedyForChallenge(answer, phpTrim(downloadUrl));
  if (challenge !== undefined) return challenge;
  const id = readDownloadAddress(phpTrim(downloadUrl))?.productId;
  const last = redirects.at(-1);
  const known = REMEDIES.get(body.toString('utf8').trim())?.replace(/\bID\b/g, String(id ?? 'ID'));
  if (last !== undefined && !carriesKey(last, key) && [400, 401, 403].includes(status))
    return `The address sends on to another, and the key is not carried over: write the last one into the <downloadurl> (--base-url).${known === undefined ? '' : ` ${known}`}`;
  if (known !== undefined) return known;
  // oxlint-disable-next-line no-control-regex -- what is not ASCII
  if (status === 400 && /[^\u0000-\u007f]/.test(key))
    return 'The typed key has a character that is not ASCII, mostly an invisible blank from a mail or web page: the customer types it again. The nginx configuration of "licensing nginx" drops such characters.';
  if (status === 404)
    return id === undefined
      ? `That is not the address of a download, which ends in ${API_PATH}/downloads/ID. Write the update XML again: licensing update-xml write --product ID --base-url https://YOUR.SITE`
      : `The web server answers, and not the licence service: either --base-url of "licensing update-xml write --product ${id}" named another site, or nginx does not pass the address on. See: licensing doctor --url ${siteOf(phpTrim(downloadUrl))}`;
  if (status === 401 || status === 403)
    return 'Something before the licence service refuses: a firewall, a login, the site itself. The service answers in one of its own texts.';
  if (status >= 500)
    return "The service or what is before it fails: look into its log, and nginx's error log.";
  return `Joomla takes 200 alone, and this is ${status}: find what answers so, a cache or a proxy before the service.`;
}

/** Returns the remedy for a package without an answer, by the NO_ANSWER's message. `key` is in the form that Joomla stores. */
export function remedyForNoAnswer(message: string, downloadUrl: string, key: string): string {
  if (message.startsWith('URL using'))
    return /\s/.test(phpTrim(downloadUrl)) || !/\s/.test(key)
      ? 'The <downloadurl> is no address Joomla can ask: write the update XML again.'
      : 'There is a blank in the typed key: the customer enters it again, without blanks before, in or after it.';
  if (message.startsWith('Maximum')) return 'The address sends on in a circle: correct the redirect.';
  if (message.startsWith('transfer closed'))
    return 'The connection broke while the package was sent: look into the logs of the service and of what is before it.';
  if (message.startsWith('SSL'))
    return "This machine does not accept the certificate of the <downloadurl>'s host. Mostly its intermediate certificates are missing, and then customers' sites refuse it too: nginx's ssl_certificate must name the file with the whole chain (fullchain.pem).";
  if (message.startsWith('Could not resolve host'))
    return "The name in the <downloadurl> has no address: correct it (--base-url), or the name's DNS records.";
  if (message.startsWith('Failed to connect') || message.startsWith('Operation timed out'))
    return "Nobody answers at the <downloadurl>'s host: see that the web server runs, and that no firewall stops connections to it, or from here.";
  return "Check the name, the certificate and the firewall of the <downloadurl>'s host.";
}
