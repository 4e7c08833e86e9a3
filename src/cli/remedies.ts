import type {
  RemedyAction,
  CauseFacts,
  FindingCode,
  Finding,
  Named,
  RequestFacts,
  StateFacts,
} from '../support/finding-model';
import { support } from '../texts/operators/en/support';
import { adviceOf, untracedSentences, type UntracedCode } from '../support/sentences';

/** Returns the commands that mend a finding: those of its action, after its advice. */

const DOCTOR = 'licensing doctor --url https://YOUR.SITE';

type Command = (facts: object) => string;

/** Commands for findings without an action. */
const COMMANDS: Partial<Record<FindingCode, Command>> = {
  SEVERAL_LICENSES: () => 'licensing why ID',
  PACKAGE_MISSING: () => 'licensing doctor',
  RATE_LIMITED_PROXY: () => `To find the cause: ${DOCTOR}`,
  BAD_PRODUCT_ID: () => 'To find the error: licensing update-xml lint',
  NO_KEY: (facts) =>
    requestOf(facts)?.joomla_version
      ? '"licensing update-xml lint" checks the XML, and "licensing manifest" shows the field.'
      : '',
  UNKNOWN_KEY: () => '"licensing why -" asks for the key. "licensing why EMAIL" looks for the customer.',
  WRONG_PRODUCT: (facts) =>
    requestOf(facts)?.endpoint === 'download' ? '"licensing update-xml lint" checks the XML.' : '',
  NOT_ACTIVATED: (facts) => {
    const request = requestOf(facts);
    return request?.endpoint === 'deactivate' &&
      (facts as CauseFacts['NOT_ACTIVATED']).license_status === 'active'
      ? `licensing activation list ${request.license_id}`
      : '';
  },
};

const OF_ACTIONS: {
  [Type in RemedyAction['type']]: (
    action: Extract<RemedyAction, { type: Type }>,
    finding: Pick<Finding, 'code' | 'facts'>,
  ) => string;
} = {
  renew: ({ license_id, for: time }) => `licensing license renew ${license_id} --for ${time}`,
  reinstate: ({ license_id }) => `licensing license reinstate ${license_id}`,
  issue: ({ plan_id, customer }) =>
    `To give the customer a new one: licensing license issue --plan ${plan_id}${customer === null ? '' : ` --customer ${customer}`}`,
  reveal: ({ license_id, key_id }, { facts }) =>
    `${'slip' in facts ? 'If so, the' : 'The'} customer needs the new key: licensing license reveal ${license_id}${key_id === undefined ? '' : ` --key-id ${key_id}`}`,
  send_key: ({ license_id }) =>
    `Once that or the customer's address is corrected: licensing mail send ${license_id}`,
  rekey: ({ license_id, key_id }) =>
    `A new key locks out the others: licensing license rekey ${license_id} --key-id ${key_id} --overlap 14d`,
  add_key: ({ license_id }) =>
    `If the customer may still use the licence, they need another key: licensing license key add ${license_id}`,
  change_limit: ({ license_id, activation_limit }, { facts }) =>
    `${freeSlot(license_id, facts)}; or licensing license set-limit ${license_id} ${activation_limit}`,
  change_key_limit: ({ license_id, key_id, activation_limit }, { facts }) =>
    `${freeSlot(license_id, facts)}; or licensing license key edit ${license_id} ${key_id} --limit ${activation_limit}`,
  add_activation: ({ license_id, identifier }) =>
    `Or do it for them: licensing activation add ${license_id} ${shellWord(identifier)}`,
  remove_activation: ({ license_id, identifier }) =>
    `licensing activation remove ${license_id} ${shellWord(identifier)}`,
  publish: ({ product_id, version }) =>
    `licensing release publish --product ${product_id} --version ${version ?? 'VERSION --file FILE'}`,
  write_update_xml: ({ product_id }, { code }) =>
    `${code === 'VERSION_WITHDRAWN' ? 'If it still does then, write the update XML again' : 'Write it again'}: licensing update-xml write --product ${product_id}`,
  change_product: ({ product_id, includes }, { facts }) =>
    `If product ${product_id} should also include ${(facts as { asked: Named }).asked.name}: licensing product edit ${product_id} --includes ${includes.join(',')}`,
  map_sku: ({ shop, sku }) => `licensing shop map ${shop} ${shellWord(sku, 'SKU')} --plan ID`,
  run_orders: ({ shop }) => `Once that is fixed: licensing shop run ${shop}`,
  confirm_order: ({ order_id }) => `licensing order confirm ${order_id}`,
  settle_unmatched: ({ shop }) =>
    `"licensing unmatched list --shop ${shop}" shows its ID: licensing unmatched assign ID --license ID, licensing unmatched issue ID, or licensing unmatched leave ID`,
  why: ({ license_id }) => `licensing why ${license_id}`,
};

/** Returns the remedy of a finding, often with a command at its end; null if there is none. */
export function remedyFor({ code, facts, action }: Finding): string | null {
  // The finding contains another one, about the request.
  if (code === 'IN_ACCESS_LOG')
    return remedyFor({
      ...(facts as StateFacts['IN_ACCESS_LOG']).access,
      action,
      since: null,
      count: null,
    });
  // The cast is needed: TypeScript does not see that the texts of an action's type accept that action.
  const words = OF_ACTIONS as Record<string, (action: RemedyAction, finding: object) => string>;
  const parts = [
    adviceOf(support, { code, facts }),
    COMMANDS[code]?.(facts),
    action && words[action.type]?.(action, { code, facts }),
  ].filter(Boolean);
  return parts.length === 0 ? null : parts.join(' ');
}

/** The commands that find failures without a record. */
const OF_UNTRACED: Partial<Record<UntracedCode, string>> = {
  NOT_OFFERED: 'To check: licensing update-xml lint.',
  CHECKSUM: 'To write it: licensing update-xml write.',
  NO_PACKAGE: `To check: ${DOCTOR}.`,
  PACKAGE_NOT_SENT: 'To check: licensing doctor.',
};

/** Failures without a record here, and how to recognise them. */
export const UNTRACED = untracedSentences('en').map(({ code, sentence }) => ({
  code,
  text: OF_UNTRACED[code] === undefined ? sentence : `${sentence} ${OF_UNTRACED[code]}`,
}));

function requestOf(facts: object): RequestFacts | undefined {
  return (facts as { request?: RequestFacts }).request;
}

function freeSlot(license: number, facts: object): string {
  const { activation_limit, activations_used } = facts as StateFacts['SLOTS_FULL'];
  const over = activations_used - activation_limit;
  return `licensing activation list ${license}, then "licensing activation remove ${license} IDENTIFIER"${over > 0 ? ` (${over + 1} of them)` : ''}`;
}

/** Returns an external text as a word of a shell command, or a placeholder if it needs quoting. */
function shellWord(text: string | undefined, placeholder = 'IDENTIFIER'): string {
  return text !== undefined && /^\w[\w.:@/-]*$/.test(text) ? text : placeholder;
}
