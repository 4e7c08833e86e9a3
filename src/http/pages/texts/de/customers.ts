import type { customers as en } from '../en/customers';
import type { Translated } from '../translated';

export const customers: Translated<typeof en> = {
  title: 'Kunden',
};
