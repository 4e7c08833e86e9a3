import type { PostingKind, ShopKind } from '../shop-kinds';
import { digistore24 } from './digistore24';
import { paddle } from './paddle';
import { fastspring } from './fastspring';
import { lemonsqueezy } from './lemonsqueezy';
import type { ShopAdapter } from './adapter';
import { standard } from './standard';
import { stripe } from './stripe';
import { woocommerce } from './woocommerce';

/** The adapters by kind of shop, for all kinds whose signed messages are received. */
export const ADAPTERS: Record<Exclude<ShopKind, PostingKind>, ShopAdapter> = {
  stripe,
  paddle,
  digistore24,
  lemonsqueezy,
  fastspring,
  woocommerce,
  standard,
};
