import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { MAX_IDENTIFIER_LENGTH } from '../store/columns';
import { containsKey } from './keys';

/** What a plan's activations are counted by. */
export const ACTIVATION_TYPES = ['domain', 'device', 'seat', 'instance'] as const;
export type ActivationType = (typeof ACTIVATION_TYPES)[number];

export function isActivationType(word: string): word is ActivationType {
  return (ACTIVATION_TYPES as readonly string[]).includes(word);
}

/**
 * The one spelling of an identifier under a plan's activation type; two spellings of the same site, seat or device
 * give the same string. The vectors stand in docs/identifiers.md.
 *
 * @param type as stored with a plan
 * @returns undefined when the text is no identifier of that type, or has a licence key in it: identifiers are stored
 *   and shown as they are, keys never
 */
export function normalizeIdentifier(type: string, text: string): string | undefined {
  const identifier = isActivationType(type) ? normalizers[type](text.trim()) : undefined;
  return identifier !== undefined &&
    identifier !== '' &&
    !containsKey(identifier) &&
    // A string has at least as many units as code points.
    (identifier.length <= MAX_IDENTIFIER_LENGTH || Array.from(identifier).length <= MAX_IDENTIFIER_LENGTH)
    ? identifier
    : undefined;
}

/** A text as an identifier of each type; undefined where it is none of that type. */
export type Spellings = Record<ActivationType, string | undefined>;

/** For requests whose licence, and so the type it counts by, is not known yet. */
export function spellings(text: string): Spellings {
  const domain = normalizeIdentifier('domain', text);
  // A host's name that is written as it should be, as most are, is the same to every type.
  if (domain === text) return { domain, seat: domain, device: domain, instance: domain };
  const device = normalizeIdentifier('device', text);
  return { domain, seat: normalizeIdentifier('seat', text), device, instance: device };
}

const normalizers: Record<ActivationType, (trimmed: string) => string | undefined> = {
  domain: normalizeDomain,
  seat: (text) => text.toLowerCase(),
  device: (text) => text,
  instance: (text) => text,
};

/** Labels of letters, digits, hyphens and underscores. */
const HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** As nearly all sites are named: what normalizeDomain does leaves such a text as it is. */
const PLAIN_HOST = /^(?!www\.|.*xn--)(?:[a-z0-9_-]+\.)+[a-z]+$/;

function normalizeDomain(text: string): string | undefined {
  if (PLAIN_HOST.test(text)) return text;
  const authority = text
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/^\/\//, '')
    .replace(/[/?#].*$/s, '');
  // To a browser it ends the host as a slash does: of `http://example.com\@example.org` it opens the first, and of
  // what stands before an `@` nothing would be left here. Who is meant cannot be told, so nobody is.
  if (authority.includes('\\')) return undefined;
  const host = authority.replace(/^.*@/s, '');
  return ipv6Literal(host) ?? hostName(host.replace(/:[0-9]{1,5}$/, ''));
}

/** With or without brackets, with a port only behind brackets; in RFC 5952's spelling. */
function ipv6Literal(authority: string): string | undefined {
  const literal = /^\[(.*)\](?::[0-9]{1,5})?$/s.exec(authority)?.[1] ?? authority;
  // A zone (fe80::1%eth0) names an interface of one machine: no identity of a site.
  return isIPv6(literal) && !literal.includes('%') ? ipaddr.IPv6.parse(literal).toRFC5952String() : undefined;
}

/** What a host's name is written with before its IDN form is made: of ASCII only what HOST allows. */
const WRITTEN_HOST = /^[a-z0-9._\-\u{80}-\u{10ffff}]+$/iu;

function hostName(text: string): string | undefined {
  // domainToASCII reads as a URL parser does: it would decode %41 to "a", drop a tab and stop at a backslash.
  if (!WRITTEN_HOST.test(text)) return undefined;
  // It would also read "12345" as 0.0.48.57 and "127.1" as 127.0.0.1: an address counts only as a dotted quad.
  const host = domainToASCII(text).replace(/\.$/, '');
  if (isIPv4(host)) return text.replace(/\.$/, '') === host ? host : undefined;
  if (!HOST.test(host)) return undefined;
  const bare = host.replace(/^www\./, '');
  return bare.includes('.') ? bare : host;
}
