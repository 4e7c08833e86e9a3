import type { Command } from 'commander';
import { canonicalAddress } from '../licensing/ip-addresses';
import { asHint, canonicalKey, keyDigest } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import { formatTimestamp } from '../licensing/timestamps';
import type { Db } from '../store/database';
import { findLicense, findLicenseByDigest, findLicenseByReference, type License } from '../store/licenses';
import { inSnapshot } from '../store/transaction';
import { hasCause, UNTRACED } from '../support/explain-accesses';
import { explainReference } from '../support/explain-license';
import { NOTHING_FOUND } from '../support/explain-unknown-key';
import type { Finding, Told } from '../support/findings';
import {
  findLicensesByNearEmail,
  findLicensesNamed,
  openAddressCase,
  openHintCase,
  openLicenseCase,
  openListCase,
  openLoggedCase,
  openNearEmailCase,
  openUnknownKeyCase,
  type CaseOptions,
  type SupportCase,
} from '../support/support-case';
import { positiveInteger } from './arguments';
import { withSession } from './command';
import { printable } from './printable';
import { isMarked, requireLicense } from './license-argument';
import { readValue } from './standard-input';
import { licenseJson } from '../licensing/views';
import { licenseTable } from './tables';

export function addWhyCommand(program: Command): void {
  program
    .command('why')
    .summary('tell why a download or an activation was refused')
    .description(
      'Answers a customer\'s "why did my update fail?": how the licence stands, what was refused and what was granted lately, each with its remedy; and, where no cause is found, which failures leave no record. The key itself is never printed.',
    )
    .argument(
      '<what>',
      "an IP address; a licence's id or key; its customer's e-mail, its order's reference, the end of its key, or a site, device, seat or instance activated on it or refused lately; or - to read one of them from standard input, or be asked for it",
    )
    .option('--limit <n>', 'how many accesses to look at', positiveInteger, 100)
    .option('--all', 'list the failures that leave no record in any case')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing why 12\n  licensing why jane@example.com\n  licensing why order-1001\n  licensing why example.com\n  licensing why A3B4C5D6\n  licensing why 198.51.100.7\n  licensing why - < key.txt',
    )
    .action((what: string, { limit, all = false }: { limit: number; all?: boolean }, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const written = (await readValue(what, 'What to look for')).trim();
        const options = { now, limit, logDays: config.logDays };
        // One snapshot, so that findings from several statements agree.
        const found = await inSnapshot(db, (trx) => openCase(trx, written, options));
        output.print(caseJson(found, now), () => formatCase(found, now, all));
      }),
    );
}

/**
 * Tries the meanings of a text in this order: IP address, licence id, key, other names of licences. Several named
 * licences are listed. Then come the access log, a misspelt e-mail, the end of a key, and an unknown or mistyped key.
 */
async function openCase(db: Db, written: string, options: CaseOptions): Promise<SupportCase> {
  const address = canonicalAddress(written.replace(/^\[(.*)\]$/, '$1'));
  if (address !== undefined) return openAddressCase(db, address, options);
  const key = canonicalKey(written);
  if (key === '') throw new OperatorError('Nothing was given to look for.');
  if (isMarked(written)) return openLicenseCase(db, await requireLicense(db, written), options);
  const isNumber = /^\d{1,15}$/.test(written);
  const numbered = isNumber ? await findLicense(db, Number(written)) : undefined;
  if (numbered) return openNumberCase(db, numbered, written, options);
  const license = await findLicenseByDigest(db, keyDigest(key));
  if (license) return openLicenseCase(db, license, options);
  const named = await findLicensesNamed(db, written, options.now);
  const [only, ...others] = named;
  if (only) return others.length === 0 ? openLicenseCase(db, only.license, options) : openListCase(named);
  const logged = await openLoggedCase(db, written, options);
  if (logged) return logged;
  const near = await findLicensesByNearEmail(db, written);
  const [nearest] = near;
  if (nearest) return near.length === 1 ? openNearEmailCase(db, nearest, options) : openListCase(near);
  const hint = asHint(written);
  const ended = hint === undefined ? undefined : await openHintCase(db, hint, options);
  if (ended) return ended;
  if (isNumber) throw new OperatorError(`${NOTHING_FOUND} "licensing license list" shows them all.`);
  return openUnknownKeyCase(db, key, options);
}

/** A licence by its id, with a note about another licence whose order has the same number. */
async function openNumberCase(
  db: Db,
  license: License,
  number: string,
  options: CaseOptions,
): Promise<SupportCase> {
  const found = await openLicenseCase(db, license, options);
  const ordered = await findLicenseByReference(db, number);
  if (ordered === undefined || ordered.id === license.id) return found;
  return { ...found, findings: [...found.findings, explainReference(ordered)] };
}

function caseJson({ license, licenses = [], findings, accesses }: SupportCase, now: Date) {
  return {
    license: license ? licenseJson(license, now) : null,
    licenses: licenses.map((one) => licenseJson(one, now)),
    findings,
    accesses: accesses.map(({ code, text, remedy, count, firstAt, lastAt, access }) => ({
      code,
      text,
      remedy,
      count,
      first_at: formatTimestamp(firstAt),
      last_at: formatTimestamp(lastAt),
      endpoint: access.endpoint,
      outcome: access.outcome,
      license_id: access.licenseId,
      key_hint: access.keyHint,
      product_id: access.productId,
      version: access.version,
      identifier: access.identifier,
      ip: access.ip,
      user_agent: access.userAgent,
    })),
    untraced: UNTRACED,
  };
}

function formatCase({ licenses, findings, accesses }: SupportCase, now: Date, all: boolean): string {
  const columns = Math.min(process.stdout.columns || MAX_COLUMNS, MAX_COLUMNS);
  const told = new Set<string>();
  const remedy = ({ remedy: text }: Finding, indent: string) => {
    // Repeating the same words on every line would hide the differences.
    if (text === null || told.has(text)) return [];
    told.add(text);
    return wrap(`${indent}-> ${printable(text)}`, columns, `${indent}   `);
  };
  const lines = findings.flatMap((finding) => [
    ...wrap(printable(finding.text), columns, ''),
    ...remedy(finding, '   '),
  ]);
  if (licenses) return [...lines, '', licenseTable(licenses, now)].join('\n');
  if (accesses.length > 0) {
    const indent = ' '.repeat(21);
    lines.push('', 'What happened, the latest at the end (UTC):');
    for (const one of accesses)
      lines.push(...wrap(`${period(one)}  ${printable(one.text)}`, columns, indent), ...remedy(one, indent));
  }
  lines.push('');
  if (all || !hasCause(findings, accesses))
    lines.push(
      'Failures that leave no record here:',
      ...UNTRACED.flatMap(({ code, text }) => wrap(`  ${code}: ${text}`, columns, '    ')),
    );
  else lines.push('Some failures leave no record here. To list them: --all');
  return lines.join('\n');
}

const MAX_COLUMNS = 100;

/** Wraps between words. A command at the end stays on one line, so that it can be copied. */
function wrap(text: string, columns: number, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  const [command] = /(?<=: |-> )licensing [^;"]*$/.exec(text) ?? [''];
  const prose = text.slice(0, text.length - command.length).trimEnd();
  for (const word of [...prose.split(/(?<=\S) (?=\S)/), command].filter(Boolean)) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = indent + word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function period({ count, firstAt, lastAt }: Told): string {
  const last = clock(lastAt);
  return count === 1 ? last : `${clock(firstAt)}  ${count} times until ${last}:`;
}

function clock(date: Date): string {
  return formatTimestamp(date).replace('T', ' ').replace('Z', '');
}
