import { countOf } from '../../../base/count-of';
import { describeStored, mailRemedy } from '../failures';
import type {
  CatchUpLack,
  Challenge,
  Connections,
  DoctorWords,
  MailIsOff,
  SeenNode,
  SettingSources,
  Sizes,
  StaleXml,
  FailedOrder,
  UnmappedArticle,
} from '../doctor';
import { mailServerInWords } from '../mail-server';
import { failures } from './failures';
import { settings } from './settings';

/** The findings of the doctor, in English. */

const ENTER_ADDRESS = 'Enter it under Settings, or: licensing settings set public_url https://shop.example';

const meanwhile = 'Meanwhile every process counts requests by itself: limits are as many times too high.';

function remedyOfXmlFolder(command: string): string {
  return `As root: ${command}; or correct LICENSING_XML_DIR.`;
}

function needs({ instances, needed }: Connections): string {
  return `${instances} ${instances === 1 ? 'instance needs' : 'instances need'} up to ${countOf(needed, 'connection')}`;
}

function noConnection({ needed, setting }: Connections) {
  return {
    why: 'If none is free, requests are answered 503, and the site next to it also fails.',
    remedy: `Raise ${setting} to ${Math.max(100, 2 * needed)} or more, lower LICENSING_DATABASE_CONNECTIONS, or run fewer instances.`,
  };
}

function nodes(seen: SeenNode[]): string {
  const states = seen.map(
    ({ name, isInUse, reason }) => `${name} ${isInUse ? 'is in use' : (reason ?? 'can be written to')}`,
  );
  return `Of ${countOf(seen.length, 'database server')}, ${states.join(', ')}.`;
}

function cluster(size: number): string {
  return `The database is a Galera cluster of ${countOf(size, 'node')}.`;
}

function thenRestart(command: string): string {
  return `As root: ${command}; then restart the service (deploy/restart-in-turns), write the web server's files again (licensing nginx)`;
}

/** @param place the path of the update XML files on the site */
function unserved(what: string, place: string): DoctorWords {
  return {
    what,
    why: "Joomla asks there for updates, if the extension's manifest names this address.",
    remedy: `Let the web server serve LICENSING_XML_DIR at ${place}: licensing nginx (docs/nginx.md) or docs/apache.md; and see that LICENSING_PUBLIC_URL is the site's address.`,
  };
}

const CHALLENGED = {
  all: 'All programs are stopped.',
  joomla: "Only Joomla's updater is stopped, so nothing else shows this.",
  others: "Other programs are stopped, but not Joomla's updater.",
};

export const doctor = {
  /** words inside a list */
  as: 'as',
  at: 'at',
  or: 'or',
  key: 'key',
  mode: 'mode',
  nothingKnown: 'Nothing is known about it, neither good nor bad.',
  /** addresses of the former system */
  formerly: {
    notAsked: {
      what: 'The addresses of the former system (LICENSING_FORMERLY) were not asked.',
      remedy: 'licensing doctor --url https://YOUR.SITE asks each of them.',
    },
    answers: (host: string, names: string) => `${host} answers ${names}.`,
    /** @param status the status of a different answer; undefined: no answer, and `said` has the reason */
    unanswered: (
      host: string,
      name: string,
      status: number | undefined,
      said: string | undefined,
    ): DoctorWords => ({
      what: `${host} does not answer ${name} in place of the former system${status === undefined ? '' : `: the answer is ${status}, and another`}.`,
      said,
      why: 'Sites that still ask this address get no updates.',
      remedy:
        "Write the web server's files again (licensing nginx, licensing apache), and reload it: docs/moving-in-addresses.md.",
    }),
    asked: (log: string, told: string) => `${log} has the addresses of the former system: ${told}.`,
    noneAsked: (log: string) => `${log} has no request for an address of another system.`,
    unlisted: (log: string, told: string) => ({
      what: `${log} has addresses of another system that LICENSING_FORMERLY does not name: ${told}.`,
      why: 'Once that system no longer answers, the sites that ask them get no updates.',
      remedy: 'Name them with their products: docs/moving-in-addresses.md.',
    }),
    /** @param lastDay null: unknown */
    times: (name: string, times: number, lastDay: string | null) =>
      times === 0
        ? `${name} not asked`
        : `${name} ${countOf(times, 'time')}${lastDay === null ? '' : `, the last on ${lastDay}`}`,
  },
  checkFailed: (code: string, said: string): DoctorWords => ({
    what: `${code} could not be checked: ${said}.`,
  }),
  challenged: ({ by, url, status, paths, who }: Challenge) => ({
    what: `${by} answers ${status} for ${url}, with a check that only a browser passes or with a refusal.${who === undefined ? '' : ` ${CHALLENGED[who]}`}`,
    why: "Joomla's updater, extensions that check a licence, and payment services are programs.",
    remedy: `${by} answers instead of the site, because a program sent the request. In its settings, exempt all addresses that contain one of these paths from every check of visitors: ${paths.join(', ')}. The first one includes the packages (downloads/) and the messages of payment services (hooks/). See "Behind a CDN" in docs/nginx.md.`,
  }),
  apiTokens: (count: number, named: string) =>
    count === 0
      ? 'The API has no token of its own.'
      : `The API has ${countOf(count, 'token')} of its own: ${named}.`,
  joomlaOff: {
    'no-site': 'LICENSING_JOOMLA_ROOT is not set',
    sqlite: "the service's database is SQLite, which cannot read the site's tables",
    'other-server': "the site's database is on another server than the service's",
    'no-secret': "$secret of the site's configuration.php is empty",
    'no-plugin': 'the site\'s plugin "API Authentication - Web Services Joomla Token" is disabled',
  },
  joomlaTokensOff: (why: string): DoctorWords => ({ what: `Joomla API tokens are not accepted: ${why}.` }),
  joomlaTablesShut: (tables: string, statements: string): DoctorWords => ({
    what: `Joomla API tokens are not accepted: the database user cannot read the site's tables ${tables}.`,
    remedy: `To accept them, as the database's administrator: ${statements}`,
  }),
  joomlaTokens: (named: string) =>
    `Joomla API tokens are accepted from super users and these groups: ${named || 'none'}.`,
  joomlaGroups: (ids: string): DoctorWords => ({
    what: `The site has no user groups with these ids: ${ids}.`,
    why: 'Nobody can manage licences by them.',
    remedy: 'Correct LICENSING_OPERATOR_GROUPS. Joomla shows the ids under Users, Groups.',
  }),
  doorOff: {
    'no-site': 'LICENSING_JOOMLA_ROOT is not set',
    sqlite: "the service's database is SQLite, which cannot read the site's tables",
    'other-server': "the site's database is on another server than the service's",
    tables: "the database user cannot read the site's tables (see above)",
    'no-secret': "$secret of the site's configuration.php is empty",
    'no-address': 'LICENSING_PUBLIC_URL is not set',
  },
  doorShut: (why: string) => `Nobody comes in through the site's Joomla: ${why}.`,
  doorOpen: "Administrators of the site come in through Joomla's Components > Licensing.",
  doorMissing: {
    what: 'Administrators of the site could come in through Joomla, but the component is not there, or switched off.',
    remedy: 'licensing joomla-door --out com_licensing.zip (docs/joomla-door.md)',
  } as DoctorWords,
  tokensEnding: (count: number, named: string): DoctorWords => ({
    what: `${countOf(count, 'API token')} will expire soon: ${named}.`,
    why: 'The shop or script that uses it is refused from then on.',
    remedy:
      'At a quiet time, revoke it and make another of the same name, which sees the same licences: licensing token add --help',
  }),
  tokensRefused: (named: string): DoctorWords => ({
    what: `API tokens are refused: ${named}.`,
    why: "They were made through a Joomla account, and the account's right cannot be checked.",
    remedy: 'Make new ones: licensing token add --help',
  }),
  bundleEmpty: (name: string): DoctorWords => ({
    what: `Product ${name} includes all products, and there are none.`,
    why: 'Its licences cover nothing but the product itself.',
    remedy: 'Add the products: licensing product add. Those that include others do not count.',
  }),
  supportEnds: (name: string, id: number, until: string, isOver: boolean): DoctorWords => ({
    what: isOver
      ? `The support period of product ${name} ended with ${until}.`
      : `The support period of product ${name} ends with ${until}.`,
    why: 'Customers see this month. Nothing is refused after it.',
    remedy: `Extend it: licensing product edit ${id} --support-until YYYY-MM; or tell customers that no more security updates follow.`,
  }),
  supportShort: (name: string, id: number, until: string): DoctorWords => ({
    what: `The support period of product ${name} ends with ${until}, less than five years after its first version.`,
    why: 'Article 13(8) of Regulation (EU) 2024/2847 asks for five years, unless the product is expected to be in use for less.',
    remedy: `licensing product edit ${id} --support-until YYYY-MM`,
  }),
  securityKeptBack: (name: string, plans: string, plan: number): DoctorWords => ({
    what: `Product ${name} has a security release, and these plans keep it from expired licences: ${plans}.`,
    why: 'Customers whose licence has ended keep a version with the hole. From 11 December 2027, Regulation (EU) 2024/2847 asks for free security updates.',
    remedy: `licensing plan edit ${plan} --after-expiry security`,
  }),
  productUnsold: (name: string, id: number, bundles: string, first: number): DoctorWords => ({
    what: `Product ${name} has published versions, and no plan to sell them with${bundles !== '' ? `, nor have the products that include it: ${bundles}` : ''}.`,
    why: 'No licence covers it, so nobody can download it.',
    remedy: `licensing plan add --product ${first}; or add ${id} to the --includes of a product that has a plan`,
  }),
  settings: ({ file, inFile, inEnvironment, site }: SettingSources) => {
    const sources = [
      ...(file === undefined ? [] : [`${file} (${inFile || 'nothing'})`]),
      ...(inEnvironment === '' ? [] : [`the environment (${inEnvironment})`]),
      ...(site === undefined ? [] : [`the Joomla site in ${site}`]),
    ];
    return `The settings come from ${sources.join(', and ')}.`;
  },
  envFileHolds: 'It holds what opens the database and the sealed licence keys.',
  databaseFileHolds: "It holds customers' addresses, orders and sites, and the sealed licence keys.",
  closeFiles: (isShared: boolean, command: string) =>
    `As root, with ${isShared ? "a user of the service's own (docs/production.md)" : 'the user the service runs as'}: ${command}`,
  filesPublic: (files: string, why: string, remedy: string): DoctorWords => ({
    what: `Every user of this machine can read ${files}.`,
    why,
    remedy,
  }),
  filesForNginx: (user: string, files: string, why: string, remedy: string): DoctorWords => ({
    what: `nginx's user ${user} can read ${files}.`,
    why: `${why} The site's PHP mostly runs as that user: a hole in any extension of the site is enough.`,
    remedy,
  }),
  filesClosed: (files: string) => `Not readable by every user: ${files}.`,
  settingOverridden: (names: string, file: string): DoctorWords => ({
    what: `The environment sets ${names} otherwise than ${file}, and goes first.`,
    why: 'This command may work with other settings than the service does.',
    remedy: 'Set it in one place only: the file, which every command reads.',
  }),
  unknownSetting: (text: string): DoctorWords => ({
    what: text,
    why: 'The setting that was meant has its default value.',
    remedy: 'Correct its name, or remove it.',
  }),
  proxiesEverybody: (named: string): DoctorWords => ({
    what: `LICENSING_TRUSTED_PROXIES trusts every address (${named}).`,
    why: 'Any client can name any address as its own, and so escape the rate limit.',
    remedy: 'Name the proxies alone; 127.0.0.0/8,::1 for nginx on this machine.',
  }),
  databaseUnreachable: (where: string, reason: string, remedy: string): DoctorWords => ({
    what: `The database (${where}) cannot be used: ${reason}.`,
    why: 'Without it every request is answered 503.',
    remedy,
  }),
  databaseSqlite: (where: string): DoctorWords => ({
    what: `The database is ${where}.`,
    why: 'It serves one process, and nothing but a copy of its file backs it up.',
    remedy:
      'For a shop in earnest: LICENSING_DATABASE_URL=mysql://...; "licensing export" and "import" move the data.',
  }),
  databaseAnswers: (where: string) => `The database answers: ${where}.`,
  databaseSession: (settings: string) =>
    `The server's own settings are ${settings}; this program sets what it needs on each of its connections.`,
  schemaOther: (other: string): DoctorWords => ({
    what: `The tables are those of another version before 1.0.0 (${other}).`,
    why: 'This version neither starts on them nor can change them.',
    remedy:
      'Export with the version that made them, and import here into a new database (docs/upgrade.md, "Tables of another version").',
  }),
  schemaNewer: (names: string): DoctorWords => ({
    what: `The tables were made by a newer version of this program (${names}).`,
    why: 'This version does not start on them.',
    remedy: 'Install that version again, or restore the backup made before the upgrade.',
  }),
  tablesMissing: (names: string): DoctorWords => ({
    what: `There is no table ${names}.`,
    why: 'Requests that need it fail.',
    remedy: 'Restore it from a backup (docs/backup.md).',
  }),
  schemaOld: (names: string): DoctorWords => ({
    what: `The tables are not those of this version (missing: ${names}).`,
    why: 'The service does not start on them.',
    remedy: 'licensing migrate',
  }),
  schemaFits: 'The tables are those of this version.',
  otherPrefix: (hasTables: boolean, own: string, others: string, prefixes: string[]): DoctorWords => ({
    what: `${hasTables ? `The tables named ${own} are empty` : `There are no tables named ${own}`}, and there are ${others} in the same database.`,
    why: 'If those are the ones with the licences, every key is unknown to this service.',
    remedy: `${prefixes.map((prefix) => (prefix === '' ? 'LICENSING_DATABASE_URL, without LICENSING_TABLE_PREFIX and LICENSING_JOOMLA_ROOT,' : `LICENSING_TABLE_PREFIX=${prefix}`)).join(' or ')} in .env, then start again. Or, for a new shop next to the other: ${hasTables ? 'licensing product add' : 'a LICENSING_TABLE_PREFIX of its own, and licensing migrate'}.`,
  }),
  tableEngine: (names: string, remedy: string): DoctorWords => ({
    what: `Not in InnoDB: ${names}.`,
    why: 'Without transactions and row locks, slots are not exact and a crash loses changes.',
    remedy,
  }),
  sharedDatabase: (count: number, prefix: string): DoctorWords => ({
    what: `The database also holds ${countOf(count, 'table')} of others, such as the site's.`,
    why: "Restoring the site's backup rewinds licences too: keys sold since are unknown, renewals and activations are gone.",
    remedy: `Before restoring the site, dump the tables named ${prefix}licensing_..., and put them back afterwards (docs/backup.md). Or leave them out of the restore.`,
  }),
  sizes: (sizes: Sizes) => {
    const list = sizes.map(
      ({ name, bytes, rows }) =>
        `${name} ${(bytes / 1e6).toFixed(1)} MB${rows === undefined ? '' : ` (about ${countOf(rows, 'row')})`}`,
    );
    return `On the disk: ${list.join(', ')}.`;
  },
  databaseVersion: (name: string) => `It is ${name}.`,
  databaseTooOld: (name: string, needed: string): DoctorWords => ({
    what: `It is ${name}.`,
    why: `The service needs ${needed}.`,
    remedy: 'Upgrade the server, or give the service a database of its own on a newer one.',
  }),
  connections: (one: Connections) => `${needs(one)}, and the server allows ${one.allowed} (${one.setting}).`,
  connectionsMissing: (one: Connections): DoctorWords => ({
    what: `${needs(one)}, and the server allows ${one.allowed} (${one.setting}).`,
    ...noConnection(one),
  }),
  connectionsShared: (instances: number, fits: number, allowed: number, share: number): DoctorWords => ({
    what: `The database user may have ${countOf(allowed, 'connection')} at once (max_user_connections), and the site may need some of them. ${countOf(instances, 'instance')} would use up to ${fits / 2} and may use ${share}.`,
    why: 'When many requests arrive at once, they wait for a connection.',
    remedy: `Raise max_user_connections to ${fits}, so that the site has as many connections as the service, or ask your host to do so.`,
  }),
  connectionsScarce: (one: Connections): DoctorWords => ({
    what: `${needs(one)}, more than half of the ${one.allowed} the server allows (${one.setting}).`,
    ...noConnection(one),
  }),
  clocksDiffer: (seconds: number, theirs: string, ours: string): DoctorWords => ({
    what: `The database's clock is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} this machine's (${theirs}, here ${ours}).`,
    why: 'Licences expire by the clock of this machine: if that is the wrong one, too early or too late.',
    remedy: 'Let both keep time: timedatectl set-ntp true',
  }),
  clocksAgree: (seconds: number) => `This machine's clock and the database's agree within ${seconds} s.`,
  withoutDatabase: (name: string): DoctorWords => ({
    what: `${name} could not be checked without the database.`,
  }),
  noKeySecret: {
    what: 'LICENSING_KEY_SECRET is not set: keys are shown once, when they are issued.',
    why: 'A customer who lost the key needs a new one, and a shop that asks for an order again gets no key.',
    remedy: 'licensing init sets it; keep a backup of .env.',
  },
  keySecretLost: {
    what: 'LICENSING_KEY_SECRET is not set, and there are keys sealed with one.',
    why: '"license reveal" cannot show them, and new keys are not kept.',
    remedy: 'Bring the secret back from the backup of .env.',
  },
  sealedKeys: (count: number) =>
    count === 0
      ? 'LICENSING_KEY_SECRET is set; no key is sealed yet.'
      : `The secret opens the sealed keys (${count} tried).`,
  sealedOtherwise: (count: number, all: number, ids: string): DoctorWords => ({
    what: `${count} of ${all} sealed keys ${count === 1 ? 'was' : 'were'} sealed with another secret: licences ${ids}.`,
    why: '"license reveal" cannot show them.',
    remedy: 'Set the LICENSING_KEY_SECRET this database was used with, from the backup of .env.',
  }),
  sealedDamaged: (ids: string): DoctorWords => ({
    what: `Sealed keys are damaged: licences ${ids}.`,
    why: '"license reveal" cannot show them. The keys themselves still work.',
    remedy:
      'Restore the column key_sealed of these rows of license_keys; or licensing license rekey ID --key-id KEY_ID, and tell the customer.',
  }),
  mailOff: {
    'no-site': 'LICENSING_MAIL_URL is not set, and there is no Joomla site to ask.',
    offline: "The site's configuration says that it sends no mail ($mailonline).",
    'no-sender': "The site's configuration has no sender ($mailfrom).",
    'no-server': "The site's configuration names no mail server ($smtphost).",
    unset: 'it is not set up.',
  } satisfies MailIsOff,
  mailIsOff: (why: string) => `Mail is off: ${why}`,
  /** @param described a result of `describeRoute` */
  mailFails: (described: string, source: string, stored: string, from: string): DoctorWords => ({
    what: `Mails cannot be sent by ${mailServerInWords(settings.mail, described)} (${source}): ${describeStored(failures.mail, stored)}.`,
    why: 'Mails wait, and are tried again for two days.',
    remedy: mailRemedy(failures, stored, from) ?? `Correct ${source}, and try: licensing mail test ADDRESS`,
  }),
  mailWithoutUrl: {
    what: 'Mail is off: LICENSING_PUBLIC_URL is not set.',
    why: 'Links in mails need the address of the site.',
    remedy: ENTER_ADDRESS,
  },
  mailText: (fault: string): DoctorWords => ({
    what: fault,
    why: 'The standard text is sent instead.',
    remedy: 'Correct the file (docs/mail.md); a restart is not needed.',
  }),
  mailWorks: (described: string, source: string) =>
    `Mails can be sent by ${mailServerInWords(settings.mail, described)} (${source}).`,
  mailsNotSent: (failed: number, waiting: number): DoctorWords => ({
    what: `Mails given up within a week: ${failed}. Mails that failed and are tried again: ${waiting}.`,
    why: 'Customers did not get their key, link or reminder.',
    remedy:
      '"licensing mail list --failed" shows why. Correct the address, then: licensing mail again ID, or licensing mail dismiss ID',
  }),
  workWaits: (mails: number, webhooks: boolean, isHosted: boolean): DoctorWords => ({
    what: `For more than an hour ${[
      ...(mails > 0 ? [countOf(mails, 'mail')] : []),
      ...(webhooks ? ['webhooks'] : []),
    ].join(' and ')} should have been sent.`,
    why: 'No process of the service has run since, or none can send.',
    remedy: isHosted
      ? 'Let the panel\'s cron run "licensing work" every ten minutes (docs/shared-hosting.md).'
      : 'Start the service, or run "licensing work" once, which says what fails.',
  }),
  nodes,
  nodesMissing: (seen: SeenNode[]): DoctorWords => ({
    what: nodes(seen),
    why: 'If the one in use fails, fewer servers are left, or none.',
    remedy:
      'Start those that cannot be used, and look into their logs; docs/cluster.md says how a node comes back.',
  }),
  cluster,
  clusterSmall: (size: number, needed: number): DoctorWords => ({
    what: cluster(size),
    why: 'When one of them dies, the rest has no majority, and every request is answered 503.',
    remedy: `Start the missing nodes, or add some: a cluster needs ${needed} (docs/cluster.md).`,
  }),
  clusterUnlisted: (size: number, listed: number): DoctorWords => ({
    what: `${cluster(size)} LICENSING_DATABASE_URL names ${listed} of them.`,
    why: 'The service cannot switch to a node that it does not know.',
    remedy:
      'List all nodes, in the same order for every instance: mysql://user:password@host1,host2,host3/database',
  }),
  databaseFlush: (name: string, flushes: string): DoctorWords => ({
    what: `${name} does not write every commit to its disk (innodb_flush_log_at_trx_commit = ${flushes}).`,
    why: 'Licences and activations that were acknowledged are lost when its machine fails.',
    remedy: `As the database's administrator: SET GLOBAL innodb_flush_log_at_trx_commit = 1; and the same in its configuration.`,
  }),
  ordersFailed: (count: number, orders: FailedOrder[]): DoctorWords => ({
    what: `${countOf(count, 'order', 'orders')} could not be processed: ${orders.map(({ shop, order, failure, failedAt }) => `${order} of ${shop} since ${failedAt} (${failure})`).join(', ')}.`,
    remedy: `They are tried again by themselves, the first at ${orders[0]?.retryAt ?? ''}; "licensing shop run SHOP" tries at once. If they keep failing, please report it with the reason.`,
  }),
  ordersWait: (count: number, shops: string, unmapped: UnmappedArticle[]): DoctorWords => ({
    what: `${countOf(count, 'order waits', 'orders wait')}, of ${shops}.${unmapped.length === 0 ? '' : ` Without a plan: ${unmapped.map(({ shop, sku }) => `"${sku}" of ${shop}`).join(', ')}.`}`,
    why: 'Customers paid, and have no licence.',
    remedy:
      unmapped.length === 0
        ? '"licensing order list --waiting" says what each waits for.'
        : '"licensing order list --waiting" says what each waits for, and "licensing shop map SHOP SKU --plan ID" maps an article.',
  }),
  ordersWithoutAddress: (count: number): DoctorWords => ({
    what: `${countOf(count, 'paid order has', 'paid orders have')} no e-mail address, so no key was sent.`,
    why: 'Customers paid, and have no key.',
    remedy:
      '"licensing order list --without-address" lists them. An address sends the key: licensing order set-customer ID EMAIL',
  }),
  shopsSilent: (names: string): DoctorWords => ({
    what: `No order has come yet from: ${names}.`,
    why: 'Each was set up more than a day ago. Its orders may not reach this service.',
    remedy: 'Place a test order (docs/shop.md), or remove the shop: licensing shop remove NAME',
  }),
  receiverNoSecret: (shop: string, count: number): DoctorWords => ({
    what: `${countOf(count, 'message', 'messages')} of ${shop} came, and it has no secret to verify them with.`,
    why: 'Every message is refused. Most senders repeat one for some days.',
    remedy: `Give it the secret that the sender shows for this address: licensing shop edit ${shop} --secret-file FILE`,
  }),
  receiverRefuses: (shop: string, count: number): DoctorWords => ({
    what: `${shop}: ${countOf(count, 'message was', 'messages were')} refused for a wrong secret, none was accepted: is it the secret of another address?`,
    why: 'Their payments and refunds did not change any licence.',
    remedy: `Compare it with the secret that the sender shows for this address: licensing shop edit ${shop} --secret-file FILE`,
  }),
  keysNotMailed: (shops: string): DoctorWords => ({
    what: `Mail is not set up, and the orders of ${shops} are to be mailed their keys.`,
    why: 'Customers who pay there get no key.',
    remedy:
      'Set mail up (docs/mail.md). If the shop hands the keys out itself: licensing shop edit NAME --mail none',
  }),
  messagesUnmatched: (shop: string, count: number): DoctorWords => ({
    what: `${countOf(count, 'payment', 'payments')} of ${shop} ${count === 1 ? 'matches' : 'match'} no order.`,
    why: 'A renewal, a change or a refund may be of an order from before the shop was set up: its licence stays as it is.',
    remedy: `"licensing unmatched list --shop ${shop}" lists them. Then, for each: licensing unmatched assign ID --license ID, or issue, or leave (docs/shop-waiting.md).`,
  }),
  catchUpFailed: (shop: string, why: string | undefined, last: string | undefined): DoctorWords => ({
    what: `${shop} could not be caught up${why === undefined ? '' : `: ${describeStored(failures.catchUp, why)}`}. It last was: ${last ?? 'never'}.`,
    why: 'Missed payments and refunds did not change any licence.',
    remedy: `Try it: licensing shop catch-up ${shop} (docs/shop-catch-up.md)`,
  }),
  caughtUp: (shops: { name: string; last: string | undefined }[]) =>
    `Last caught up: ${shops.map(({ name, last }) => `${name} (${last ?? 'not yet'})`).join(', ')}.`,
  /** @param help a command */
  catchUpNot: (shops: { name: string; state: CatchUpLack }[], help: string | undefined) =>
    `Missed messages of these shops cannot be caught up: ${shops.map(({ name, state }) => `${name} (${CATCH_UP_LACKS[state]})`).join(', ')}.${help === undefined ? '' : ` To change that: ${help}.`}`,
  paymentsFailUntold: (shops: string): DoctorWords => ({
    what: `Payments of subscriptions failed, and customers are not mailed where to pay: ${shops}.`,
    why: 'Most of these subscriptions end although their customers want to keep them.',
    remedy: 'Say where customers change how they pay: licensing shop edit NAME --billing-url https://...',
  }),
  messagesRefused: (shop: string, count: number): DoctorWords => ({
    what: `${countOf(count, 'message', 'messages')} of ${shop} in the last week could not be read or stored.`,
    why: 'They did not change any licence.',
    remedy: `"licensing shop messages ${shop}" lists them with the reason. WooCommerce sends an error instead of the order when the user who owns its webhook was deleted: save the webhook there again.`,
  }),
  receiverSecret: (names: string): DoctorWords => ({
    what: `The secret of these shops cannot be opened: ${names}.`,
    why: 'LICENSING_KEY_SECRET is not set, or differs from the one that sealed them. Their messages are refused.',
    remedy:
      'Set the one they were added with, or give each its secret again: licensing shop edit NAME --secret-file FILE',
  }),
  packagesFolder: (folder: string, command: string, said: string): DoctorWords => ({
    what: `The packages folder ${folder} cannot be used: ${said}.`,
    why: 'Downloads fail, and nothing can be published.',
    remedy: `As root, with the user the service runs as: ${command}; or correct LICENSING_PACKAGES_DIR.`,
  }),
  packagesAccessUnknown: (folder: string): DoctorWords => ({
    what: `As root, who may do everything, the doctor cannot check whether the service may read and write ${folder}.`,
    remedy: 'Run this as the user the service runs as: sudo -u USER licensing doctor',
  }),
  packagesUnreadable: (folder: string, user: string, answer: string): DoctorWords => ({
    what: `This user may not read ${folder}.`,
    why: `Run by this user, the service answers downloads with "${answer}".`,
    remedy: `As root, if this is the user the service runs as: chown -R ${user} ${folder}`,
  }),
  packagesNotWritable: (folder: string, user: string): DoctorWords => ({
    what: `This user may not write to ${folder}.`,
    why: '"licensing release publish" fails.',
    remedy: `As root, if this is the user who publishes: chown ${user} ${folder}; or publish as its owner.`,
  }),
  packagesAccess: (folder: string) => `This user may read and write ${folder}.`,
  packagesNginx: (user: string) => `nginx (${user}) can reach the packages.`,
  packagesForGroup: (group: string, folder: string) =>
    `nginx can reach the packages if its user belongs to the group ${group}: chgrp NGINX_GROUP ${folder} otherwise.`,
  packagesForAll: 'nginx can reach the packages.',
  nginxMayNotRead: (
    path: string,
    mode: string,
    command: string,
    user: string | undefined,
    answer: string,
  ): DoctorWords => ({
    what:
      user === undefined
        ? `Only its owner may read ${path} (mode ${mode}).`
        : `nginx, which runs as ${user}, may not read ${path} (mode ${mode}).`,
    why: `nginx sends the packages (LICENSING_ACCEL_LOCATION) as another user: downloads end with "${answer}".`,
    remedy: `As root: ${command}${user === undefined ? ' (NGINX_GROUP: the group nginx runs as, mostly www-data or nginx)' : ''}; then: licensing doctor`,
  }),
  spaceUnknown: (folder: string): DoctorWords => ({ what: `The space left in ${folder} cannot be read.` }),
  spaceLow: (folder: string, megabytes: number): DoctorWords => ({
    what: `Only ${megabytes.toFixed(1)} MB are free in ${folder}.`,
    why: 'The next package may not fit; if the database lies on the same disk, it stops too.',
    remedy: 'Make room, or move the packages: LICENSING_PACKAGES_DIR.',
  }),
  spaceLeft: (folder: string, megabytes: number) => `Free in ${folder}: ${megabytes.toFixed(0)} MB.`,
  noLeftovers: 'No half-published package is left.',
  leftovers: (folder: string, names: string, prefix: string, count: number): DoctorWords => ({
    what: `${countOf(count, 'half-copied package lies', 'half-copied packages lie')} in ${folder}: ${names}.`,
    why: 'A publish was interrupted. They are of no use and take room; nothing refers to them.',
    remedy: `The next "release publish" removes them; or: rm ${folder}/${prefix}*`,
  }),
  publicUrlUnset: {
    what: 'LICENSING_PUBLIC_URL is not set.',
    why: 'The service sends no mail, and "licensing sign-in" does not know the address of the pages.',
    remedy: ENTER_ADDRESS,
  },
  redisPassword: (said: string): DoctorWords => ({
    what: `Redis refuses this user: ${said}.`,
    why: meanwhile,
    remedy: 'Give the right user and password: LICENSING_REDIS_URL=redis://user:password@host:6379',
  }),
  redisUnreachable: (said: string): DoctorWords => ({
    what: `Redis cannot be used: ${said}.`,
    why: meanwhile,
    remedy: 'Check that it runs, and the host and port in LICENSING_REDIS_URL.',
  }),
  redisNotWritable: (said: string): DoctorWords => ({
    what: `Redis answers but takes no writes: ${said}.`,
    why: meanwhile,
    remedy:
      'A replica (READONLY): name the primary in LICENSING_REDIS_URL. Full (OOM): raise maxmemory. No right (NOPERM): allow this user the keys licensing:*.',
  }),
  redisWorks: 'Redis answers and takes writes.',
  limitsInDatabase:
    "Redis is not configured: the service counts requests in the site's database, for all processes that Passenger starts.",
  redisUnset:
    'Redis is not configured: the service counts requests in memory. Several instances would each count for themselves; ' +
    'the doctor sees only those that systemd started on this machine.',
  redisPerInstance: (count: number, names: string): DoctorWords => ({
    what: `Redis is not configured, and ${count} instances run on this machine (${names}).`,
    why: `Each counts requests by itself, so a client may send up to ${count} times LICENSING_RATE_LIMIT. Instances on other hosts would add to that; they cannot be seen from here.`,
    remedy: 'Set LICENSING_REDIS_URL, and restart the instances.',
  }),
  noSigningKey: 'There is no signing key: software that asks for signed answers gets unsigned ones.',
  signingKeyShut: (said: string, _kid: string): DoctorWords => ({
    what: said,
    why: 'Nothing can be signed with it: answers come unsigned, and machines without network get no file.',
    remedy:
      'Bring LICENSING_KEY_SECRET back from the backup of .env. If it is lost for good: licensing signing-key add, then licensing signing-key retire KID, and build the new key into your software.',
  }),
  signingKeys: (kid: string, count: number) =>
    `Signing key ${kid} signs; ${count} ${count === 1 ? 'key is' : 'keys are'} in keys.json.`,
  siteNotAsked: {
    what: 'The site was not looked at from outside.',
    remedy: 'licensing doctor --url https://YOUR.SITE',
  },
  socketUnknown: (name: string, socket: string): DoctorWords => ({
    what: `The doctor cannot check whether ${name} answers on ${socket}: this user may not connect to it.`,
    remedy: 'Run this as the user the service runs as: sudo -u USER licensing doctor',
  }),
  socketFault: (name: string, socket: string, fault: string): DoctorWords => ({
    what: `${name} runs, but its socket ${socket} ${fault === 'ENOENT' ? 'is gone' : `does not answer (${fault})`}.`,
    why: 'The web server does not reach this instance. If it is the only one, every customer gets 503.',
    remedy: `As root: systemctl restart ${name}`,
  }),
  socketsAnswer: (names: string) => `On its socket answers: ${names}.`,
  unitReadOnly: (
    name: string,
    path: string,
    setting: string,
    writable: string,
    remedy: string,
  ): DoctorWords => ({
    what: `${name} may not write to ${path} (${setting}), whatever its mode is.`,
    why: `Its unit makes everything read-only (ProtectSystem=strict), except ${writable || 'nothing'}.`,
    remedy,
  }),
  unitElsewhere: (home: string, setting: string) =>
    `Name a path below ${home} in ${setting}, and restart the service.`,
  unitXml: (command: string) => `${thenRestart(command)}, and: licensing update-xml write --product ID`,
  unitPackages: (command: string) => `${thenRestart(command)}.`,
  unitHome: (path: string): DoctorWords => ({
    what: `The unit hides ${path} from the service (ProtectHome).`,
    why: 'The service does not start, or finds the folder empty, although this command can read it.',
    remedy:
      'As root: systemctl edit licensing@.service, with the lines [Service] and ProtectHome=read-only; then restart the service.',
  }),
  xmlsFit: 'Every update XML offers what is published.',
  xmlStale: (id: number, { reason }: StaleXml): DoctorWords => ({
    what: `The update XML of product ${id} is stale: ${reason ?? ''}`,
    why: 'Joomla offers customers what that file says, not what is published.',
    remedy: `As a user who may write it: licensing update-xml write --product ${id}`,
  }),
  xmlFolder: (folder: string, command: string, said: string): DoctorWords => ({
    what: `The folder of the update XMLs ${folder} cannot be used: ${said}.`,
    why: 'What is published reaches no Joomla.',
    remedy: remedyOfXmlFolder(command),
  }),
  xmlNginx: (user: string, group: string, path: string, mode: string, address: string): DoctorWords => ({
    what: `nginx, which runs as ${user}, may not enter ${path} (mode ${mode}).`,
    why: `nginx serves the update XMLs at ${address} from there: Joomla gets 403.`,
    remedy: `As root: chgrp ${group} ${path} && chmod g+x ${path}; then: licensing doctor`,
  }),
  xmlAccessUnknown: (folder: string): DoctorWords => ({
    what: `As root, who may do everything, the doctor cannot check whether the service may write to ${folder}.`,
    remedy: 'Run this as the user the service runs as: sudo -u USER licensing doctor',
  }),
  xmlAccess: (folder: string) => `This user may write to ${folder}.`,
  xmlNotWritable: (folder: string, command: string): DoctorWords => ({
    what: `This user may not write to ${folder}.`,
    why: 'If it is the user the service runs as, its update XMLs stay as they are when something is published.',
    remedy: remedyOfXmlFolder(command),
  }),
  xmlServed: (address: string) => `${address} is the file that was written.`,
  xmlRefused: (address: string, place: string, status: number) =>
    unserved(`${address} answers ${status}.`, place),
  xmlWithoutBucket: (address: string, place: string) =>
    unserved(
      `${address} answers without X-Licensing-Bucket, so no share of the sites gets the version that is rolled out.`,
      place,
    ),
  changelogFails: (
    address: string,
    path: string,
    xml: string,
    status: number | undefined,
    said: string | undefined,
  ): DoctorWords => ({
    what: `The changelog ${address} ${status === undefined ? `cannot be reached: ${said ?? 'no answer'}` : `answers ${status}`}.`,
    why: 'Joomla shows it in its own window, before and after an update.',
    remedy: `Let the web server serve LICENSING_XML_DIR at ${path}; then: licensing update-xml lint ${xml}`,
  }),
  changelogFits: (address: string) => `Joomla can show the changelog ${address}.`,
  changelogWrong: (
    _address: string,
    { problem, remedy }: { problem: string; remedy?: string | undefined; line?: number | undefined },
  ): DoctorWords => ({
    what: problem,
    why: 'Joomla shows it in its own window, before and after an update.',
    remedy,
  }),
  xmlOther: (address: string, place: string) =>
    unserved(`${address} is another file than the one that was written.`, place),
  xmlUnreachable: (address: string, place: string, said: string) =>
    unserved(`${address} cannot be reached: ${said}.`, place),
  webhooksShut: {
    what: 'LICENSING_KEY_SECRET is not set, and there are webhooks: none is sent.',
    why: 'Their secrets are sealed with it. Their events wait.',
    remedy: 'Bring the secret back from the backup of .env.',
  },
  webhookSecret: (name: string, id: number): DoctorWords => ({
    what: `${name}: its secret cannot be opened.`,
    why: 'It was sealed with another LICENSING_KEY_SECRET, so nothing can be signed.',
    remedy: `Set the LICENSING_KEY_SECRET it was added with, or: licensing webhook rotate ${id}`,
  }),
  webhookStopped: (
    name: string,
    id: number,
    since: string,
    isGone: boolean,
    waiting: number,
    isMore: boolean,
  ): DoctorWords => ({
    what: `${name} was switched off on ${since}: ${isGone ? 'it answered 410 Gone' : 'it failed for days'}.`,
    why: `It is no longer notified. Waiting deliveries: ${waiting}${isMore ? ' or more' : ''}.`,
    remedy: `"licensing webhook deliveries ${id} --waiting" shows the answers; then: licensing webhook enable ${id}`,
  }),
  webhooks: (count: number) => `Webhooks go to ${countOf(count, 'address', 'addresses')}.`,
};

const CATCH_UP_LACKS: Record<CatchUpLack, string> = {
  no_key: 'has no API key',
  no_site: 'has no address of its site',
  cannot: 'its sender keeps no list',
};
