/** The first steps. */
export const start = {
  title: 'Three steps to the first licence',
  sub: 'About five minutes. You can stop after each step; this page waits for you.',
  doneTitle: 'You can sell',
  doneSub: 'Product, plan and version are set up. Try it yourself before the first customer buys.',
  steps: 'First steps',
  go: 'Show the first steps',
  about: 'Product, plan and version, a licence to try, and what is still missing.',
  /** parts of the set-up that are missing when goods exist */
  gaps: {
    pageTitle: 'Almost ready to sell',
    title: 'What is still missing',
    sentences: {
      address: 'The address of your site is not set. Mails and updates need it.',
      mail: 'Mail is not set up. Customers get no keys by mail.',
      shop: 'No shop is connected. Orders do not become licences yet.',
      renewal_page: (count: number, written: string, product: string) =>
        count === 1
          ? `Customers of ${product} are not shown where to renew.`
          : `Customers of ${written} products, such as ${product}, are not shown where to renew.`,
      reminders: (count: number, written: string, product: string) =>
        count === 1
          ? `Customers of ${product} are not reminded before their licence ends.`
          : `Customers of ${written} products, such as ${product}, are not reminded before their licence ends.`,
    },
    go: {
      address: 'Enter the address',
      mail: 'Set up mail',
      shop: 'Connect a shop',
      renewal_page: 'Enter the page',
      reminders: 'Switch on reminders',
    },
  },
  done: '(done)',
  change: 'Change',
  readOnly: 'An operator who may make changes does this step.',
  import: 'Licences from another system?',
  importLink: 'Move in',
  importRest: 'instead.',
  saving: 'Saving...',
  product: {
    title: 'Product: what you sell',
    doneTitle: (name: string) => `Product: ${name}`,
    doneSub: (id: string, element: string) =>
      element === '' ? `Id ${id}.` : `Element ${element}, id ${id}.`,
    name: 'Name',
    nameHint: 'Customers see it.',
    element: 'Element',
    elementHint: 'Joomla’s name of the extension, such as pkg_example. Empty: it is not for Joomla.',
    submit: 'Save the product',
    file: 'Your extension’s package (.zip)',
    fileHint: (size: string) =>
      `Up to ${size}. Name, element and version come from it. It is kept as a draft: customers do not get it yet.`,
    begin: 'Begin with this package',
    without: 'Or without a package:',
  },
  plan: {
    title: 'Plan: what a customer buys',
    hint: 'Most sellers begin with one plan for one site and one year. You can add more later.',
    doneTitle: (name: string) => `Plan: ${name}`,
    doneSub: (slots: number, written: string, duration: string) =>
      `${slots === 0 ? 'Unlimited slots' : slots === 1 ? '1 slot' : `${written} slots`}, ${duration}.`,
    submit: 'Save the plan',
  },
  release: {
    title: 'First version: what a customer downloads',
    hint: 'Upload the extension’s .zip. The service reads its name and version.',
    doneTitle: (what: string) => `First version: ${what}`,
    doneSub: (day: string) => `Published on ${day}.`,
    before: 'Before you pack it: lines for the manifest',
    file: 'Package (.zip)',
    fileHint: (size: string) => `Up to ${size}. It can never be changed once it is published.`,
    version: 'Version',
    versionHint: 'Such as 1.0.0.',
    changelog: 'What is new',
    changelogHint: 'Customers read this. One change per line.',
    submit: 'Publish',
    busy: 'Publishing...',
    publish: (version: string) => `Publish ${version}…`,
    another: 'Or upload another package:',
  },
  joomla: {
    title: 'What Joomla needs',
    manifest: 'Lines for the manifest',
    manifestHint:
      'Paste these lines into the manifest of the extension, inside its root element. Joomla then asks for updates, and has a field for the key.',
    address: 'The update XML',
    states: {
      written: 'Joomla is offered what is published here:',
      stale: 'Joomla does not offer this version yet. Download the update XML, and place it at this address:',
    },
    download: 'Download the update XML',
    noElement: 'The product has no element, and therefore no update XML. Only Joomla needs one.',
    setElement: 'Set the element',
    noAddress: 'This service does not know the address of your site yet.',
    setAddress: 'Enter the address',
  },
  licence: {
    title: 'A licence for yourself',
    hint: 'Enter its key in your own Joomla, and see the update arrive.',
    customer: 'Your e-mail',
    customerHint: 'You can find the licence by it.',
    submit: 'Issue the licence',
    busy: 'Issuing...',
  },
  key: {
    title: 'Your licence',
    key: 'Licence key',
    paste: 'Where to enter it in Joomla',
    install: (product: string) => `Install ${product} in your Joomla.`,
    choose: (product: string) => `Open System > Update > Update Sites, and choose ${product}.`,
    enter: 'Paste the key into the field “Download Key”, then Save & Close.',
    check: 'Open System > Update > Extensions, and Check for Updates.',
    toLicense: 'Open the licence',
    toOverview: 'To the overview',
  },
};
