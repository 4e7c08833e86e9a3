import { isIP } from 'node:net';
import type { Command } from 'commander';
import ipaddr from 'ipaddr.js';
import { canonicalKey, keyDigest } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import {
  openAddressCase,
  openHintCase,
  openLicenseCase,
  openUnknownKeyCase,
  type CaseOptions,
  type SupportCase,
} from '../licensing/support-case';
import { formatTimestamp } from '../licensing/timestamps';
import { UNTRACED, type Finding, type Told } from '../licensing/why';
import type { Db } from '../store/database';
import { findLicense, findLicenseByDigest, listLicenses } from '../store/licenses';
import { positiveInteger } from './arguments';
import { printable, withSession } from './command';
import { readValue } from './license-argument';
import { licenseJson } from './rows';

export function addWhyCommand(program: Command): void {
  program
    .command('why')
    .summary('tell why a download or an activation was refused')
    .description(
      'Answers a customer\'s "why did my update fail?": how the licence stands, what was refused and what was granted lately, each with its remedy, and which failures leave no record. The key itself is never printed.',
    )
    .argument(
      '<what>',
      'a licence key or id, the last group of a key, an IP address, or - to read one of them from standard input',
    )
    .option('--limit <n>', 'how many accesses to look at', positiveInteger, 100)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing why 12\n  licensing why A3B4C5D6\n  licensing why 198.51.100.7\n  licensing why - < key.txt',
    )
    .action((what: string, { limit }: { limit: number }, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const found = await openCase(db, (await readValue(what)).trim(), {
          now,
          limit,
          logDays: config.logDays,
        });
        output.print(caseJson(found, now), () => formatCase(found));
      }),
    );
}

/** What an operator means: an address, a licence's id, a key, or the end of one. */
async function openCase(db: Db, written: string, options: CaseOptions): Promise<SupportCase> {
  const address = written.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address)) return openAddressCase(db, canonicalAddress(address), options);
  const key = canonicalKey(written);
  const license =
    (/^\d{1,15}$/.test(written) ? await findLicense(db, Number(written)) : undefined) ??
    (await findLicenseByDigest(db, keyDigest(key)));
  if (license) return openLicenseCase(db, license, options);
  // A hint is eight or four characters (see keyHint); a key that short leaves none.
  if (Array.from(key).length === 8 || Array.from(key).length === 4) {
    const hint = /^[0-9a-f]{8}$/i.test(key) ? key.toUpperCase() : key;
    const licenses = await listLicenses(db, { hint, limit: 20 }, options.now);
    const [only, ...others] = licenses;
    return only && others.length === 0
      ? openLicenseCase(db, only, options)
      : openHintCase(db, hint, licenses, options);
  }
  if (/^\d{1,15}$/.test(written)) throw new OperatorError(`There is no licence ${written}.`);
  if (key === '') throw new OperatorError('Nothing was given to look for.');
  return openUnknownKeyCase(db, key, options);
}

/** As the access log writes it. */
function canonicalAddress(text: string): string {
  const address = ipaddr.parse(text.replace(/%.*$/, ''));
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}

function caseJson({ license, findings, accesses }: SupportCase, now: Date) {
  return {
    license: license ? licenseJson(license, now) : null,
    findings,
    accesses: accesses.map(({ code, text, remedy, count, firstAt, access }) => ({
      code,
      text,
      remedy,
      count,
      first_at: formatTimestamp(firstAt),
      last_at: formatTimestamp(access.at),
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

function formatCase({ findings, accesses }: SupportCase): string {
  const told = new Set<string>();
  const remedy = ({ remedy: text }: Finding, indent: string) => {
    // The same words on every line would hide what differs.
    if (text === null || told.has(text)) return [];
    told.add(text);
    return [`${indent}-> ${printable(text)}`];
  };
  const lines = findings.flatMap((finding) => [printable(finding.text), ...remedy(finding, '   ')]);
  if (accesses.length > 0) {
    lines.push('', 'What happened, the latest at the end (UTC):');
    for (const one of accesses)
      lines.push(`${period(one)}  ${printable(one.text)}`, ...remedy(one, ' '.repeat(21)));
  }
  lines.push(
    '',
    'Failures that leave no record here:',
    ...UNTRACED.map(({ code, text }) => `  ${code}: ${text}`),
  );
  return lines.join('\n');
}

function period({ count, firstAt, access }: Told): string {
  const last = clock(access.at);
  return count === 1 ? last : `${clock(firstAt)}  ${count} times until ${last}:`;
}

function clock(date: Date): string {
  return formatTimestamp(date).replace('T', ' ').replace('Z', '');
}
