import { lookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { CodedError, isCoded } from '../base/errors';
import { canonicalAddress, createNetworkMatcher } from '../licensing/ip-addresses';
import { OperatorError } from '../licensing/operator-error';
import { MAX_URL_LENGTH } from '../licensing/core/columns';

/**
 * SSRF protection: webhooks may reach public addresses, and the networks of LICENSING_WEBHOOK_NETWORKS. A user who may
 * add a receiver must not reach this machine's neighbours. A name is judged by its addresses, at each connection.
 */

export interface AddressRules {
  /** @param protocol the protocol of the receiver's URL; `http:` may only reach this machine */
  allows: (address: string, protocol: string) => boolean;
  /** Resolves a host in the form of a URL. @throws ADDRESS_REFUSED, or the resolver's error */
  resolve: (hostname: string, protocol: string) => Promise<LookupAddress[]>;
  /** Returns the look-up for `https.request`, which calls it for names but not for literal addresses. */
  lookup: (protocol: string) => LookupFunction;
}

/** Azure's metadata service, whose address is public. Others are link-local, private, or in the carriers' range. */
const METADATA = new Set(['168.63.129.16']);
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** @param networks such as `10.0.0.0/8`, already checked by `isNetwork` */
export function createAddressRules(networks: readonly string[]): AddressRules {
  const isNamed = createNetworkMatcher(networks);
  /** The running look-up of each name. There is only one, because a hung one holds a thread that file operations also need. */
  const underWay = new Map<string, Promise<LookupAddress[]>>();

  function allows(text: string, protocol: string): boolean {
    const address = canonicalAddress(text);
    if (address === undefined) return false;
    if (protocol !== 'https:') return isLoopback(address) && isNamed(address);
    return isNamed(address) || isPublic(address);
  }

  function lookUp(hostname: string): Promise<LookupAddress[]> {
    const running = underWay.get(hostname);
    if (running !== undefined) return running;
    const started = new Promise<LookupAddress[]>((resolve, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
    }).finally(() => underWay.delete(hostname));
    underWay.set(hostname, started);
    return started;
  }

  async function resolve(hostname: string, protocol: string): Promise<LookupAddress[]> {
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(literal);
    const addresses = family === 0 ? await lookUp(hostname) : [{ address: literal, family }];
    // Refuse if any address is forbidden, because this code does not choose the one to connect to.
    const refused = addresses.find(({ address }) => !allows(address, protocol));
    if (refused !== undefined) throw new CodedError('ADDRESS_REFUSED', 'ADDRESS_REFUSED', refused.address);
    return addresses;
  }

  return {
    allows,
    resolve,
    lookup: (protocol) => (hostname, options, callback) => {
      resolve(hostname, protocol).then(
        (addresses) => {
          const [first] = addresses;
          if (options.all) callback(null, addresses);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
      );
    },
  };
}

function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast' || METADATA.has(address)) return false;
  // The rest of IPv6 is not assigned; `::7f00:1` is an old spelling of 127.0.0.1.
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(GLOBAL_UNICAST);
}

function isLoopback(address: string): boolean {
  return ipaddr.parse(address).range() === 'loopback';
}

/** The time after which a request no longer waits for the resolver. */
const RESOLVE_LIMIT_MS = 5_000;

/** Returns a receiver's URL in its usual spelling. @throws OperatorError (field `url`) if webhooks may not go there */
export async function requireWebhookUrl(text: string, rules: AddressRules): Promise<string> {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url === undefined || !['https:', 'http:'].includes(url.protocol))
    throw refusal('It must be an address such as https://shop.example/webhooks.');
  if (url.username !== '' || url.password !== '')
    throw refusal('It must not contain a user name or password. The receiver checks the signature instead.');
  if (url.hash !== '') throw refusal('It must not contain a "#": the part after it is never sent.');
  if (url.href.length > MAX_URL_LENGTH) throw refusal(`It must have at most ${MAX_URL_LENGTH} characters.`);
  const { hostname, protocol } = url;
  try {
    await inTime(rules.resolve(hostname, protocol));
  } catch (error) {
    if (!isCoded(error, 'ADDRESS_REFUSED'))
      throw refusal(`The host ${hostname} cannot be resolved. Check its spelling, and this machine's DNS.`);
    throw refusal(
      protocol === 'http:'
        ? 'Without TLS (http:) only this machine itself can be reached, and only when LICENSING_WEBHOOK_NETWORKS names its ' +
            'loopback address, such as 127.0.0.1. Use https:.'
        : `The host ${hostname} has the address ${String(error.facts)}, which is not public. To allow it, name its network in ` +
            'LICENSING_WEBHOOK_NETWORKS, and restart the service.',
    );
  }
  return url.href;
}

function refusal(message: string): OperatorError {
  return new OperatorError(message, {
    code: 'INVALID_REQUEST',
    field: 'url',
    facts: { reason: 'webhook-address' },
  });
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The resolver does not answer.')), RESOLVE_LIMIT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
