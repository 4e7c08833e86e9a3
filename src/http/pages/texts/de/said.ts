import type { said as en } from '../en/said';
import type { Translated } from '../translated';

/** Was eine Handlung sagt, wenn sie getan ist. */
export const said: Translated<typeof en> = {
  signedOut: () => 'Sie sind abgemeldet.',
  saved: () => 'Gespeichert.',
};
