import type { products as en } from '../en/products';
import type { Translated } from '../translated';

export const products: Translated<typeof en> = {
  title: 'Produkte',
};
