import { counted } from '../../case';

/** Reported sites: versions that customers' sites run, and keys that are probably shared. */
export const told = {
  button: 'Sites',
  title: (product: string) => `Sites with ${product}`,
  crumb: 'Sites',
  how: 'Each site that reported its version in the last 180 days counts once per licence. The plugin for Joomla reports the version with each check and download, even if it is refused. Sites without the plugin are not counted.',
  none: 'No site has reported its version yet. The plugin for Joomla reports it with each check: get it on the product’s page and give it to your customers.',
  noneBehind: 'Every site that reported its version has the newest one.',
  behind: 'Sites with older versions',
  orders: { '-at': 'Latest report first', at: 'Earliest report first' },
  onlyVersion: (version: string) => `Version: ${version}`,
  captionVersion: (version: string, count: string) =>
    `Sites with ${version}, latest update first. ${count} shown.`,
  noneWith: (version: string) => `No site has ${version}.`,
  csvName: 'sites.csv',
  newest: 'Newest version',
  share: 'Sites with it',
  shareOf: (share: string, count: string) => `${share} % (${count} counted)`,
  half: '50 % reached',
  halfAfter: (days: string) => `after ${counted(days, 'day', 'days')}`,
  notHalf: 'not yet',
  versions: 'Versions',
  columns: {
    site: 'Site',
    version: 'Version',
    told: 'Reported',
    license: 'Licence',
    customer: 'Customer',
    may: 'May update',
  },
  may: 'Yes',
  spreading: {
    title: 'Probably shared keys',
    about: (factor: string) =>
      `Joomla does not count sites. Here you see who shares a key: in 30 days, downloads came from more than ${counted(factor, 'network', 'networks')} per slot, plus 10. Nothing is refused because of it.`,
    none: 'No key seems to be shared.',
    orders: {
      '-at': 'Latest first',
      at: 'Earliest first',
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
      most: 'Expected at most',
      latest: 'Latest',
      sites: 'Reported sites',
    },
    rekey: 'New key',
  },
};
