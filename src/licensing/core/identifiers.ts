import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import ipaddr from 'ipaddr.js';
import { parse } from 'tldts';
import { ACTIVATION_TYPES } from '../../store/words';
import { MAX_IDENTIFIER_LENGTH } from './columns';
import { containsKey } from './keys';

export { ACTIVATION_TYPES };
export type ActivationType = (typeof ACTIVATION_TYPES)[number];

export function isActivationType(word: string): word is ActivationType {
  return (ACTIVATION_TYPES as readonly string[]).includes(word);
}

/**
 * Normalises an identifier, so that all spellings of the same site, seat or device give the same string. Most test
 * vectors are in test/contract/identifiers.md, the rest in docs/identifiers.md.
 * @returns undefined if the text is not valid for the type, or contains a licence key, which must not be stored
 */
export function normalizeIdentifier(type: string, text: string): string | undefined {
  const identifier = isActivationType(type) ? normalizers[type](text.trim()) : undefined;
  return identifier !== undefined &&
    identifier !== '' &&
    !containsKey(identifier) &&
    // Compare the length in UTF-16 units first, which is cheap: a string has at least as many units as code points.
    (identifier.length <= MAX_IDENTIFIER_LENGTH || Array.from(identifier).length <= MAX_IDENTIFIER_LENGTH)
    ? identifier
    : undefined;
}

/** The forms of one identifier after normalisation for each activation type; undefined where it is not valid. */
export type NormalizedForms = Record<ActivationType, string | undefined>;

/** Normalises an identifier for every type, for requests whose licence, and so its activation type, is not known yet. */
export function normalizedForms(text: string): NormalizedForms {
  const domain = normalizeIdentifier('domain', text);
  // Skip the other types in the usual case: a canonical host name has the same form for all of them.
  if (domain === text) return { domain, seat: domain, device: domain, instance: domain };
  const device = normalizeIdentifier('device', text);
  return { domain, seat: normalizeIdentifier('seat', text), device, instance: device };
}

/**
 * Writes an identifier for people. A site is followed by a different stored form: `münchen.de (xn--mnchen-3ya.de)`. No text
 * shows its first form alone, because all its letters may look like others (`аррӏе.com`).
 * @param identifier in its stored form, or as a client sent it
 * @param type the plan's activation type. If it is undefined, a URL or a name with a public suffix is a site, unlike `jörg.müller`
 */
export function inBothForms(identifier: string, type: string | undefined): string {
  if (!(type === undefined ? isSurelySite(identifier) : type === 'domain')) return identifier;
  const isSent = /^[^\s@]+\.[^\s@]+$/.test(identifier) && /[^ -~]/.test(identifier);
  const stored = (isSent ? normalizeIdentifier('domain', identifier) : undefined) ?? identifier;
  const written = isSent ? identifier : toDisplayForm(identifier);
  return written === stored ? identifier : `${written} (${stored})`;
}

function isSurelySite(identifier: string): boolean {
  if (/^https?:\/\//i.test(identifier)) return true;
  const { isIcann, isPrivate } = parse(identifier, { allowPrivateDomains: true, validateHostname: false });
  return isIcann === true || isPrivate === true;
}

/** Returns a name unchanged if it mixes Latin letters with others in a label, because it may look like another name. */
function toDisplayForm(identifier: string): string {
  if (!/(?:^|\.)xn--/.test(identifier)) return identifier;
  const written = domainToUnicode(identifier);
  const isPlain = written
    .split('.')
    .every((label) => /^[\p{Script=Latin}\p{Nd}_-]+$/u.test(label) || /^[^a-z]+$/i.test(label));
  return isPlain && domainToASCII(written) === identifier ? written : identifier;
}

const normalizers: Record<ActivationType, (trimmed: string) => string | undefined> = {
  domain: normalizeDomain,
  seat: (text) => text.toLowerCase(),
  device: (text) => text,
  instance: (text) => text,
};

const HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** The form of nearly all domains, which `normalizeDomain` leaves unchanged. */
const PLAIN_HOST = /^(?!www\.|.*xn--)(?:[a-z0-9_-]+\.)+[a-z]+$/;

function normalizeDomain(text: string): string | undefined {
  if (PLAIN_HOST.test(text)) return text;
  const authority = text
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/^\/\//, '')
    .replace(/[/?#].*$/s, '');
  // Refuse a backslash because browsers read it as a slash: `http://example.com\@example.org` opens example.com.
  if (authority.includes('\\')) return undefined;
  const host = authority.replace(/^.*@/s, '');
  return ipv6Literal(host) ?? hostName(host.replace(/:[0-9]{1,5}$/, ''));
}

/** Returns an IPv6 address as RFC 5952 writes it, or the IPv4 address in it. A port needs brackets around the address. */
function ipv6Literal(authority: string): string | undefined {
  const literal = /^\[(.*)\](?::[0-9]{1,5})?$/s.exec(authority)?.[1] ?? authority;
  // Refuse a zone (fe80::1%eth0): it names an interface of one machine and cannot identify a site.
  if (!isIPv6(literal) || literal.includes('%')) return undefined;
  const address = ipaddr.IPv6.parse(literal);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}

/** A host name before its conversion to IDN. Its ASCII characters are those of HOST, in either case. */
const WRITTEN_HOST = /^[a-z0-9._\-\u{80}-\u{10ffff}]+$/iu;

function hostName(text: string): string | undefined {
  // Check first, because domainToASCII parses like a URL: it would decode %41 to "a", drop a tab and stop at a backslash.
  if (!WRITTEN_HOST.test(text)) return undefined;
  // Accept only dotted quads as addresses: domainToASCII reads "12345" as 0.0.48.57 and "127.1" as 127.0.0.1.
  const host = domainToASCII(text).replace(/\.$/, '');
  if (isIPv4(host)) return text.replace(/\.$/, '') === host ? host : undefined;
  if (!HOST.test(host)) return undefined;
  const bare = host.replace(/^www\./, '');
  return bare.includes('.') ? bare : host;
}
