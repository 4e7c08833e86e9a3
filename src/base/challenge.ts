/**
 * The headers of responses that a CDN or firewall sends instead of a site, because a program sent the request: a check
 * that only a browser passes, or a refusal. Unlike a header such as `server`, its other responses do not have them.
 */
const MARKS = [
  // developers.cloudflare.com, "Detect a Challenge Page response"
  { by: 'Cloudflare', header: 'cf-mitigated', value: /^challenge$/ },
  // docs.aws.amazon.com, "CAPTCHA and Challenge action behavior": the status is 202 or 405
  { by: 'AWS WAF', header: 'x-amzn-waf-action', value: /^(?:challenge|captcha)$/ },
  { by: 'Sucuri', header: 'x-sucuri-block', value: /./ },
];

/**
 * Returns the name of the CDN or firewall that sent a response instead of the site; undefined if the site sent it.
 * @param header returns a header's value by its name in lower case
 */
export function challengerOf(header: (name: string) => string | string[] | undefined): string | undefined {
  return MARKS.find(({ header: name, value }) => value.test(String(header(name) ?? '')))?.by;
}
