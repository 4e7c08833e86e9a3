import type { OperatorError, RefusalFacts } from '../licensing/operator-error';

const HINTS: { [Facts in RefusalFacts as Facts['reason']]: (facts: Facts) => string } = {
  'no-product': () => '"licensing product list" shows the products.',
  'no-plan': () => '"licensing plan list" shows the plans.',
  'no-higher-id': () => 'Choose one with --id.',
  'product-in-use': () =>
    'A plan without licences can be removed ("licensing plan remove"), a version cannot.',
  'includes-others': ({ product }) => `"licensing product show ${product}" shows which.`,
  'is-included': ({ by }) =>
    `Remove it there first: "licensing product edit ${by} --includes" with the other ids, or none.`,
  undecided: () => 'Decide with --licenses follow or --licenses keep.',
  'counts-otherwise': () => '',
  'plan-in-use': ({ plan }) => `"licensing license list --plan ${plan}" shows its licences.`,
  'plan-in-shop': ({ shop, sku }) =>
    sku === null
      ? `Choose another plan first: "licensing shop edit ${shop} --test-plan".`
      : `Remove the article from the map first: "licensing shop unmap ${shop} SKU".`,
  'other-product': () => 'To move it anyway: --yes.',
  'customer-exists': () => 'To merge both: --join.',
  'no-shop': () => '"licensing shop list" shows the shops.',
  'no-order': () => '"licensing order list" shows the orders, newest first.',
  'no-unmatched': () => '"licensing unmatched list" shows all unmatched events.',
  'unmatched-done': () => '"licensing unmatched list --state STATE" shows its outcome.',
  'pays-nothing': ({ unmatched }) =>
    `Name the licence that it is about: licensing unmatched assign ${unmatched} --license ID`,
  'other-order': ({ unmatched }) => `To settle it without a change: licensing unmatched leave ${unmatched}`,
  'lifetime-license': () => '"--until" gives it an end.',
  'other-plan': () => 'To change its plan: "licensing license change-plan".',
  'other-customer': ({ license }) => `"licensing license show ${license}" shows its customer.`,
  'no-keys': ({ order }) => `"licensing order show ${order}" shows what it waits for.`,
  'no-address': ({ order }) =>
    `"licensing order show ${order}" shows its licences, and "licensing license set-customer" sets the customer of one.`,
  'mail-off': () => '"licensing doctor" shows what is missing (docs/mail.md).',
  'no-mail': () => '"licensing mail list" shows them.',
  'mail-not-failed': () => '"licensing mail list --failed" shows the mails that were.',
  'mail-only-once': ({ mail }) => `To take it off the lists: licensing mail dismiss ${mail}`,
  'no-customer': ({ license }) => `To set its customer: licensing license set-customer ${license} EMAIL`,
  'license-final': () => 'A new sale gets a new licence: "licensing license issue --send".',
  'key-not-kept': ({ license }) => `"licensing license rekey ${license}" makes a new one.`,
  'no-key': ({ license }) => `"licensing license key list ${license}" shows its keys.`,
  'key-ended': () => 'Add another key.',
  'main-key': ({ license }) => `"licensing license rekey ${license}" does that.`,
  'no-license-named': () => '"licensing why" also finds one by the end of its key, its customer or its site.',
  'nothing-found': () => '"licensing license list" shows them all.',
  'not-activated': ({ license }) => `"licensing activation list ${license}" shows its activations.`,
  activated: ({ license }) => `Remove those first: "licensing activation remove ${license} IDENTIFIER".`,
  'no-draft': () => 'Name the package with --file.',
  'no-draft-package': () => 'Name it again with --file.',
  'no-version': ({ product }) => `"licensing release list --product ${product}" shows its versions.`,
  'xml-of-another': ({ product }) =>
    `Name another file: licensing update-xml write --product ${product} --out FILE`,
  'no-zip': () => '',
  'bad-sbom': () => '',
  'no-version-inside': () => '',
  'disk-full': () => '',
  'folder-closed': () => '"licensing doctor" says what to do.',
  'not-security': () => 'To mark it: licensing release edit --security.',
  'is-notified': () => '',
  'is-published': () => '',
  'is-withdrawn': () => '',
  'equal-version': () => '',
  'other-update-server': () => 'To publish it anyway: --new-update-server.',
  'foreign-server': () => 'To publish it anyway: --new-update-server.',
  'too-much-xml': ({ product }) =>
    `\nPack it again with its XML files, except the manifest, in folders within folders; ${notForJoomla(product)}`,
  'no-manifest': ({ product }) =>
    product === undefined ? '' : `\nPack it again with the manifest at its top; ${notForJoomla(product)}`,
  'package-lacks': () =>
    'Pack it again with these files; or, if Joomla can do without them, publish it with --unchecked.',
  'rollout-draft': () => '"licensing release publish --rollout" does both.',
  'rollout-no-address': () => '',
  'rollout-silent': () => '',
  'rollout-apache': () => '',
  'rollout-replaced': () => '',
  'rollout-nginx': () => '',
  'without-lines': () => 'To publish it anyway: --unchecked.',
  'malformed-manifest': () => 'Correct it there and pack it again.',
  'manifest-version': ({ version }) =>
    `Correct <version> in the manifest and pack it again${version === undefined ? '' : `, or publish it with --version ${version}`}.`,
  'other-element': ({ product, element, inPackage }) =>
    `\nPublish the package of "${element}"; or, if the product's element is wrong: licensing product edit ${product} --element ${inPackage}`,
  'no-package': () => 'Restore it, or leave --packages out.',
  'not-an-export': () =>
    '"licensing export" writes such a file; a table of another system is imported with --from csv.',
  'sealed-elsewhere': () =>
    'Set the secret of the installation that the file comes from. If this database already has keys sealed with a secret of its own, import with --without-sealed-keys instead: the licences work, but "license reveal" cannot show their keys.',
  'token-name': () =>
    '"licensing token list" shows it; to replace it, revoke it first: "licensing token revoke ID".',
  'no-token': () => '"licensing token list" shows the tokens.',
  'is-operator': () => 'To give them another scope, remove them first: "licensing operator remove EMAIL".',
  'no-webhook': () => '"licensing webhook list" shows the webhooks.',
  'webhook-address': () => '',
  'no-operator': () => '"licensing operator list" shows the operators.',
  'no-key-secret': () =>
    'Write a line LICENSING_KEY_SECRET=... into .env (openssl rand -base64 32 makes a value), and restart the service.',
  'no-signing-key': () => '"licensing signing-key list" shows the keys.',
  'signing-key-retired': () =>
    'If someone else may have it: --compromised. "licensing signing-key list" shows which key signs.',
  'last-signing-key': () => 'Add the next one first: "licensing signing-key add".',
  'mail-refused': () => '',
  'secret-elsewhere': () => '',
  'mail-server': () => 'To save it anyway: --untried.',
  'in-environment': () => '"licensing settings list" shows the values in effect.',
  'mail-text': () => '"licensing mail text show" prints the text that is sent now.',
  'text-file': () => '"licensing mail text list" shows which texts are files.',
  'import-refused': ({ code, facts }) => IMPORT_HINTS[code]?.(...facts) ?? '',
};

const IMPORT_HINTS: Record<string, ((...facts: string[]) => string) | undefined> = {
  'no-import': () => '"licensing import --list" shows them.',
  'undone-before': () => '"licensing import --list" shows them.',
  'unsaid-plans': (map) => `Map them with --plans "${map}", where "-" leaves one out, or add --make-plans.`,
  'which-dates': () => 'Choose with --dates dmy or --dates mdy.',
  'confirm-columns': () => 'Check them with --dry-run, then add --confirm-columns.',
  'no-key-column': () => 'Name it with --map key=COLUMN.',
  'several-columns': (field) => `Choose with --map ${field}=COLUMN, or leave the others out with --ignore.`,
  'bad-rows': () => '--skip-bad-rows imports the others.',
  'several-sites': () => 'Choose with --site-prefix PREFIX.',
};

function notForJoomla(product: number): string {
  return `or, if the product is not for Joomla: licensing product edit ${product} --element ''`;
}

/** Returns a refusal's message with the command to type next. */
export function withHint({ message, facts }: OperatorError): string {
  if (facts === undefined) return message;
  // The cast is needed: TypeScript does not see that the hint accepts these facts.
  const hints: Record<string, ((facts: never) => string) | undefined> = HINTS;
  const hint = hints[facts.reason]?.(facts as never) ?? '';
  return message + (hint === '' || hint.startsWith('\n') ? '' : ' ') + hint;
}

const SCHEMA_HINTS = {
  pending: ' Run "licensing migrate", then start again.',
  'other-schema':
    ' To carry the data over: "licensing export" with the version that made them, then "licensing migrate" and "licensing import" with this one on a new database (docs/upgrade.md, "Tables of another version").',
  'no-file': ' Correct LICENSING_DATABASE_URL, or make a new database there: "licensing migrate".',
};

/** Like `withHint`, for a SchemaError of the command or of the service's start. */
export function withSchemaHint(error: {
  message: string;
  facts?: { reason: keyof typeof SCHEMA_HINTS } | undefined;
}): string {
  const { message, facts } = error;
  return message + (facts === undefined ? '' : SCHEMA_HINTS[facts.reason]);
}

/** Returns the option or argument that fills a JSON field. */
export function optionOf(field: string): string {
  return OPTIONS[field] ?? field.replaceAll('_', '-');
}

const OPTIONS: Record<string, string> = {
  expires_at: 'expires',
  plan_id: 'plan',
  product_id: 'product',
  test_plan_id: 'test-plan',
};

/** The advice about a key that `isUrlSafeKey` refuses. */
export const REKEY = '"licensing license rekey" makes another.';
