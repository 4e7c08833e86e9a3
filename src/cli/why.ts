import type { Command } from 'commander';
import { formatTimestamp } from '../base/days';
import { jsonOf } from '../base/json';
import { licenseJson } from '../licensing/views';
import { hasCause, REQUEST_FIELDS } from '../support/explain-accesses';
import type { Finding, AccessFinding } from '../support/finding-model';
import { openCase } from '../support/open-case';
import { support } from '../texts/operators/en/support';
import { sentenceOf, inWords } from '../support/sentences';
import type { SupportCase } from '../support/support-case';
import { positiveInteger } from './arguments';
import { withSession } from './command';
import { printable } from './printable';
import { remedyFor, UNTRACED } from './remedies';
import { readValue } from './standard-input';
import { licenseTable } from './tables';

export function addWhyCommand(program: Command): void {
  program
    .command('why')
    .summary('explain why a download or an activation was refused')
    .description(
      'Answers a customer\'s "why did my update fail?". It shows the state of the licence, and recent refused and granted requests, each problem with its remedy. If it finds no cause, it lists the failures that leave no record. The key itself is never printed.',
    )
    .argument(
      '<what>',
      "an IP address; a licence's id or key; its customer's e-mail, its order's reference, the number of a shop's order, the end of its key, or a site, device, seat or instance that was activated on it or refused recently; or - to read one of these from standard input or be asked for it",
    )
    .option('--limit <n>', 'how many accesses to look at', positiveInteger, 100)
    .option('--all', 'always list the failures that leave no record')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing why 12\n  licensing why jane@example.com\n  licensing why order-1001\n  licensing why example.com\n  licensing why A3B4C5D6\n  licensing why 198.51.100.7\n  licensing why - < key.txt',
    )
    .action((what: string, { limit, all = false }: { limit: number; all?: boolean }, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const { logDays, spreadFactor } = config;
        const options = { now, limit, logDays, spreadFactor };
        const found = await openCase(db, await readValue(what, 'What to look for'), options);
        output.print(caseJson(found, now), () => formatCase(found, now, all));
      }),
    );
}

function caseJson({ license, licenses = [], findings, accesses, nearby = [] }: SupportCase, now: Date) {
  return {
    license: license ? licenseJson(license, now) : null,
    licenses: licenses.map((one) => licenseJson(one.license, now)),
    findings: findings.map(findingJson),
    accesses: accesses.map(accessJson),
    nearby: nearby.map(accessJson),
    untraced: UNTRACED,
  };
}

function accessJson({ count, firstAt, lastAt, access, ...finding }: AccessFinding) {
  return {
    ...findingJson({ ...finding, count }),
    count,
    first_at: formatTimestamp(firstAt),
    last_at: formatTimestamp(lastAt),
    ...jsonOf(access, ...REQUEST_FIELDS),
  };
}

function findingJson(finding: Finding) {
  return { code: finding.code, text: textOf(finding), remedy: remedyFor(finding) };
}

function textOf(finding: Finding): string {
  return sentenceOf(support, { ...finding, facts: inWords(finding.facts, 'en') });
}

function formatCase(
  { licenses, findings, accesses, nearby = [] }: SupportCase,
  now: Date,
  all: boolean,
): string {
  const columns = Math.min(process.stdout.columns || MAX_COLUMNS, MAX_COLUMNS);
  const told = new Set<string>();
  const remedy = (finding: Finding, indent: string) => {
    const text = remedyFor(finding);
    // Print each remedy once: repeating it on every line would hide the differences.
    if (text === null || told.has(text)) return [];
    told.add(text);
    return wrap(`${indent}-> ${printable(text)}`, columns, `${indent}   `);
  };
  const lines = findings.flatMap((finding) => [
    ...wrap(printable(textOf(finding)), columns, ''),
    ...remedy(finding, '   '),
  ]);
  if (licenses)
    return [
      ...lines,
      '',
      licenseTable(
        licenses.map(({ license }) => license),
        now,
      ),
    ].join('\n');
  const listed = [
    ['What happened', accesses],
    ['From the same network, perhaps another person', nearby],
  ] as const;
  for (const [title, found] of listed) {
    if (found.length === 0) continue;
    const indent = ' '.repeat(21);
    lines.push('', `${title}, latest last (UTC):`);
    for (const one of found)
      lines.push(
        ...wrap(`${period(one)}  ${printable(textOf(one))}`, columns, indent),
        ...remedy(one, indent),
      );
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

/** Wraps between words. A command at the end remains on one line, so that it can be copied. */
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

function period({ count, firstAt, lastAt }: AccessFinding): string {
  const last = clock(lastAt);
  return count === 1 ? last : `${clock(firstAt)}  ${count} times until ${last}:`;
}

function clock(date: Date): string {
  return formatTimestamp(date).replace('T', ' ').replace('Z', '');
}
