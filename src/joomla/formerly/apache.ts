import { API_PATH } from '../../licensing/api';
import { KEY_PARAMETERS, MIN_FORMER_KEY_LENGTH } from './addresses';
import { eddReplacements } from './edd';
import type { FormerAnswer } from './plan';

/** The legacy URLs as Apache configuration, in a file that is included after licensing.conf. */

interface ApacheOptions {
  /** the site's address with its sub-folder, such as `https://shop.example` */
  siteUrl: string;
  /** the folder of the files that this configuration reads */
  folder: string;
  /** quotes a path; throws if Apache cannot read it */
  quotable: (path: string) => string;
}

/** @returns the files by name; the first one must be included */
export function apacheFiles(
  answers: readonly FormerAnswer[],
  { siteUrl, folder, quotable }: ApacheOptions,
): Map<string, string> {
  const edd = [...new Set(answers.filter(({ asked }) => asked === 'edd').map(({ productId }) => productId))];
  const files = new Map<string, string>();
  files.set(
    APACHE_FILE,
    `# Addresses of the former system, which customers' sites still request (docs/moving-in-addresses.md).
# Include this file in the site's <VirtualHost>, after licensing.conf and before the site's own Rewrite lines.${
      edd.length === 0 ? '' : '\n# It needs: a2enmod include substitute'
    }

RewriteEngine On
${answers.map((one) => rules(one, { folder, quotable })).join('')}
# A request for a former address reaches the service like any other request (licensing.conf).
<If "-n reqenv('licensing_formerly')">
    RequestHeader unset X-Forwarded-For
    RequestHeader unset X-Request-Id
    RequestHeader unset Authorization
    RequestHeader unset Cookie
    MaxRanges none
    <IfModule mod_expires.c>
        ExpiresActive Off
    </IfModule>
    ProxyErrorOverride Off
    ErrorDocument 502 "\${LICENSING_MESSAGE}"
    ErrorDocument 503 "\${LICENSING_MESSAGE}"
    ErrorDocument 504 "\${LICENSING_MESSAGE}"
    Header always set Content-Type "text/plain; charset=utf-8" "\${LICENSING_DOWN}"
    Header always set Cache-Control no-store "\${LICENSING_DOWN}"
    Header always set X-Content-Type-Options nosniff "\${LICENSING_DOWN}"
    Header always set Retry-After 5 "\${LICENSING_DOWN}"
    LogLevel emerg
</If>
CustomLog \${APACHE_LOG_DIR}/licensing.log licensing "expr=-n reqenv('licensing_formerly')"
${edd.length === 0 ? '' : eddFilters(folder, siteUrl)}`,
  );
  for (const id of edd) files.set(eddFile(id), eddDocument(id, siteUrl));
  return files;
}

export const APACHE_FILE = 'licensing-formerly.conf';

const eddFile = (productId: number) => `licensing-formerly-edd-${productId}.json`;

function rules(
  { name, asked, productId, pattern, xml }: FormerAnswer,
  { folder, quotable }: Pick<ApacheOptions, 'folder' | 'quotable'>,
): string {
  const is = `RewriteCond "%{REQUEST_METHOD} %{REQUEST_URI}?%{QUERY_STRING}" "${pattern}" [NC]\n`;
  const says = `E=licensing_formerly:1,E=no-gzip:1,E=no-brotli:1,E=licensing_path:(formerly ${name})`;
  if (asked === 'download')
    return `${is}RewriteCond "%{QUERY_STRING}" "^(?:(?:.*?[&;])?${KEY_PARAMETERS}=[\\x80-\\xff]*([^&\\x80-\\xff]{${MIN_FORMER_KEY_LENGTH},}))?" [NC]
RewriteRule "^" "balancer://licensing${API_PATH}/downloads/${productId}?dlid=%1" "[P,${says}]"
`;
  if (asked === 'edd')
    return `${is}RewriteCond "%{QUERY_STRING}" "^(?:(?:.*?[&;])?license=([A-Za-z0-9._%+~:-]+))?" [NC]
RewriteRule "^" "${quotable(folder)}/${eddFile(productId)}" "[L,E=licensing_formerly_license:%1,${says}]"
`;
  const to =
    xml !== undefined && 'name' in xml
      ? `\${LICENSING_UPDATES}/${quotable(xml.name)}`
      : quotable(xml?.path ?? '');
  return `${is}RewriteRule "^" "${to}?" "[${xml !== undefined && 'name' in xml ? 'PT' : 'L,T=application/xml'},${says}]"
`;
}

/** Returns a server-side include: Apache can replace texts in a response, but not write the key of the request into it. */
function eddDocument(productId: number, siteUrl: string): string {
  const key = '<!--#echo encoding="none" var="licensing_formerly_license" -->';
  const [first] = eddReplacements(`${siteUrl}${API_PATH}/downloads/${productId}?license_key=${key}`);
  const [, opens = ''] = first ?? [];
  return `${opens.replace(/"name":$/, '')}<!--#include virtual="${new URL(siteUrl).pathname.replace(/\/$/, '')}${API_PATH}/updates/${productId}" -->`;
}

function eddFilters(folder: string, siteUrl: string): string {
  const [first, ...others] = eddReplacements(siteUrl);
  const quoted = (text: string) => text.replaceAll('"', '\\"');
  const replaced: [string, string][] = [[first?.[0] ?? '', '"name":'], ...others];
  return `
<Directory "${folder}">
    <Files "licensing-formerly-edd-*.json">
        Require all granted
        Options +Includes
        ForceType "application/json; charset=utf-8"
        SetOutputFilter INCLUDES;SUBSTITUTE
${replaced.map(([from, to]) => `        Substitute "s|${quoted(from)}|${quoted(to)}|n"\n`).join('')}    </Files>
</Directory>
`;
}
