import {
  ok,
  problem,
  unchecked,
  warning,
  type Check,
  type CommandCheck,
  type CommandFinding,
  type CheckContext,
} from './finding';
import { challengeOf, header, httpGet, type HttpResponse } from './http-get';
import { at, isService } from './site';

/** Checks that the pages can be reached at the host where they should be, and nowhere else. */

const SIGN_IN = '/pages/sign-in';
const RENEW =
  'licensing nginx --server-name YOUR.SITE prints the lines for its configuration (Apache: docs/apache.md).';

type Site = CheckContext & { url: URL };

export const checkPages: CommandCheck = async (patient) => {
  const { config, url } = patient;
  const findings: CommandFinding[] = await checkPublicUrl(patient);
  if (url === undefined) return findings;
  const site = { ...patient, url };
  const { pagesHost } = config;
  const pages = new URL(url);
  pages.hostname = pagesHost ?? url.hostname;
  try {
    findings.push(await checkSignIn(site, pages));
    if (pagesHost !== undefined) findings.push(...(await checkOtherHost(site, pagesHost)));
  } catch (error) {
    // The pages are for browsers, which pass the check of a CDN.
    if (challengeOf(error) === undefined) throw error;
    findings.push(
      unchecked(
        'PAGES',
        `The pages at ${pages.href} could not be checked: a CDN or firewall stops programs.`,
      ),
    );
  }
  return findings;
};

export const checkPublicUrl: Check = ({ config: { publicUrl } }) => {
  if (publicUrl !== undefined) return Promise.resolve([]);
  const finding = warning('PUBLIC_URL', (t) => t.publicUrlUnset);
  return Promise.resolve([finding]);
};

async function checkSignIn(site: Site, pages: URL): Promise<CommandFinding> {
  const address = at(pages, SIGN_IN);
  const answer = await ask(site, address);
  const { status, body } = answer;
  const folder = pages.pathname.replace(/\/$/, '');
  if (isService(answer))
    return warning('PAGES', `The service has no page at ${address.href}.`, {
      why: 'It runs an earlier version, or the web server does not pass the host name to it.',
      remedy: `Restart the service. If that changes nothing: ${RENEW}`,
    });
  if (status !== 200 || !header(answer, 'content-type').startsWith('text/html'))
    return problem('PAGES', `${address.href} answers ${status}, which is not the sign-in page.`, {
      why: 'No operator can open the pages.',
      remedy: `The web server does not pass this address to the service. ${RENEW}`,
    });
  if (folder !== '' && /["']\/api\/index\.php\/v1\/licensing\/pages/.test(body))
    return problem('PAGES', `The pages at ${pages.href} link to addresses without the folder ${folder}.`, {
      why: 'The web server does not pass the folder of the site to the service (X-Forwarded-Prefix).',
      remedy: RENEW,
    });
  return ok('PAGES', `The pages answer at ${address.href}.`);
}

/** Checks that the pages do not answer on the site's host, where the site's own scripts could call them. */
async function checkOtherHost(site: Site, pagesHost: string): Promise<CommandFinding[]> {
  const address = at(site.url, SIGN_IN);
  const { status } = await ask(site, address);
  return status === 404
    ? [ok('PAGES_HOST', `The operator's pages do not answer at ${site.url.host}.`)]
    : [
        problem(
          'PAGES_HOST',
          `${address.href} answers ${status}, although the pages belong to ${pagesHost}.`,
          {
            why: "Scripts of the site have the same origin, and can use an operator's session.",
            remedy: `Restart the service, which reads LICENSING_PAGES_HOST at its start. ${RENEW}`,
          },
        ),
      ];
}

function ask({ ca }: Site, url: URL): Promise<HttpResponse> {
  return httpGet(url, { ca });
}
