import type { system as en } from '../en/system';
import type { Translated } from '../translated';

export const system: Translated<typeof en> = {
  title: 'System',
};
