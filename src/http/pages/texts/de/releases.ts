import type { releases as en } from '../en/releases';
import type { Translated } from '../translated';

export const releases: Translated<typeof en> = {
  title: 'Versionen',
};
