import type { my as en } from '../en/my';
import type { Translated } from '../translated';

export const my: Translated<typeof en> = {
  title: 'Ihre Lizenz',
};
