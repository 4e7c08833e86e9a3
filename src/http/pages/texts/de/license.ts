import type { license as en } from '../en/license';
import type { Translated } from '../translated';

export const license: Translated<typeof en> = {
  title: 'Lizenz',
};
