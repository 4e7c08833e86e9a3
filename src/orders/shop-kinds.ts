import { PLUGIN_KINDS, type PluginKind } from '../store/orders/shops';

export { PLUGIN_KINDS, type PluginKind };

/** The kinds of shops, by how they report orders, and which of them deliver the keys themselves. */

/** Kinds that post orders with a token: a shop's own program, or a Joomla plugin, which sends its kind. */
const POSTING_KINDS = ['api', ...PLUGIN_KINDS] as const;

export type PostingKind = (typeof POSTING_KINDS)[number];

/** All kinds. `api` and the plugins post orders with a token; the others are receivers of signed messages. */
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

/** The kinds of mails to customers. `key`: a mail with the keys of an order. */
export const SHOP_MAILS = ['key', 'none'] as const;
export type ShopMail = (typeof SHOP_MAILS)[number];

/** Kinds of shops that show the key in their own mails and pages. */
const CARRY_KEYS: readonly string[] = ['digistore24', ...PLUGIN_KINDS];

/** Returns which mails a shop's customers get: by the seller's choice, otherwise by the shop's kind. */
export function mailOf({ kind, mail }: { kind: string; mail: string | null }): ShopMail {
  return (mail as ShopMail | null) ?? (CARRY_KEYS.includes(kind) ? 'none' : 'key');
}

/** The default of LICENSING_GRACE_DAYS. */
export const DEFAULT_GRACE_DAYS = 3;
export const MAX_GRACE_DAYS = 14;

/** Returns the grace period, in days: the time in which a licence stays valid while its subscription's renewal is awaited. */
export function graceOf(
  { graceDays }: { graceDays: number | null },
  { graceDays: byDefault }: { graceDays: number },
): number {
  return graceDays ?? byDefault;
}
