import type { overview as en } from '../en/overview';
import type { Translated } from '../translated';

export const overview: Translated<typeof en> = {
  title: 'Übersicht',
};
