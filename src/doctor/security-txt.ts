import { DAY_MS, formatTimestamp } from '../base/days';
import { isHttpsUrl } from '../licensing/fields';
import { ok, unchecked, warning, type CheckContext, type CommandCheck, type CommandFinding } from './finding';
import { challengeOf, header, httpGet, type HttpResponse } from './http-get';

/** The file with the contact for reports of security holes (RFC 9116), and the check of the public one. */

export const SECURITY_TXT_PATH = '/.well-known/security.txt';
/** RFC 9116, 2.5.5: the recommended maximum is a year. */
export const SECURITY_TXT_DAYS = 365;

interface SecurityContact {
  /** a `mailto:` or `https:` address */
  contact: string;
  /** the address of the rules for reports */
  policy?: string | undefined;
}

/** Reports whether a text may be a contact: an e-mail address with `mailto:`, or an https address. */
export function isSecurityContact(text: string): boolean {
  return /^mailto:[^\s@<>"]+@[^\s@<>"]+$/i.test(text) || isHttpsUrl(text);
}

/** Returns the file's text, whose times are in UTC. */
export function makeSecurityTxt({ contact, policy }: SecurityContact, expires: Date): string {
  const fields = [
    ['Contact', contact],
    ['Expires', formatTimestamp(expires)],
    ...(policy === undefined ? [] : [['Policy', policy]]),
  ];
  return fields.map(([name = '', value = '']) => `${name}: ${value}\n`).join('');
}

export function securityTxtEnd(now: Date, days = SECURITY_TXT_DAYS): Date {
  return new Date(now.getTime() + days * DAY_MS);
}

/** Reads the end of a published file; undefined if the text is not one: it lacks a contact, or its only end. */
function readSecurityTxt(text: string): Date | undefined {
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}:[ \\t]*(\\S+)[ \\t]*\\r?$`, 'gim'))].map(
      ([, value = '']) => value,
    );
  const [expires = '', ...others] = values('Expires');
  const end = new Date(expires);
  const isDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(expires);
  return isDate && !Number.isNaN(end.getTime()) && others.length === 0 && values('Contact').length > 0
    ? end
    : undefined;
}

const SOON_DAYS = 30;
const MAX_REDIRECTS = 3;

export const checkSecurityTxt: CommandCheck = async (patient) => {
  const { url, now } = patient;
  if (url === undefined) return [];
  const address = new URL(url.pathname.replace(/\/$/, '') + SECURITY_TXT_PATH, url.origin);
  const answer = await follow(patient, address).catch((error: unknown) => {
    // A browser passes the check of a CDN.
    if (challengeOf(error) === undefined) throw error;
  });
  if (answer === undefined)
    return [
      unchecked('SECURITY_TXT', `${address.href} could not be read: a CDN or firewall stops programs.`),
    ];
  const { status, body } = answer;
  if (status !== 200) return [late(`${address.href} answers ${status}: the site has no security.txt.`)];
  const end = readSecurityTxt(body);
  if (end === undefined)
    return [late(`${address.href} is not a security.txt: it needs a line Contact and one line Expires.`)];
  const what = `${address.href} ${end <= now() ? 'expired' : 'expires'} on ${formatTimestamp(end)}`;
  const isLate = end.getTime() < now().getTime() + SOON_DAYS * DAY_MS;
  return [isLate ? late(`${what}.`) : ok('SECURITY_TXT', `${what}, and names a contact.`)];
};

/** Sends a GET, and follows redirects, such as to the host with www. */
async function follow(
  { ca }: Pick<CheckContext, 'ca'>,
  url: URL,
  left = MAX_REDIRECTS,
): Promise<HttpResponse> {
  const answer = await httpGet(url, { ca });
  const location = header(answer, 'location');
  if (answer.status < 300 || answer.status > 399 || left === 0 || !URL.canParse(location, url.href))
    return answer;
  return follow({ ca }, new URL(location, url), left - 1);
}

function late(what: string): CommandFinding {
  return warning('SECURITY_TXT', what, {
    why: 'The finder of a security hole in your extension does not know where to report it. Manufacturers need a contact (Regulation (EU) 2024/2847, Article 13(17)).',
    remedy: `Print it: licensing security-txt --contact mailto:YOUR-ADDRESS. Publish it at ${SECURITY_TXT_PATH} of the site.`,
  });
}
