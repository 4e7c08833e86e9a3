import { API_PATH } from '../../licensing/api';
import { XML_PATH } from '../update-xml/location';
import { KEY_PARAMETERS, MIN_FORMER_KEY_LENGTH } from './addresses';
import { eddReplacements } from './edd';
import type { FormerAnswer } from './plan';

/** The legacy URLs as nginx configuration: the parts for the end of upstream.conf and of licensing.conf. */

export interface NginxParts {
  http: string;
  server: string;
  /** the variable with the name of requests in licensing.log whose path has no known form */
  defaultPath: string;
}

interface NginxOptions {
  /** nginx's internal location of packages */
  accelLocation: string;
  /** the site's address with its sub-folder, such as `https://shop.example` */
  siteUrl: string;
  /** quotes a path; throws if nginx cannot read it */
  quotable: (path: string) => string;
}

const LOGS = `    access_log /var/log/nginx/licensing.log licensing;
    error_log /dev/null emerg;
`;

export function nginxParts(
  answers: readonly FormerAnswer[],
  { accelLocation, siteUrl, quotable }: NginxOptions,
): NginxParts {
  const numbered = answers.map((answer, i) => ({ ...answer, n: i + 1, to: locationOf(answer, quotable) }));
  const each = (line: (one: (typeof numbered)[number]) => string) =>
    numbered.map((one) => `    ${line(one)}\n`).join('');
  const http = `
# Addresses of the former system, which customers' sites still request (docs/moving-in-addresses.md). Which one a request
# is for:
map "$request_method $uri?$args" $licensing_formerly {
    default "";
${each(({ pattern, n }) => `"~*${pattern}" ${n};`)}}
# The location that answers it.
map $licensing_formerly $licensing_formerly_to {
    default "";
${each(({ n, to }) => `${n} ${to};`)}}
# Its name in licensing.log.
map $licensing_formerly $licensing_formerly_path {
    default "(another path)";
${each(({ n, name }) => `${n} "(formerly ${name})";`)}}
map $args $licensing_formerly_key {
    default "";
    "~*(?:^|[&;])${KEY_PARAMETERS}=([^&]{${MIN_FORMER_KEY_LENGTH},})" $1;
}
# For a former address, the service receives only the key.
map "$licensing_formerly_to $licensing_formerly_key" $licensing_formerly_args {
    default "";
    "~/downloads/[0-9]+ (.+)$" dlid=$1;
}
map $args $licensing_formerly_license {
    default "";
    "~*(?:^|[&;])license=([A-Za-z0-9._%+~:-]+)" $1;
}
`;
  const files = new Map(
    numbered.flatMap(({ xml, to }) => (xml !== undefined && 'path' in xml ? [[to, xml.path]] : [])),
  );
  const edd = [...new Set(answers.filter(({ asked }) => asked === 'edd').map(({ productId }) => productId))];
  const server = `
# Addresses of the former system; see the end of upstream.conf.
set $licensing_formerly_now $licensing_formerly_to;
# An answer of the service with a package passes through here again.
if ($uri ~ "^${accelLocation.replaceAll('.', '\\.')}") {
    set $licensing_formerly_now "";
}
if ($licensing_formerly_now) {${edd.length === 0 ? '' : '\n    # Read before the arguments change.\n    set $licensing_formerly_sent $licensing_formerly_license;'}
    set $args $licensing_formerly_args;
    rewrite ^ $licensing_formerly_now last;
}
${[...files].map(([to, path]) => xmlLocation(to, quotable(path))).join('')}${edd.map((id) => eddLocation(id, siteUrl)).join('')}`;
  return { http, server, defaultPath: '$licensing_formerly_path' };
}

function locationOf({ asked, productId, xml }: FormerAnswer, quotable: (path: string) => string): string {
  if (asked === 'download') return `${API_PATH}/downloads/${productId}`;
  if (asked === 'edd') return `/_licensing_formerly/edd/${productId}`;
  return xml !== undefined && 'name' in xml
    ? XML_PATH + quotable(xml.name)
    : `/_licensing_formerly/xml/${productId}`;
}

function xmlLocation(to: string, path: string): string {
  return `location = ${to} {
    internal;
    alias ${path};
    types { }
    default_type "application/xml; charset=utf-8";
    add_header Cache-Control "public, max-age=300";
    add_header X-Content-Type-Options nosniff;
${LOGS}}
`;
}

/** Returns the location that converts the service's update response to Easy Digital Downloads' form. */
function eddLocation(productId: number, siteUrl: string): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\')}'`;
  const replaces = eddReplacements(
    `${siteUrl}${API_PATH}/downloads/${productId}?license_key=$licensing_formerly_sent`,
  );
  return `location = /_licensing_formerly/edd/${productId} {
    internal;
    proxy_pass http://licensing${API_PATH}/updates/${productId};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Request-Id $request_id;
    proxy_set_header Cookie "";
    proxy_set_header Authorization "";
    # Only plain text can be replaced.
    proxy_set_header Accept-Encoding "";
    proxy_connect_timeout 2s;
    proxy_read_timeout 15s;
    proxy_intercept_errors off;
    gzip off;
    error_page 500 502 503 504 = @licensing_unavailable;
    sub_filter_types application/json;
${replaces.map(([from, to]) => `    sub_filter ${quoted(from)} ${quoted(to)};\n`).join('')}${LOGS}}
`;
}
