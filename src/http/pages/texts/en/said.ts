/** What an action says when it is done, by its name. Values are written by the action, in the page's language. */
export const said = {
  signedOut: () => 'You are signed out.',
  linkAsked: () =>
    'If this address is an operator’s, a mail is on its way. Its link works once, within ten minutes.',
  saved: () => 'Saved.',
} satisfies Record<string, (...values: string[]) => string>;
