export const system = {
  title: 'System',
  version: (version: string) => `Version ${version}`,
  go: {
    mails: 'Mails',
    doctor: 'All findings',
    tokens: 'Tokens',
    signingKeys: 'Signing keys',
    operators: 'Operators',
    imports: 'Import',
  },
  door: {
    title: 'Open these pages from Joomla',
    about:
      'A component for your site’s Joomla: it signs administrators in here without a token. It needs LICENSING_JOOMLA_ROOT and the site’s address.',
    download: 'Download the component',
    install: 'In Joomla: System > Install > Extensions > Upload Package File.',
    open: 'Then: Components > Licensing > Open. The groups of LICENSING_OPERATOR_GROUPS may.',
  },
  tokenCount: (count: number, text: string) =>
    count === 0
      ? 'No token yet. A shop or a script needs one.'
      : count === 1
        ? 'One token.'
        : `${text} tokens.`,
  tokensEnding: (names: string) => `Soon ended: ${names}.`,
  operatorCount: (count: number, text: string) =>
    count === 0 ? 'Nobody is named.' : count === 1 ? 'One operator.' : `${text} operators.`,
  operatorsAbout: 'Who may have a link mailed that signs them in.',
  mails: {
    title: 'Mails',
    about: 'Keys, links, reminders and notices to your customers.',
    off: 'Mail is not set up: it needs the mail settings of the site or a mail server in Settings, and the site’s address. The doctor says what is missing.',
    quick: 'Which mails',
    all: 'Latest',
    failed: 'Not delivered',
    caption: (count: string) => `Newest first. ${count} shown.`,
    none: 'No mail yet. Send a key from a licence’s page.',
    noneFailed: 'Every mail was delivered, or is still tried.',
    license: (id: string) => `Licence ${id}`,
    order: (id: string) => `Order ${id}`,
    columns: {
      state: 'State',
      type: 'Mail',
      license: 'Licence or order',
      queued: 'Queued',
      sent: 'Sent',
      attempts: 'Attempts',
      error: 'Last answer',
    },
    help: 'A mail is tried for two days, with growing pauses. After that, correct the address on the licence’s page and send the key again.',
  },
  importAbout: 'Take over licences of another system from a table, with the keys that your customers have.',
  asksAgain: 'Adding or ending one asks you to sign in again if you signed in more than an hour ago.',
  /** by the scope, which keeps its name */
  scopes: { read: 'read: look', issue: 'issue: a shop', write: 'write: everything' } as Record<
    string,
    string
  >,
  tokens: {
    title: 'Tokens',
    about: 'A program shows its token with each call of the API. Tokens themselves are never listed.',
    add: 'New token',
    caption: 'Oldest first',
    columns: { name: 'Name', scope: 'Scope', made: 'Made', used: 'Last used', ends: 'Ends', id: 'ID' },
    ended: 'ended',
    own: 'you are signed in with it',
    revoke: 'Revoke',
    revokeOne: (name: string) => `Revoke ${name}`,
    none: 'No token yet. A shop or a script needs one to call the API.',
    name: 'Name',
    nameHint: 'What uses it, such as “shop”. The history of licences shows it.',
    scope: 'Who needs it?',
    scopeHints: {
      issue: 'Your shop: it issues licences, and sees and handles those that it issued.',
      read: 'A dashboard, or a colleague who answers mails: sees everything, changes nothing.',
      write: 'Your own scripts: may do everything that you may.',
    } as Record<string, string>,
    ends: 'Ends',
    endsHint: 'The token works until the end of this day, UTC. Empty: it does not end.',
    joomla: (name: string) => `It ends when the Joomla account ${name} may no longer manage licences.`,
    submit: 'Make the token',
    busy: 'Making the token...',
    doneTitle: (name: string) => `Token ${name}`,
    token: 'The token',
    once: 'Copy it now. It is not stored here, and cannot be shown again.',
    lost: 'If it gets lost, revoke it and make another one of the same name.',
    example: 'An example of its use',
    exampleAbout: 'This answers with the name and the scope of the token:',
    toList: 'Back to the tokens',
  },
  revokeToken: {
    title: (name: string) => `Revoke token ${name}?`,
    stops: (scope: string) => `What uses it is refused at once. Its scope is “${scope}”.`,
    used: (when: string) => `It was last used ${when}.`,
    unused: 'It has never been used.',
    stays: 'Licences that it issued stay as they are. Their history keeps its name.',
    again: 'It cannot be taken back. A new token of the same name sees the same licences.',
    sessions: 'Whoever is signed in to these pages with it is signed out.',
    own: 'You are signed in with this token: you will be signed out.',
    submit: 'Revoke for good',
    busy: 'Revoking...',
    back: 'Keep the token',
  },
  signingKeys: {
    title: 'Signing keys',
    about:
      'Software that asks for it gets signed answers, and files for machines without network. It verifies them with the keys that you build into it: the current and the next.',
    signs: (kid: string) => `${kid} signs.`,
    none: 'No signing key yet: answers are not signed.',
    caption: 'Oldest first',
    columns: { state: 'State', kid: 'Name', x: 'Public key', made: 'Made', retired: 'Retired', id: 'ID' },
    states: { current: 'signs', next: 'signs next', retired: 'retired' },
    compromised: 'compromised',
    add: 'Make a key',
    addFirst: 'It signs at once.',
    addNext:
      'It signs when the current one is retired. Build it into your software before, so that customers have it then.',
    sealed: 'Its private part is sealed, and never shown.',
    busy: 'Making the key...',
    toList: 'Back to the keys',
    retire: 'Retire',
    retireOne: (kid: string) => `Retire ${kid}`,
  },
  retireKey: {
    title: (kid: string) => `Retire signing key ${kid}?`,
    current: (next: string) =>
      `${next} signs within ten seconds. Software that does not know it refuses what it signs.`,
    next: 'It has not signed yet, and never will.',
    counts: 'What it has signed still counts to its end.',
    retired: 'It is retired already. If somebody else has it, it can be taken out at once.',
    last: 'It is the only key that can sign. Make the next one first.',
    compromised: 'Somebody else may have the key',
    compromisedHint:
      'keys.json no longer names it. Software that has it built in goes on accepting it: publish a version with the other keys only.',
    final: 'It cannot be taken back.',
    submit: 'Retire for good',
    busy: 'Retiring...',
    back: 'Keep the key',
  },
  operators: {
    title: 'Operators',
    about:
      'These people may have a link mailed that signs them in here. With a token or a Joomla account, nobody needs to be named.',
    needsMail: 'It needs mail to be set up.',
    noMail: 'No link can be mailed: the public address of the site is not set (LICENSING_PUBLIC_URL).',
    add: 'Add an operator',
    caption: 'By e-mail',
    columns: { email: 'E-mail', scope: 'Scope', since: 'Since', by: 'Added by' },
    remove: 'Remove',
    removeOne: (email: string) => `Remove ${email}`,
    none: 'Nobody is named yet.',
    email: 'E-mail',
    emailHint: 'Whoever reads the mail of this address can sign in.',
    scope: 'What may they do?',
    scopeHints: {
      read: 'See everything, and change nothing.',
      write: 'Everything that you may, tokens and operators included.',
    } as Record<string, string>,
    submit: 'Add the operator',
    busy: 'Adding...',
  },
  removeOperator: {
    title: (email: string) => `Remove operator ${email}?`,
    sessions: 'They are signed out at once, and links that were mailed to them no longer work.',
    history: 'What they did stays in the history, with their address.',
    others: 'Their tokens and their Joomla account are not touched.',
    own: 'This is you: you will be signed out.',
    submit: 'Remove the operator',
    busy: 'Removing...',
    back: 'Keep the operator',
  },
  imports: {
    title: 'Import',
    about: 'Licences of another system, with the keys that your customers have, from a table.',
    file: 'Table (CSV)',
    fileHint: (rows: string) =>
      `The first line names the columns. At most ${rows} rows; the command “licensing import” takes more. Nothing is imported yet.`,
    read: 'Read the table',
    reading: 'Reading...',
    before: 'Products and plans must exist already.',
    noFile: 'Please choose the file.',
    empty: 'The file is empty.',
    unreadable:
      'The table cannot be read. Check that each quotation mark is closed, that no column is named twice, and that it is saved as CSV in UTF-8.',
    summary: (count: number, text: string, bad: number, badText: string) =>
      `${count === 1 ? 'One licence' : `${text} licences`} would be new${bad === 0 ? '' : bad === 1 ? ', and one row does not fit' : `, and ${badText} rows do not fit`}.`,
    checkTitle: 'Which column is what?',
    checkAbout:
      'An import cannot be taken back. Without a status, for example, refunded licences would be active.',
    notThere: 'not in the table',
    /** by the field's name in the API */
    fields: {
      key: 'Licence key',
      customer: 'Customer (e-mail)',
      product: 'Product',
      plan: 'Plan',
      status: 'Status',
      expiry: 'Ends',
      limit: 'Slots',
      reference: 'Order',
      activations: 'Sites',
    } as Record<string, string>,
    otherProduct: 'Product of rows that name none',
    otherPlan: 'Plan of rows that name none',
    noOther: 'none given',
    more: 'Data of your own',
    moreHint: 'Columns to keep with the licence: metadata.NAME=Column, with commas between them.',
    again: 'The file was too large to be kept. Please choose it again.',
    check: 'Check again',
    checking: 'Checking...',
    resultTitle: 'What an import would do',
    facts: {
      added: 'New',
      same: 'Here already',
      bad: 'Do not fit',
      overLimit: 'Over the limit',
      notSent: 'Key with odd characters',
      twins: 'Nearly the same key',
      leftOut: 'Left out',
    },
    overLimit: (count: string) => `${count} with more sites than slots; all sites are kept`,
    notSent: (count: string) => `${count} whose key Joomla’s updater cannot send whole`,
    twins: (lines: string) =>
      `${lines}. It differs from another in case or hyphens alone, and works only as it is written`,
    nothing: 'There is nothing new to import.',
    submit: (count: number, text: string) => (count === 1 ? 'Import 1 licence' : `Import ${text} licences`),
    submitOthers: (count: number, text: string, bad: number, badText: string) =>
      `${count === 1 ? 'Import 1 licence' : `Import ${text} licences`}, leave out ${bad === 1 ? '1 row' : `${badText} rows`}`,
    busy: 'Importing...',
    rejected: 'Rows that do not fit',
    /** @param more how many others, as a text; empty: none */
    lines: (count: number, lines: string, more: string) =>
      count === 1
        ? `Line ${lines}`
        : `${count} rows: lines ${lines}${more === '' ? '' : ` and ${more} more`}`,
    columns: { line: 'Where', field: 'Field', wrong: 'What is wrong' },
    moreRejected: (count: string) => `and ${count} other faults.`,
    doneTitle: (count: number, text: string) =>
      count === 1 ? 'One licence was imported' : `${text} licences were imported`,
    leftOut: (count: number, text: string) =>
      count === 0
        ? 'No row was left out.'
        : count === 1
          ? 'One row was left out:'
          : `${text} rows were left out:`,
    toList: 'To the licences',
    another: 'Import another table',
    overlooked: (columns: string) =>
      `These columns may say something that licences need: ${columns}. Choose what they are, or keep them as data of your own.`,
    noKey: 'Please choose the column with the licence key.',
    noPlan: 'Please choose the column with the plan, or one plan for all rows.',
  },
  doctor: {
    title: 'Doctor',
    reach: 'As far as the service can look. To check packages, counters and the site from outside as well:',
    again: 'Examine again',
    first: 'Examine',
    good: 'The service found nothing wrong.',
    bad: (problems: number, warnings: number) =>
      [
        problems === 0 ? '' : problems === 1 ? 'One problem' : `${problems} problems`,
        warnings === 0 ? '' : warnings === 1 ? 'one warning' : `${warnings} warnings`,
      ]
        .filter(Boolean)
        .join(' and ')
        .replace(/^o/, 'O') + '.',
    worst: 'What needs you',
    fine: (count: string) => `Fine: ${count}`,
    remedy: 'What to do:',
    states: { problem: 'Problem', warning: 'Warning', ok: 'Fine' },
    at: (when: string) => `Examined ${when}`,
  },
};
