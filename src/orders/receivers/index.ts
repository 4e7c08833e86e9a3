import type { PostingKind } from '../shop-kinds';
import type { ShopKind } from '../shops';
import { digistore24 } from './digistore24';
import { paddle } from './paddle';
import { fastspring } from './fastspring';
import { lemonsqueezy } from './lemonsqueezy';
import type { Receiver } from './receiver';
import { standard } from './standard';
import { stripe } from './stripe';
import { woocommerce } from './woocommerce';

/** The kinds of shops whose signed messages are received. */
export const RECEIVERS: Record<Exclude<ShopKind, PostingKind>, Receiver> = {
  stripe,
  paddle,
  digistore24,
  lemonsqueezy,
  fastspring,
  woocommerce,
  standard,
};
