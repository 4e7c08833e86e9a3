import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import ipaddr from 'ipaddr.js';
import { MAX_IDENTIFIER_LENGTH } from './columns';
import { containsKey } from './keys';

export const ACTIVATION_TYPES = ['domain', 'device', 'seat', 'instance'] as const;
export type ActivationType = (typeof ACTIVATION_TYPES)[number];

export function isActivationType(word: string): word is ActivationType {
  return (ACTIVATION_TYPES as readonly string[]).includes(word);
}

/**
 * All spellings of the same site, seat or device give the same string. Most test vectors are in
 * test/contract/identifiers.md, the rest in docs/identifiers.md.
 * @returns undefined when the text is not valid for the type, or contains a licence key, which must not be stored
 */
export function normalizeIdentifier(type: string, text: string): string | undefined {
  const identifier = isActivationType(type) ? normalizers[type](text.trim()) : undefined;
  return identifier !== undefined &&
    identifier !== '' &&
    !containsKey(identifier) &&
    // Cheap check first: a string has at least as many UTF-16 units as code points.
    (identifier.length <= MAX_IDENTIFIER_LENGTH || Array.from(identifier).length <= MAX_IDENTIFIER_LENGTH)
    ? identifier
    : undefined;
}

/** A text as an identifier of each type; undefined where it is not valid for that type. */
export type Spellings = Record<ActivationType, string | undefined>;

/** For requests whose licence, and so its activation type, is not known yet. */
export function spellings(text: string): Spellings {
  const domain = normalizeIdentifier('domain', text);
  // The common case: a canonical host name is the same for every type.
  if (domain === text) return { domain, seat: domain, device: domain, instance: domain };
  const device = normalizeIdentifier('device', text);
  return { domain, seat: normalizeIdentifier('seat', text), device, instance: device };
}

/**
 * An identifier as people write it: `xn--mnchen-3ya.de` is `münchen.de`. A name whose labels mix the Latin letters with
 * others stays as it is, because such a name may look like another one.
 */
export function asWritten(identifier: string): string {
  if (!/(?:^|\.)xn--/.test(identifier)) return identifier;
  const written = domainToUnicode(identifier);
  const isPlain = written
    .split('.')
    .every((label) => /^[\p{Script=Latin}\p{Nd}_-]+$/u.test(label) || /^[^a-z]+$/i.test(label));
  return isPlain && domainToASCII(written) === identifier ? written : identifier;
}

/** As people write it, with the stored form behind where that is another: `münchen.de (xn--mnchen-3ya.de)`. */
export function inBothForms(identifier: string): string {
  const written = asWritten(identifier);
  return written === identifier ? identifier : `${written} (${identifier})`;
}

const normalizers: Record<ActivationType, (trimmed: string) => string | undefined> = {
  domain: normalizeDomain,
  seat: (text) => text.toLowerCase(),
  device: (text) => text,
  instance: (text) => text,
};

const HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** Nearly all sites: normalizeDomain leaves such a name unchanged. */
const PLAIN_HOST = /^(?!www\.|.*xn--)(?:[a-z0-9_-]+\.)+[a-z]+$/;

function normalizeDomain(text: string): string | undefined {
  if (PLAIN_HOST.test(text)) return text;
  const authority = text
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/^\/\//, '')
    .replace(/[/?#].*$/s, '');
  // Ambiguous, because browsers read a backslash as a slash: `http://example.com\@example.org` opens example.com.
  if (authority.includes('\\')) return undefined;
  const host = authority.replace(/^.*@/s, '');
  return ipv6Literal(host) ?? hostName(host.replace(/:[0-9]{1,5}$/, ''));
}

/** An IPv6 address as in RFC 5952, with or without brackets; a port needs brackets. One that holds an IPv4 address is that. */
function ipv6Literal(authority: string): string | undefined {
  const literal = /^\[(.*)\](?::[0-9]{1,5})?$/s.exec(authority)?.[1] ?? authority;
  // A zone (fe80::1%eth0) names an interface of one machine and cannot identify a site.
  if (!isIPv6(literal) || literal.includes('%')) return undefined;
  const address = ipaddr.IPv6.parse(literal);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}

/** What a host name may contain before its conversion to IDN: no ASCII characters except those in HOST. */
const WRITTEN_HOST = /^[a-z0-9._\-\u{80}-\u{10ffff}]+$/iu;

function hostName(text: string): string | undefined {
  // domainToASCII parses like a URL: it would decode %41 to "a", drop a tab and stop at a backslash.
  if (!WRITTEN_HOST.test(text)) return undefined;
  // It also reads "12345" as 0.0.48.57 and "127.1" as 127.0.0.1: only dotted quads count as addresses.
  const host = domainToASCII(text).replace(/\.$/, '');
  if (isIPv4(host)) return text.replace(/\.$/, '') === host ? host : undefined;
  if (!HOST.test(host)) return undefined;
  const bare = host.replace(/^www\./, '');
  return bare.includes('.') ? bare : host;
}
