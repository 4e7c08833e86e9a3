export const signIn = {
  title: 'Sign in',
  why: {
    ended:
      'You were signed out after 30 minutes without use, after twelve hours, or because your right has ended.',
    again:
      'Please sign in again: this changes something, shows a secret or cannot be undone, and you signed in over an hour ago. You continue where you were.',
  },
  again: {
    title: 'Please sign in again',
    kept: 'You signed in over an hour ago, and this changes something. Your input is kept, and nothing is done yet.',
    byLink:
      'If you sign in with a link, open it in another tab of this browser. Then come back, leave the token empty and continue.',
    byDoor:
      'You came through Joomla: open the component there in another tab of this browser and press Open. Then come back, leave the token empty and continue.',
    elsewhere: 'Sign in in another tab',
    submit: 'Continue',
    table:
      'You signed in over an hour ago. Please sign in again in another tab of this browser, then come back and press the button again.',
  },
  door: {
    title: 'Through Joomla',
    about: 'In the administrator of your site: Components > Licensing > Open.',
    go: 'Go to Joomla',
    refusedTitle: 'You are not signed in',
    refused: {
      ORIGIN:
        'You did not come from the address of your site that the service knows. Open Joomla at that address, or have it corrected under Settings.',
      SITE: 'The service cannot read the accounts of your site. “licensing doctor” shows why.',
      TICKET:
        'This way in was used already, is older than a minute, or is from another site. In Joomla, press Open again.',
      ACCOUNT: 'This Joomla account is blocked, renamed or deleted. Sign in to Joomla again.',
      GROUP:
        'This Joomla account is not in a group that may manage licences. The groups are set on the server.',
    },
  },
  withToken: 'With a token',
  token: 'API token',
  tokenHint:
    'In Joomla: your user’s profile, tab “Joomla API Token”. It needs the right to manage licences, as Super Users have. A token from these pages or from the command also works.',
  submit: 'Sign in',
  busy: 'Signing in...',
  wrongToken: 'This token is not valid. Please copy it again as a whole.',
  wrongGroup: 'This token is valid, but its account may not manage licences. Ask a Super User.',
  shopToken: 'This token is for a shop (scope “issue”) and opens no pages.',
  withLink: 'With a link',
  linkHint: 'On the server, this command prints a link that signs you in once, within ten minutes:',
  email: 'Your e-mail',
  emailHint: 'Only operators who were added with their address get a mail.',
  mailLink: 'Mail me a link',
  enterHint: 'This link signs you in once, as operator of the licences.',
  enter: 'Sign in as operator',
  usedTitle: 'This link no longer works',
  used: 'This link has been used or is older than ten minutes.',
  other: 'Sign in another way',
};
