const FIELDS: Record<string, string> = {
  status: 'the state',
  expiry: 'the end',
  customer: 'the customer’s address',
};

/** The remarks of an import about rows, by code; also for the API and the command line. */
export const moved = {
  /** reasons why a row does not become a licence */
  leftOut: {
    'no-subscription': 'a Download ID whose user has no subscription that is moved',
    'later-row': 'the user has another main row of the same plan, which ends later',
    renewal: 'a renewal, which the main row of its plan has',
    'plan-gone': 'its plan no longer exists',
    pending: 'it was never paid (pending)',
    'cancelled-unpaid': 'it was cancelled before it was paid',
    'nothing-moved': 'a Download ID whose user has nothing that is moved',
    'level-gone': 'its level no longer exists',
    'new-or-pending': 'it was never paid (new or pending)',
    'never-paid': 'it was never paid',
    'product-gone': 'its product no longer exists',
    'no-product': 'the product is missing',
    'no-key': 'the key is missing',
    stock: 'stock that was never sold',
    encrypted: 'the key is encrypted: export the licences in the plugin, which decrypts them',
    'no-days': 'valid_for: this is not a number of days',
    'days-from-nowhere': 'valid for days, and the day that they count from is not known',
    cells: 'the row has another number of cells than the first line',
    'other-row': 'another row of the same licence counts',
    totals: 'the row has totals',
    'no-license-key': 'the sale has no licence key',
    preorder: 'a pre-order that is not charged yet',
    recurrence: 'this recurrence is not known',
    'empty-serial': 'the serial is empty',
    'several-lines': 'the serial has several lines: which one is the key is not known',
    'bad-reference': 'its id at the source does not fit a reference',
    'bad-end': 'its end is not a date',
    'same-id': 'its id is that of an earlier row',
    'keys-elsewhere':
      'all its keys belong to other licences, and either it does not work or those licences were here before',
    'key-as-number':
      'this is not a key: it is a number as a spreadsheet shows it. Export the table again, with the column as text',
    'key-too-short': 'this is not a key: it has too few characters',
    'key-of-digits': 'this is not a key: it has only digits, and too few',
    'key-not-typed': 'this is not a key: it is longer than 350 bytes, or has characters that cannot be typed',
    'many-sites': (most: string) => `it has more than ${most} sites`,
    'long-plan': (most: string) => `the name of its plan has more than ${most} characters`,
    'no-date': (column: string) => `${column}: this is not a date`,
    'no-number': (column: string) => `${column}: this is not a number of sites`,
    'unknown-state': (column: string) => `${column}: this state is not known`,
    'left-out-plan': (plan: string) => `plan ${plan} is left out by the map`,
    'unsaid-plan': (plan: string) => `plan "${plan}" is not assigned yet`,
  },
  /** remarks about a changed meaning */
  warnings: {
    'unpublished-key': 'An unpublished Download ID is imported and works: Membership Pro also ignored this',
    'unpublished-ends': 'An unpublished Download ID is imported as ended',
    'no-order': 'it belongs to a customer, but not to an order',
    'no-state':
      'the export has no state for it, as for keys that were switched off: it is imported as suspended',
    'user-gone': 'The user was deleted: its Download IDs did not work at the source',
    'no-states': 'this table has no states: refunded or revoked licences are imported as active',
    'renews-elsewhere': 'a subscription that continues at Gumroad: its end is that of the last charge',
    trial:
      'A free trial that is not paid yet: it ends one month after its beginning at the latest. Run the import again to take later payments',
    'users-cells':
      'A row of the users or orders has another number of cells than the first line, and is not read',
    'no-end': 'A user group has no end: the licence never expires',
    'several-seats':
      'sold for several seats, which the export does not count: the limit is that of the plan here',
    'site-twice': 'A site lies on two licences of one product: it takes a slot of each',
    'key-twice':
      'Another row has the same key and keeps it. A licence with no other key gets a new one: send it to the customer',
    'key-taken': 'The key belongs to another licence here, and stays there',
    'key-moves': 'A key moves here from a licence that was imported earlier',
    'case-twin': 'The key differs from another only in case or hyphens: each works only as it is written',
    'own-key': 'It gets a new main key: the source has no key for the whole licence',
    'key-not-kept': 'New keys can never be shown, because this service does not keep them',
    'ended-key': 'One of its keys no longer works, and is imported as ended',
    'over-limit': 'More sites than slots: all are kept, and new sites are refused',
    'main-key-ended': 'Its main key no longer works at the source: make a new key here',
    'ends-before-starts': 'It ends before it starts. It is imported as ended',
    'begins-later':
      'Bought ahead: it begins on a later day. It is imported as suspended, and the first run after that day makes it active',
    'ended-early': 'The source calls it expired, with an end that is still to come. It ends now',
    'no-customer':
      'The source has no address of the customer. Without it, the customer cannot open a page or get a mail',
    'bad-customer': 'The text of the customer is not an e-mail address, and is left out',
    'bad-site': 'A site that is not an address is left out',
    'not-sent-whole': 'The key cannot be used in Joomla’s Download Key field: its characters are lost',
    'bad-metadata': 'A text is too long for the metadata, has a line break or a licence key, and is left out',
    'no-cover': (plans: string, first: string, key: string) =>
      `None of the plans ${plans} covers the others: the customer's keys go to ${first}, and each other licence gets a new key. One plan can cover all of them: "${key}=PLAN"`,
  },
  /** reasons to refuse a table or a whole import; nothing has changed then */
  refusals: {
    'no-source': (name: string, known: string) =>
      `There is no source "${name}". There are ${known}. csv reads a table of any other system.`,
    'no-file': (title: string) => `The file of ${title} is missing.`,
    'file-not-read': (title: string) =>
      `${title} is read from the tables of its site, not from a file. Leave the file out.`,
    'users-not-read': (title: string, readers: string) =>
      `The export of ${title} needs no second table with users or orders; ${readers} read one. Leave it out.`,
    'empty-file': 'The file is empty. Nothing was imported.',
    'large-file': 'The file is larger than 128 MB. Export it in parts. Nothing was imported.',
    'not-text': (line: string) =>
      `The file is neither UTF-8 nor Windows-1252 (at line ${line} or somewhat after). Save it once more as "CSV UTF-8". Nothing was imported.`,
    'open-quote': (line: string) =>
      `Line ${line}: a cell begins with a quotation mark and does not end with one. Nothing was imported.`,
    'text-after-quote': (line: string) =>
      `Line ${line}: there is text after the quotation mark that ends a cell; inside a cell it is written twice. Nothing was imported.`,
    'quote-inside': (line: string) =>
      `Line ${line}: there is a quotation mark inside a cell that does not begin with one. Nothing was imported.`,
    'long-row': (line: string) =>
      `Line ${line}: the row is longer than 1 MB: a quotation mark may be missing. Nothing was imported.`,
    'many-cells': (line: string, most: string) =>
      `Line ${line}: the row has more than ${most} cells. Nothing was imported.`,
    'many-lines': (most: string) => `The file has more than ${most} lines. Nothing was imported.`,
    'many-plans': (most: string) =>
      `The file has more than ${most} plans: another column may be the one with the plans. Nothing was imported.`,
    'no-row': (line: string) =>
      `Line ${line}: this is not a row of comma-separated values. Nothing was imported.`,
    'column-twice': (name: string) => `The file has two columns "${name}". Nothing was imported.`,
    'several-columns': (field: string, ...columns: string[]) =>
      `Which column has ${FIELDS[field] ?? field}: ${columns.map((name) => `"${name}"`).join(' or ')}? Nothing was imported.`,
    'no-key-column': 'Which column of the first line has the licence keys? Nothing was imported.',
    'no-column': (name: string, columns: string) =>
      `The first line of the file, which must have the columns' names, has no column "${name}" (it has ${columns === '1' ? '1 column' : `${columns} columns`}). Nothing was imported.`,
    'other-table': (title: string, ...missing: string[]) =>
      `This is not the table that ${title} exports: its first line has no column ${missing.map((names) => names.replaceAll('|', ' or ')).join(', ')}. Nothing was imported.`,
    'foreign-column': (title: string, column: string) =>
      `This is not the table that ${title} exports: it has a column "${column}", as that of another system has. Nothing was imported.`,
    'other-people': (...missing: string[]) =>
      `This is neither a list of users nor of orders: its first line has no column ${missing.map((names) => names.replaceAll('|', ' or ')).join(', ')}. Nothing was imported.`,
    'which-dates': (column: string, day: string, asDay: string, month: string, asMonth: string) =>
      `Which comes first in the dates of column "${column}": the day (${day} is ${asDay}), or the month (${month} is ${asMonth})? Nothing was imported.`,
    'no-tables': (title: string, end: string) =>
      `The tables of ${title} are not in this database, or its user may not read them: there is no table whose name ends in ${end}.`,
    'several-sites': (...prefixes: string[]) =>
      `Several sites are in this database: ${prefixes.join(', ')}. Say which one.`,
    'bad-prefix': 'A prefix has letters, digits and underscores, such as jos_.',
    'missing-columns': (title: string, missing: string) =>
      `The tables of ${title} are not as they are known. This is missing: ${missing}. Either its version is another one, or the database user of the service may not read them.`,
    'no-flag': (table: string) => `The table ${table} has neither a column "published" nor "enabled".`,
    'several-components': (names: string) =>
      `The site has the subscriptions of several components: ${names}. Their Download IDs cannot be moved one after the other: remove the rows of those that are no longer in use.`,
    'confirm-columns': (title: string, columns: string) =>
      `The tables of ${title} are not known for certain. These columns were found: ${columns}. A dry run shows what they are read as. Then confirm them.`,
    'map-form':
      'Write the plans as THEIRS=OURS, with commas between: 3=7,4=8. 9=- leaves one out, 5=new:2:1y makes one with 2 sites for a year.',
    'map-twice': (key: string) => `"${key}" occurs twice.`,
    'no-plan-there': (key: string, known: string) =>
      `The source has no plan "${key}". It has ${known || 'none'}.`,
    'no-plan-here': (id: string) => `There is no plan ${id} here.`,
    'no-product-here': (id: string) => `There is no product ${id} here.`,
    'bad-rows': (count: string, ...rows: string[]) =>
      `${count === '1' ? 'One row does' : `${count} rows do`} not fit (${rows.join(', ')}${Number(count) > rows.length ? ', ...' : ''}). A dry run lists the reasons. Nothing was imported.`,
    'unsaid-plans': (_map: string, ...plans: string[]) =>
      `Nothing was imported: assign these plans, which have licences: ${plans.join(', ')}.`,
    'no-category': (id: string) => `The source has no category ${id}.`,
    meanwhile:
      'Meanwhile, another licence was issued with one of these keys or references. Nothing was imported. Try again.',
    'no-import': (id: string) => `There is no import ${id}.`,
    'undone-before': (id: string) => `Import ${id} is already undone.`,
  },
  /** reasons why an undone import leaves something */
  stays: {
    activated: 'it was activated',
    downloaded: 'something was downloaded with it',
    ordered: 'an order belongs to it',
    changed: 'it was changed',
    'older-key': 'it has a key that another licence had before',
    'later-run': 'a later move has changed it: undo that one to remove it',
    'earlier-run': 'an earlier move imported it, and the changes by this move stay',
    'in-use': 'something else still uses it',
    'in-shop': 'a shop sells it',
    included: 'another product includes it',
  },
};
