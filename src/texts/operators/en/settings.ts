import type { RefusalFacts } from '../../../licensing/operator-error';
import { counted } from '../../case';

/** The pages about the settings. */
export const settings = {
  title: 'Settings',
  about: 'A change takes effect within two seconds.',
  change: 'Change',
  groups: {
    shop: 'Shop',
    mail: 'Mail',
    limits: 'Limits',
    keeping: 'Periods',
  },
  names: {
    shop_name: 'Name',
    public_url: 'Address',
    mail_url: 'Mail server',
    mail_language: 'Language of mails',
    rate_limit: 'Requests of a client',
    rate_window: 'Window in seconds',
    download_rate_limit: 'Downloads of a client',
    manage_rate_limit: 'Calls of a token in a minute',
    grace_days: 'A subscription continues for',
    log_days: 'Requests are kept for',
    token_days: 'A signed answer is valid for',
    offline_days: 'An offline file is valid for',
  },
  hints: {
    shop_name: 'On customers’ pages and below mails. Empty: the name of the Joomla site.',
    public_url:
      'The site’s address, such as https://shop.example, for links in mails and for update XMLs, which are written again after a change.',
    mail_url: '',
    mail_language: 'For customers whose language is not known.',
    rate_limit: 'Activate, deactivate, validate and updates together, in each window.',
    rate_window: 'Begins with a client’s first request. At most a day.',
    download_rate_limit: 'In each window. Empty: as many as requests.',
    manage_rate_limit: 'To the operator’s API.',
    grace_days: 'Days, while its renewal is awaited. A shop may have its own.',
    log_days: 'Days for which the access log is kept. Older entries are deleted within an hour.',
    token_days: 'Days.',
    offline_days: 'Days for which a file for a machine without network is valid.',
  },
  none: 'not set',
  source: {
    environment: 'set at the start',
    stored: (who: string, when: string) => `set here by ${who}, ${when}`,
    default: 'standard',
  },
  isGiven: (variable: string) =>
    `${variable} is set in the environment or in the settings file, and takes precedence. Remove it there and restart the service to change it here.`,
  fallback: (value: string) => `Empty: ${value}.`,
  fallbackSeconds: (value: string) => `${value} s`,
  days: (count: string) => counted(count, 'day', 'days'),
  formTitle: {
    shop: 'Change the shop',
    limits: 'Change the limits',
    keeping: 'Change the periods',
  },
  saving: 'Saving...',
  wrong: {
    number: (least: string, most: string) => `Please type a whole number from ${least} to ${most}.`,
    text: (most: string) => `Please type one line of at most ${most} characters.`,
    url: (origin: string) =>
      `Please type the address as a browser shows it, such as https://shop.example. You have opened this page at ${origin}.`,
    choice: 'Please choose one of the list.',
    mail: 'Please type the name of the mail server, and the e-mail address that sends.',
  },
  picture: {
    title: 'Picture',
    about: 'At the top of customers’ pages, next to the name.',
    alt: 'The shop’s picture',
    file: 'Picture',
    hint: 'PNG, JPEG or WebP, at most 256 KiB. It is shown 32 pixels high.',
    submit: 'Set the picture',
    remove: 'Remove the picture',
    none: 'none',
    wrong: 'This is not a PNG, JPEG or WebP picture. Please choose another file.',
    tooLarge: 'The picture has more than 256 KiB. Please choose a smaller one.',
  },
  mail: {
    title: 'Mail server',
    about: 'We check the connection before we save it.',
    host: 'Server',
    hostHint: 'Such as mail.example.org. Empty: the mail settings of the Joomla site.',
    port: 'Port',
    portHint: 'Empty: 587 with a password, 465 with TLS from the start.',
    tls: 'Encryption',
    tlsOptions: { smtp: 'STARTTLS', smtps: 'TLS from the start' },
    inWords: ({ host, port, tls, user }: Record<'host' | 'port' | 'tls' | 'user', string>) =>
      `${host}, port ${port}, ${tls}${user === '' ? '' : `, user ${user}`}`,
    withSender: (to: string, from: string) => `${to}, sender ${from}`,
    user: 'User',
    password: 'Password',
    passwordHint: 'It is stored encrypted and never shown.',
    passwordStays: 'Empty: the stored one stays, for the same server, port, encryption and user.',
    from: 'Sender',
    fromHint: 'The e-mail address that mails come from.',
    untried: 'Save it anyway',
    submit: 'Check and save',
    busy: 'Checking...',
    /** @param why a clause @param said the mail server's own text; empty: none */
    refused: (why: string, said: string) =>
      `Nothing was saved: ${why}.${said === '' ? '' : ` The server said: “${said}”.`} To save it anyway, tick the last box and type the password again.`,
    noKeySecret:
      'The password cannot be saved: the service has no secret to encrypt it. The doctor shows what to do.',
    off: 'Mail is not set up.',
    offNoAddress: 'Mail is off: links in mails need the address of the shop.',
  },
  test: {
    title: 'Send a test mail',
    go: 'Send a test mail',
    to: 'To',
    submit: 'Send',
    busy: 'Sending...',
    refused: (why: string, said: string) =>
      `The mail was not sent: ${why}.${said === '' ? '' : ` The server said: “${said}”.`}`,
  },
  texts: {
    title: 'Texts of mails',
    about: 'The standard texts, and your own.',
    own: (count: number, text: string) =>
      count === 0 ? 'Standard texts' : count === 1 ? '1 text of your own' : `${text} texts of your own`,
    go: 'Show the texts',
    caption: 'By mail',
    columns: { name: 'Mail' },
    sources: { file: 'a file on the server', stored: 'your own', built_in: 'standard' } as Record<
      string,
      string
    >,
    isFile:
      'A file on the server has this text and takes precedence. Remove the file to change the text here.',
    text: 'Text',
    textHint: (words: string) =>
      `The subject in the first line. A line whose placeholder has no value is left out. Placeholders: ${words}`,
    preview: 'Preview',
    previewTitle: 'As a customer gets it',
    asText: 'As plain text, for mail programs without HTML',
    subject: 'Subject',
    reset: 'Restore the standard text',
    fault: (fault: Extract<RefusalFacts, { reason: 'mail-text' }>['fault']) => {
      switch (fault.code) {
        case 'empty':
          return 'The text needs a subject in its first line, and something below it.';
        case 'placeholder':
          return `Line ${fault.line} has ${fault.found}. This mail may have ${fault.known.join(', ')}.`;
        case 'lacks':
          return `The text lacks ${fault.needed}. Without it, the mail is of no use.`;
      }
    },
  },
  fixed: {
    title: 'For administrators',
    count: (count: number, text: string) =>
      `For administrators: ${count === 1 ? 'one value' : `${text} values`}, set at the start`,
    about:
      'The service needs these values to start. Change them in the environment or in the settings file, and restart the service.',
    caption: 'Passwords and secrets are not shown.',
    columns: { name: 'Variable', value: 'Value', source: 'From' },
    given: 'environment',
    usual: 'standard',
    secretSet: 'set',
  },
};
