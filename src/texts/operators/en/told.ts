import { counted } from '../../case';

/** Reported sites: versions that customers' sites run, and keys that are probably shared. */
export const told = {
  button: 'Sites',
  title: (product: string) => `Sites with ${product}`,
  crumb: 'Sites',
  how: 'Counted is each site that told its version in the last 180 days, once for a licence. The plugin for Joomla tells it when it checks or downloads, also when it is refused; a site without the plugin is not counted.',
  none: 'No site has told its version yet. The plugin for Joomla tells it with each check: give it to your customers from the product’s page.',
  noneBehind: 'Every site that told has the newest version.',
  behind: 'Sites that are behind',
  orders: { '-at': 'The latest that told anything first', at: 'The earliest that told anything first' },
  onlyVersion: (version: string) => `Version: ${version}`,
  captionVersion: (version: string, count: string) =>
    `Sites with ${version}, those that got it last first. ${count} shown.`,
  noneWith: (version: string) => `No site has ${version}.`,
  csvName: 'sites.csv',
  newest: 'Newest version',
  share: 'Have it',
  shareOf: (share: string, count: string) => `${share} % (${count} counted)`,
  half: 'Half had it',
  halfAfter: (days: string) => `after ${counted(days, 'day', 'days')}`,
  notHalf: 'not yet',
  versions: 'Versions',
  columns: {
    site: 'Site',
    version: 'Version',
    told: 'Told',
    license: 'Licence',
    customer: 'Customer',
    may: 'May update',
  },
  may: 'Yes',
  spreading: {
    title: 'Probably shared keys',
    about: (factor: string) =>
      `More networks downloaded by these keys in 30 days than their slots explain: more than ${factor} for each slot and 10 besides. Nothing is refused by it. Joomla’s updater takes no slot, so this list is the brake.`,
    none: 'No key seems to be shared.',
    orders: {
      '-at': 'The latest first',
      at: 'The earliest first',
      '-networks': 'Most networks first',
      networks: 'Fewest networks first',
      customer: 'Customers A to Z',
      '-customer': 'Customers Z to A',
    },
    columns: {
      license: 'Licence',
      customer: 'Customer',
      slots: 'Slots',
      networks: 'Networks',
      most: 'At most',
      latest: 'Latest',
      sites: 'Sites that told',
    },
    rekey: 'New key',
  },
};
