import type { RemedyStep } from '../../support/remedy';

export interface RemedyButton {
  /** "Renew for 1 year: new end 23 Nov 2027" */
  label: string;
  /** the button's own text, "Renew for 1 year" */
  button: string;
  /** what to say beside the button; null: nothing */
  note: string | null;
}

/** What makes a refused licence work again (support/remedy.ts). */
export type RemedyTexts = (step: RemedyStep, activationType: string) => RemedyButton;

export function button(text: string, note: string | null = null, label = text): RemedyButton {
  return { button: text, note, label };
}
