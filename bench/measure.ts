import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { startProcess } from '../test/support/processes';

/** One side's result in one round. */
export interface Sample {
  /** requests answered per second */
  perSecond: number;
  bytesPerSecond: number;
  /** in ms */
  p50: number;
  p99: number;
  /** the service's CPU time for 1,000 requests, in ms; undefined without a process to read */
  cpu: number | undefined;
  requests: number;
  /** failed connections, reads, writes and time-outs, and every status of 400 and above */
  failed: number;
}

export interface Side {
  name: string;
  run(seconds: number): Promise<Sample>;
}

export interface Load {
  name: string;
  url: string;
  /** the kind of request in requests.lua */
  kind: string;
  licences?: number;
  /** true if every answer should be a refusal, which then does not count as a failure */
  isRefused?: boolean;
  /** the number of keep-alive connections; 64 by default */
  connections?: number;
  /** the service, whose CPU time is read, including its children */
  pid: number | undefined;
}

/** Returns a side that loads a server with wrk. */
export function loaded({
  name,
  url,
  kind,
  licences = 1,
  isRefused = false,
  connections = 64,
  pid,
}: Load): Side {
  return {
    name,
    async run(seconds) {
      const before = pid === undefined ? 0 : cpuTime(pid);
      const {
        requests,
        seconds: lasted,
        bytes,
        failed,
        refused,
        ...rest
      } = await wrk(url, seconds, connections, [kind, licences]);
      const cpu = pid === undefined ? undefined : (cpuTime(pid) - before) / (requests / 1000);
      return {
        ...rest,
        failed: failed + (isRefused ? requests - refused : refused),
        requests,
        perSecond: requests / lasted,
        bytesPerSecond: bytes / lasted,
        cpu,
      };
    },
  };
}

/** Runs several sides at once as one: their rates are added, and the slowest counts. */
export function together(name: string, sides: Side[]): Side {
  return {
    name,
    async run(seconds) {
      const samples = await Promise.all(sides.map((side) => side.run(seconds)));
      const sum = (value: (sample: Sample) => number) => samples.reduce((all, one) => all + value(one), 0);
      const slowest = (value: (sample: Sample) => number) => Math.max(...samples.map(value));
      const requests = sum((sample) => sample.requests);
      return {
        requests,
        perSecond: sum((sample) => sample.perSecond),
        bytesPerSecond: sum((sample) => sample.bytesPerSecond),
        failed: sum((sample) => sample.failed),
        cpu: sum((sample) => (sample.cpu ?? NaN) * sample.requests) / requests,
        p50: slowest((sample) => sample.p50),
        p99: slowest((sample) => sample.p99),
      };
    },
  };
}

interface WrkResult {
  requests: number;
  seconds: number;
  bytes: number;
  failed: number;
  /** the number of statuses of 400 and above */
  refused: number;
  p50: number;
  p99: number;
}

async function wrk(
  url: string,
  seconds: number,
  connections: number,
  args: (string | number)[],
): Promise<WrkResult> {
  // Use one thread, which sends faster than any of these servers answers, and leaves them the other core.
  const child = startProcess('wrk', [
    ...['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '10s'],
    ...['-s', join(__dirname, 'requests.lua'), url, '--', ...args.map(String)],
  ]);
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const line = output.split('\n').find((one) => one.startsWith('{'));
  if (code !== 0 || line === undefined) throw new Error(`wrk failed (${code}): ${output}`);
  const result = JSON.parse(line) as WrkResult;
  if (result.requests === 0) throw new Error(`Nothing was answered at ${url}.`);
  return result;
}

/** The resolution of Linux's CPU times: hundredths of a second. */
const MS_PER_TICK = 10;

/** Returns the CPU time (ms) of a process and its living descendants since their start, of user and system. */
export function cpuTime(pid: number): number {
  const fields = processTimes(pid);
  return children(pid).reduce((sum, child) => sum + cpuTime(child), fields.own);
}

/** Reads CPU times in ms. @returns `waited` is the time of its ended children */
function processTimes(pid: number): { own: number; waited: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in brackets, which may contain anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, waitedUser = 0, waitedSystem = 0] = fields.slice(11, 15).map(Number);
  return { own: (user + system) * MS_PER_TICK, waited: (waitedUser + waitedSystem) * MS_PER_TICK };
}

/**
 * Measures the load of other processes on this machine.
 *
 * @returns a function that returns the share of CPU time (0 to 1) since then that the benchmark did not use, including
 *   time stolen by a hypervisor
 */
export function watchOthers(): () => number {
  const read = () => {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
    const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softIrq = 0, stolen = 0] = line
      .split(/ +/)
      .slice(1)
      .map(Number);
    const busy = (user + nice + system + irq + softIrq + stolen) * MS_PER_TICK;
    const ours = cpuTime(process.pid) + processTimes(process.pid).waited;
    return { others: busy - ours, all: busy + (idle + waiting) * MS_PER_TICK };
  };
  const before = read();
  return () => {
    const after = read();
    return Math.max(0, (after.others - before.others) / (after.all - before.all));
  };
}

export function children(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

export interface Pace {
  /** the number of rounds of both sides */
  pairs: number;
  /** the seconds for one side in one round */
  seconds: number;
  /** the seconds for each side before the first round, to compile code and fill caches */
  warmUp: number;
}

/** Runs two sides in turns, A B B A, so that other load on this machine affects both alike. */
export async function inTurns(
  [a, b]: [Side, Side],
  { pairs, seconds, warmUp }: Pace,
  onPair: (a: Sample, b: Sample) => void,
): Promise<[Sample, Sample][]> {
  await a.run(warmUp);
  await b.run(warmUp);
  const samples: [Sample, Sample][] = [];
  for (let pair = 1; pair <= pairs; pair++) {
    const isBFirst = pair % 2 === 0;
    const [first, second] = isBFirst ? [b, a] : [a, b];
    const [early, late] = [await first.run(seconds), await second.run(seconds)];
    const samplesOfPair: [Sample, Sample] = isBFirst ? [late, early] : [early, late];
    onPair(...samplesOfPair);
    samples.push(samplesOfPair);
  }
  return samples;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}

/** Returns a quantile. @param share the share of values not above the result: 0.99 for p99 */
export function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
