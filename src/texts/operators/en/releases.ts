import type { RefusalFacts } from '../../../licensing/operator-error';
import type { Remark } from '../../../licensing/remarks';
import { changes } from '../../customers/en/words';

/** Versions of a product, and which of them sites are offered. */
export const releases = {
  title: 'Releases',
  product: 'Product',
  show: 'Show',
  noProduct: 'No product yet. A version belongs to a product.',
  addProduct: 'Add a product',
  offer: {
    title: 'What do sites get?',
    lookedAt: (time: string) => `looked at ${time}`,
    download: (version: string) => `Customers download ${version}.`,
    clubTitle: 'What do customers of this club download?',
    nothingPublished: 'nothing published yet',
    noDownload: 'Customers cannot download anything: no version is published.',
    offers: (version: string) => `Joomla offers ${version}.`,
    offersNothing: 'Joomla offers nothing.',
    offersUnknown: (version: string) => `It cannot be checked whether Joomla offers ${version}.`,
    offersNot: (version: string) => `Joomla does not offer ${version}.`,
    heldBack:
      'Joomla offers no version below a withdrawn one, because sites would go back to an older version.',
    stale: (version: string) => `Joomla offers ${version}: the update XML lacks the latest change.`,
    staleNothing: 'Joomla offers nothing: the update XML lacks the latest change.',
    missing: 'The update XML is not where it should be, so Joomla offers nothing.',
    elsewhere: (file: string) => `The file ${file}, whose address is not known here.`,
    impossible: 'The update XML cannot be written.',
    noElement: 'Joomla offers nothing: the product has no element, and Joomla finds the extension by it.',
    noAddress: 'Joomla offers nothing: this service does not know its public address.',
    asking: 'The address is being checked. Look again in a few seconds.',
    silent: (url: string) =>
      `The file is right, but ${url} does not answer. Check that the web server runs and serves this folder: “licensing nginx” prints the lines.`,
    refuses: (url: string, status: string) =>
      `The file is right, but ${url} answers ${status}, so sites are offered nothing. The web server has to serve this folder: “licensing nginx” prints the lines.`,
    setElement: 'Set the element',
    setAddress: 'Enter the address of your site',
    get: 'Download the update XML',
    put: 'and place it at this address.',
    /** before the reason */
    why: 'Reason:',
    notThere: (file: string) => `${file} is missing or cannot be read.`,
    differs: (file: string) => `${file} does not offer what is published now.`,
    writeAgain: 'Write it again',
    writing: 'Writing...',
    lookAgain: 'Look again',
    options: 'Options of the update XML',
    manifest: 'What to paste into the manifest',
    manifestHint:
      'Paste these lines into the manifest of the extension, inside its root element. Sites then ask for updates, and have a field for the key.',
  },
  list: 'Versions',
  older: (count: number, written: string) => `${written} older ${count === 1 ? 'version' : 'versions'}`,
  allOlder: 'Older versions',
  range: (first: string, last: string) => (first === last ? first : `${first} to ${last}`),
  downloaded: (count: number, written: string) =>
    `${written} ${count === 1 ? 'download' : 'downloads'} in 30 days`,
  orders: {
    '-version': 'Highest version first',
    version: 'Lowest version first',
    '-published_at': 'Latest release first',
    published_at: 'Earliest release first',
  },
  columns: {
    version: 'Version',
    state: 'State',
    released: 'Released',
    downloads: 'Downloads 30 days',
    size: 'Size',
    id: 'ID',
  },
  states: { draft: 'Draft', published: 'Published', withdrawn: 'Withdrawn' } as Record<string, string>,
  none: 'No version yet. Customers cannot download anything.',
  noneOfClub:
    'This club has no package of its own. Its customers get the versions of the products that it includes.',
  csvName: 'versions.csv',
  add: 'New version',
  publish: 'Publish',
  withdraw: 'Withdraw…',
  form: {
    title: (product: string) => `New version of ${product}`,
    file: 'Package (.zip)',
    fileHint: (size: string) => `Up to ${size}. After publishing, it cannot be changed.`,
    version: 'Version',
    versionHint: 'Empty: as in the package’s manifest.',
    changelog: 'What is new',
    changelogHint:
      'Customers read this, and Joomla shows it. One change per line. Begin a line with fix:, add: or security: to sort it.',
    then: 'Then',
    now: 'Publish it: customers get it at once',
    draft: 'Keep it as a draft: customers do not see it',
    submit: 'Publish',
    submitDraft: 'Keep as a draft',
    unchecked: 'Publish it anyway',
    uncheckedHint: 'A published package never changes. You can correct it only with the next version.',
    newServer: 'Publish it with the other update server',
    newServerHint:
      'Joomla keeps the Download Key by this address. Up to 5.3.0, a site that installs this version loses its key and gets no further update until it is entered again.',
    foreignServerHint:
      'Sites that install this version ask the address in the package for the next one. A published package never changes.',
  },
  refused: {
    otherVersion: (inside: string, typed: string) => `The package has version ${inside}, you typed ${typed}.`,
    noVersion: (typed: string) =>
      `The package’s manifest has no version that Joomla knows${typed === '' ? '' : `, you typed ${typed}`}. Write <version>${typed || '1.0.0'}</version>, without blanks.`,
    otherElement: (inside: string, element: string) =>
      `The package belongs to ${inside}, and the product’s element is ${element}. Joomla would not update one with the other.`,
    otherServer:
      'The package names another update server than the version before. Pack it again with the earlier address, or allow it below.',
    foreignServer: (named: string, url: string) =>
      `The package sends sites to ${named} for updates, and your update XML is at ${url}. Put your address into the manifest and pack it again, or allow it below. If it is one of your former addresses, have it added on the server.`,
    malformed: (path: string, fault: string) =>
      `The package’s manifest is not well-formed XML: ${path}: ${fault}. Correct it and pack it again.`,
    lacks: (paths: string[], joomla: string | undefined) =>
      `Files that the package’s manifest names are missing or cannot be used: ${paths.join(', ')}. ${joomla === undefined ? 'Joomla would leave it out' : `Joomla would say “${joomla}”`}. Pack it again.`,
    withoutLines:
      'The package’s manifest lacks the lines that make Joomla ask for updates and for the key: sites that install this version would never be offered another. Add the lines and pack it again.',
    noManifest: 'The package has no manifest of Joomla (an XML file with <extension>) at its top.',
    tooLarge: (size: string) => `The package is larger than ${size}.`,
    published: (version: string) =>
      `${version} is published already, and its package can never change. Publish the next version.`,
    withdrawn: (version: string) =>
      `${version} was withdrawn, and customers may have its package. Publish the next version.`,
    equal: (version: string) => `To Joomla, this is the same version as ${version}, which exists already.`,
    noFile: 'Please choose the package.',
    noZip: {
      empty: 'This file is empty. Please choose the package.',
      other: 'This file is not a zip. Please choose the package.',
      cut: 'The end of this zip is missing: an upload or a copy broke off. Upload it again, or pack it again.',
      encrypted: 'This zip is encrypted, and Joomla cannot unpack it. Pack it without a password.',
      damaged: 'This zip is damaged, or not one that Joomla can unpack. Pack it again.',
    } satisfies Record<Extract<RefusalFacts, { reason: 'no-zip' }>['fault'], string>,
  },
  /** Remarks on an accepted package. For a draft, they become refusals when it is published. */
  remarks: {
    'package-lacks': (joomla, ...paths) =>
      `Files that the package’s manifest names are missing or cannot be used: ${paths.join(', ')}. ${joomla === '' ? 'Joomla would leave it out.' : `Joomla would say “${joomla}”.`}`,
    'without-lines': () =>
      'The package’s manifest lacks lines that make Joomla ask for updates or for the key. Sites that install this version may never be offered another. Add the lines to the next package.',
    'other-update-server': () =>
      'The package names another update server than the version before. Up to Joomla 5.3.0, a site that installs it loses its key.',
    'foreign-server': (named, url) =>
      `The package sends sites to ${named} for updates, and your update XML is at ${url}. Those sites are offered none of your versions.`,
    'server-unchecked': () =>
      'We could not check whether sites ask this service for updates, because the address of your site is not set. Set it under Settings, and compare the package with the lines for the manifest.',
    'before-unread': (version) =>
      `The package of ${version} is missing or damaged, so we could not check whether the update server is still the same.`,
    'no-changelog-address': () =>
      'The package’s manifest has no <changelogurl>. Sites with Joomla 4.4 never show your changelog.',
    'lock-unread': (...paths) =>
      `The SBOM was generated without ${paths.join(', ')}, because it cannot be read as a lock file. You can upload an SBOM of your own.`,
    'odd-version': (version) =>
      `Joomla does not know a word in ${version}, and may sort it wrongly. Use numbers alone, or -dev, -alpha1, -beta1 or -rc1 after them.`,
    'pre-release': (version) =>
      `${version} is a pre-release. Sites are offered it only if their minimum stability allows it.`,
    'future-date': () => 'The date is in the future. The version is offered from now on.',
  } satisfies Record<Remark['code'], (...facts: string[]) => string>,
  publishPage: {
    title: (version: string) => `Publish ${version}?`,
    download: (version: string) => `Customers then get ${version}.`,
    stays: (version: string, latest: string) =>
      `Customers can download ${version}. A download without a version still gives ${latest}.`,
    never: 'The package cannot be changed after that.',
    submit: (version: string) => `Publish ${version}`,
    busy: 'Publishing...',
  },
  rollout: {
    title: (version: string) => `Roll out ${version}`,
    panel: (version: string) => `Rollout of ${version}`,
    link: 'Roll out…',
    badge: (percent: string) => `to ${percent} %`,
    since: (day: string) => `published ${day}`,
    all: (version: string) => `All sites get ${version}.`,
    share: (version: string, percent: string) => `${percent} % of the sites get ${version}.`,
    others: (version: string) => `The others get ${version}.`,
    replaced: (version: string) => `${version} is no longer offered: sites are offered a newer version.`,
    caption: 'Downloads since the version was published',
    downloads: 'Downloads since then',
    refusals: 'Refused since then',
    to: (percent: string) => `${percent} %`,
    raise: (percent: string) => (percent === '100' ? 'Raise to all sites' : `Raise to ${percent} %`),
    stop: 'Stop…',
    hint: 'You can only raise the share. “Stop” withdraws the version.',
    field: 'Offer it to',
    option: (percent: string) => (percent === '100' ? 'all sites' : `${percent} % of the sites`),
    fieldHint: 'You can raise the share later. This needs nginx.',
    onlyAll:
      'All sites get it. Only nginx, with its present files, can offer it to a part of the sites first.',
    refused: {
      newer: (version: string) =>
        `These sites get ${version}, which is newer. Nothing was changed. Raise the share of ${version} instead, or withdraw it.`,
      noAddress:
        'The address of the update XML is not known, so no share of the sites can be offered the version. Enter the address of your site under Settings, and let nginx serve the update XMLs.',
      silent: (url: string) =>
        `${url} does not answer, so it is not known whether nginx or Apache serves it. Only nginx can offer a version to a share of the sites.`,
      apache: (url: string) =>
        `${url} is served by Apache, which cannot offer a version to a share of the sites. Offer it to all sites, or let nginx serve the update XML.`,
      nginx: (url: string) =>
        `${url} would give every site the same: nginx has to have the present files. “licensing nginx” prints them. Neither Apache nor a panel’s static files can do it.`,
    },
  },
  changes,
  preview: {
    title: 'How will Joomla show it?',
    hint: 'A line that begins with security:, fix:, add:, change:, remove:, language: or note: goes into the list of that name.',
    /** Joomla's own texts */
    lists: {
      security: 'Security Fixes',
      fix: 'Bug Fixes',
      addition: 'New Features',
      change: 'Changes',
      remove: 'Removed Features',
      language: 'Language',
      note: 'Notes',
    },
  },
  security: {
    field: 'It closes a security hole',
    fieldHint:
      'Customers see lines that begin with “security:” first. After publishing, you can notify the customers by mail.',
    badge: 'Security release',
    title: (version: string) => `${version} closes a security hole.`,
    behindOf: (behind: string, counted: string) =>
      `${behind} of ${counted} sites that reported their version still run an older one`,
    tell: 'Notify the customers…',
    told: (at: string) => `The customers were notified: ${at}.`,
  },
  advice: {
    advisory: 'Advice for the users',
    advisoryHint:
      'What they should do, such as to change passwords. One line each, as in the changes. The mail, the customer’s page and Joomla show it first.',
    cve: 'CVE',
    cveHint: 'The names of the holes, such as CVE-2026-12345, with commas between them.',
    sameFixAs: 'Same fix as',
    sameFixAsHint: 'If it brings this fix to another branch. Each customer is notified once of both.',
    noOther: 'no other version',
  },
  notifyPage: {
    title: (version: string) => `Notify the customers about ${version}?`,
    count: (mails: number, shown: string) =>
      mails === 1 ? '1 mail will be sent.' : `${shown} mails will be sent.`,
    whom: (version: string) =>
      `The mail goes to customers whose licence covers ${version} and whose sites reported an older version or none. Each customer gets one mail in their language.`,
    once: 'You can do this once for this version. Sent mails cannot be taken back.',
    pace: 'At most 300 mails are sent per minute. The history of each licence shows the mail.',
    off: 'Mail is not set up, so nothing can be sent. The doctor shows what is missing.',
    told: (at: string, mails: string) => `The customers were notified: ${at}. Mails: ${mails}.`,
    already: (version: string) => `The customers were already notified about ${version}.`,
    everybody: 'Notify all customers…',
    whomAll: (version: string) =>
      `The mail goes to all customers without a mail so far whose sites reported an older version or none, even if their licence does not cover ${version}. Suspended, revoked and cancelled licences do not count, nor do refunded ones after their end.`,
    onceAll:
      'You can do this once for this version, even after you notified the customers whose licence covers it.',
    toldAll: (at: string) => `All customers were notified: ${at}.`,
    law: 'From 11 December 2027 the law asks for free security updates, even after the end of a licence (Regulation (EU) 2024/2847, Annex I). These plans keep them back. Change that first, and these customers get the update itself:',
    giveFree: (plan: string) => `Change ${plan}`,
    previewAll: 'The mail to customers whose licence does not cover the version',
    preview: 'The mail',
    sites: 'Sites and their versions',
    submit: (mails: number, shown: string) => (mails === 1 ? 'Send 1 mail' : `Send ${shown} mails`),
    busy: 'Queueing the mails...',
  },
  editPage: {
    title: (version: string) => `Edit ${version}`,
    about: 'The package and the number never change.',
    publish: (version: string) => `Publish ${version}…`,
    withdraw: (version: string) => `Withdraw ${version}…`,
  },
  sbom: {
    title: (version: string) => `SBOM of ${version}`,
    field: 'SBOM (.json)',
    fieldHint:
      'A software bill of materials: CycloneDX 1.4 or a later 1.x, or SPDX 2.3, as JSON of at most 5 MiB.',
    fieldNew: 'Empty: it is generated from the lock files in the package.',
    given: (format: string, day: string) => `SBOM: ${format}, uploaded ${day}.`,
    generated: (format: string, day: string) =>
      `SBOM: ${format}, generated from the lock files in the package ${day}.`,
    none: 'This version has no SBOM. No SBOM could be generated when its package was stored: the package has no readable lock file (composer.lock, vendor/composer/installed.json or package-lock.json), or this service did not yet generate SBOMs then.',
    hidden: 'Customers do not see it.',
    replaces: 'An uploaded SBOM replaces the present one.',
    upload: 'Upload an SBOM...',
    download: 'Download the SBOM',
    submit: 'Store it',
    refused: {
      empty: 'The SBOM is an empty file. Choose another file.',
      'too-large': 'The SBOM is larger than 5 MiB. Leave out what your extension does not contain.',
      'no-json': 'The SBOM is not JSON in UTF-8. Export it as CycloneDX or SPDX JSON.',
      unknown: 'This JSON is neither CycloneDX (bomFormat, specVersion) nor SPDX (spdxVersion).',
    } as Record<string, string>,
    refusedVersion: (format: string) =>
      `The SBOM is ${format}. It must be CycloneDX 1.4 or a later 1.x, or SPDX 2.3.`,
  },
  withdrawPage: {
    title: (version: string) => `Withdraw ${version}?`,
    nobody: 'It can no longer be downloaded. Sites that have it keep it.',
    draft: 'It was never published, so no site has it.',
    then: (version: string) => `Customers then get ${version}.`,
    nothing: 'Customers then get nothing, because no other version is published.',
    offers: (version: string) =>
      `Joomla offers nothing below ${version} unless you allow it, because sites would go back to an older version.`,
    offersBefore: (version: string) =>
      `Joomla offers no version for testers below ${version}. Releases stay.`,
    same: (latest: string) => `Joomla still offers ${latest}.`,
    number: 'The number cannot be used again.',
    allow: 'Joomla may offer lower versions',
    allowHint:
      'A site that still lists the withdrawn version would install a lower one, and Joomla would report success.',
    submit: (version: string) => `Withdraw ${version}`,
    busy: 'Withdrawing...',
    back: 'Keep it',
  },
};
