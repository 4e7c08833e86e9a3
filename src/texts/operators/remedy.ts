export type RemedyStep =
  | { type: 'renew'; duration: string; until: Date }
  | { type: 'reinstate'; until: Date | null }
  /** a new licence that replaces one which has ended permanently */
  | { type: 'issue'; planId: number; customer: string | null }
  | { type: 'remove_site' }
  | { type: 'raise_limit'; slots: number }
  | { type: 'raise_key_limit'; keyId: number; slots: number }
  | { type: 'change_plan' }
  | { type: 'publish'; productId: number }
  /** the published package's file is missing: the doctor names it */
  | { type: 'restore_package' }
  | { type: 'show_key'; keyId: number | null }
  | { type: 'add_key' };

export interface RemedyButton {
  /** "Renew for 1 year: new end 23 Nov 2027" */
  label: string;
  /** the text on the button, "Renew for 1 year" */
  button: string;
  /** a note next to the button; null: no note */
  note: string | null;
}

/** The texts of the steps that make a refused licence work again (support/remedy.ts). */
export type RemedyTexts = (step: RemedyStep, activationType: string) => RemedyButton;

export function button(text: string, note: string | null = null, label = text): RemedyButton {
  return { button: text, note, label };
}
