import type { said as en } from '../en/said';
import type { Translated } from '../translated';

/** Was eine Handlung sagt, wenn sie getan ist. */
export const said: Translated<typeof en> = {
  signedOut: () => 'Sie sind abgemeldet.',
  linkAsked: () =>
    'Wenn diese Adresse einem Betreiber gehört, ist eine Mail unterwegs. Ihr Link gilt einmal und zehn Minuten lang.',
  saved: () => 'Gespeichert.',
};
