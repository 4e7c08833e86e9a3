import { PLUGIN_KINDS, type PluginKind } from '../store/orders/shops';

export { PLUGIN_KINDS, type PluginKind };

/** How a shop tells of its orders, and who hands out the keys. */

/** They post orders with a token: a shop's own program, or one of the Joomla plugins, which name themselves. */
const POSTING_KINDS = ['api', ...PLUGIN_KINDS] as const;

export type PostingKind = (typeof POSTING_KINDS)[number];

/** `api` and the plugins post orders with a token. The others are receivers of signed messages. */
export const SHOP_KINDS = [
  'api',
  'stripe',
  'paddle',
  'digistore24',
  'lemonsqueezy',
  'fastspring',
  'woocommerce',
  'standard',
  ...PLUGIN_KINDS,
] as const;
export type ShopKind = (typeof SHOP_KINDS)[number];

export function isPosting<Kind extends string>(kind: Kind): kind is Kind & PostingKind {
  return (POSTING_KINDS as readonly string[]).includes(kind);
}

export function isPlugin(kind: string): kind is PluginKind {
  return (PLUGIN_KINDS as readonly string[]).includes(kind);
}

/** `key`: the customer is mailed the keys of an order. */
export const SHOP_MAILS = ['key', 'none'] as const;
export type ShopMail = (typeof SHOP_MAILS)[number];

/** These hand out the key themselves, in their own mails and on their own pages. */
const CARRY_KEYS: readonly string[] = ['digistore24', ...PLUGIN_KINDS];

/** As the seller said, else as its kind does. */
export function mailOf({ kind, mail }: { kind: string; mail: string | null }): ShopMail {
  return (mail as ShopMail | null) ?? (CARRY_KEYS.includes(kind) ? 'none' : 'key');
}

/** LICENSING_GRACE_DAYS, where it is not set. */
export const DEFAULT_GRACE_DAYS = 3;
export const MAX_GRACE_DAYS = 14;

/** The days for which a licence goes on while the renewal of its subscription is awaited. */
export function graceOf(
  { graceDays }: { graceDays: number | null },
  { graceDays: byDefault }: { graceDays: number },
): number {
  return graceDays ?? byDefault;
}
