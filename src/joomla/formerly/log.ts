import type { FormerAddress } from './addresses';

/** Counts requests for legacy URLs in a web server's log. It keeps only names and days, because the rest may contain keys. */

export interface FormerRequests {
  /** such as `ars=7` */
  name: string;
  times: number;
  /** the day of the latest request, such as `2026-11-27`; null if the log has no dates */
  lastDay: string | null;
}

/** Requests of any site for streams, documents and downloads, by the system that they would be listed under. */
const KNOWN: [system: string, pattern: RegExp][] = [
  [
    'ars',
    /^GET (?=\S*(?:option=com_ars|\/component\/ars[/.?]))(?=\S*view=updates?(?:&|$))(?=\S*(?:task=(?:update\.)?|layout=)stream)\S*[?&;](?:stream_?)?id=([0-9]{1,10})/i,
  ],
  [
    'membershippro',
    /^GET (?=\S*task=(?:[a-z_]+\.)?download_update_package)\S*[?&;]document_id=([0-9]{1,10})/i,
  ],
  ['edd', /^GET (?=\S*edd_action=get_version)\S*[?&;]item_id=([0-9]{1,10})/i],
];

/**
 * Counts the requests for legacy URLs in licensing.log, or in a log in the "combined" format.
 * @param addresses the listed addresses
 * @returns the counts, including those of addresses that are not listed
 */
export async function countFormerRequests(
  lines: AsyncIterable<string>,
  addresses: readonly FormerAddress[],
): Promise<FormerRequests[]> {
  const listed = addresses.map(({ name, pattern }) => ({ name, pattern: new RegExp(pattern, 'i') }));
  const counts = new Map<string, FormerRequests>();
  for await (const line of lines) {
    const name = nameIn(line, listed)?.replace(/ download$/, '');
    if (name === undefined) continue;
    const { times, lastDay } = counts.get(name) ?? { times: 0, lastDay: null };
    counts.set(name, { name, times: times + 1, lastDay: dayIn(line) ?? lastDay });
  }
  return [...counts.values()].sort((a, b) => b.times - a.times);
}

function nameIn(line: string, listed: { name: string; pattern: RegExp }[]): string | undefined {
  const [, request = ''] = /"((?:GET|HEAD) [^"]*)"/.exec(line) ?? [];
  const [, named] = /^\w+ \(formerly ([^)]+)\)$/.exec(request) ?? [];
  if (named !== undefined) return listed.some(({ name }) => name === named) ? named : undefined;
  const [, method = '', address = ''] = /^(\w+) (\/\S*)/.exec(request) ?? [];
  if (address === '') return undefined;
  const [path = '', ...query] = address.split('?');
  const whole = `${method} ${decoded(path)}?${query.join('?')}`;
  const found = listed.find(({ pattern }) => pattern.test(whole));
  if (found) return found.name;
  for (const [system, pattern] of KNOWN) {
    const [, id] = pattern.exec(whole) ?? [];
    if (id !== undefined) return `${system}=${Number(id)}`;
  }
  return undefined;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dayIn(line: string): string | undefined {
  const [, iso] = /\[(\d{4}-\d{2}-\d{2})T/.exec(line) ?? [];
  if (iso !== undefined) return iso;
  const [, day = '', month = '', year] = /\[(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):/.exec(line) ?? [];
  const number = MONTHS.indexOf(month) + 1;
  return year === undefined || number === 0 ? undefined : `${year}-${String(number).padStart(2, '0')}-${day}`;
}
