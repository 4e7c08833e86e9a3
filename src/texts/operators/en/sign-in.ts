export const signIn = {
  title: 'Sign in',
  why: {
    ended:
      'You were signed out after 30 minutes without use, after twelve hours, or because your right has ended.',
    again:
      'Please sign in again: this changes something, shows a secret or cannot be taken back, and you signed in over an hour ago. You will go on where you were.',
  },
  again: {
    title: 'Please sign in again',
    kept: 'You signed in over an hour ago, and this changes something. What you typed is kept, and nothing is done yet.',
    byLink:
      'If you sign in with a link, open it in another tab of this browser. Then come back, leave the token empty and go on.',
    byDoor:
      'You came through Joomla: open the component there in another tab of this browser and press Open. Then come back, leave the token empty and go on.',
    elsewhere: 'Sign in in another tab',
    submit: 'Go on',
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
        'This did not come from the address that the service knows as your site. Open Joomla at that address, or have it corrected under Settings.',
      SITE: 'The service cannot read the accounts of your site. “licensing doctor” says why.',
      TICKET:
        'This way in was used already, is older than a minute, or is from another site. In Joomla, press Open again.',
      ACCOUNT: 'This Joomla account is blocked, renamed or no longer there. Sign in to Joomla again.',
      GROUP:
        'This Joomla account is in no group that may manage licences. The groups are named on the server.',
    },
  },
  withToken: 'With a token',
  token: 'API token',
  tokenHint:
    'In Joomla: your user’s profile, tab “Joomla API Token”. It needs the right to manage licences, as Super Users have. A token made on these pages or by the command works as well.',
  submit: 'Sign in',
  busy: 'Signing in...',
  wrongToken: 'This token is not valid. Please copy it again as a whole.',
  wrongGroup: 'This token is valid, but its account may not manage licences. Ask a Super User.',
  shopToken: 'This token is for a shop (scope “issue”) and opens no pages.',
  withLink: 'With a link',
  linkHint: 'On the server, you print a link that signs you in once, within ten minutes:',
  email: 'Your e-mail',
  emailHint: 'Only operators who were added with their address get a mail.',
  mailLink: 'Mail me a link',
  enterHint: 'This link signs you in once, as operator of the licences.',
  enter: 'Sign in as operator',
  usedTitle: 'This link does not work any more',
  used: 'This link has been used or is older than ten minutes.',
  other: 'Sign in another way',
};
