import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../src/settings/config';

/** A CPU profile as V8 writes it: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
interface CpuProfile {
  nodes: {
    id: number;
    children?: number[];
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  samples: number[];
  timeDeltas: number[];
}

const SHOWN = 40;

/** Returns the shares of a profile's busy time, by package and by function. */
export function summarizeProfile(file: string): string {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const time = new Map<number, number>();
  samples.forEach((id, i) => time.set(id, (time.get(id) ?? 0) + (timeDeltas[i] ?? 0)));
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let busy = 0;
  for (const { id, callFrame } of nodes) {
    const spent = time.get(id) ?? 0;
    if (callFrame.functionName === '(idle)') continue;
    busy += spent;
    const place = placeOf(callFrame.url);
    add(packages, packageOf(place, callFrame.functionName), spent);
    add(functions, nameOf(callFrame), spent);
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const totals = new Map<string, number>();
  /** Adds a function's time including its callees; a recursive function counts once. */
  const walk = (id: number, above: string[]): number => {
    const node = byId.get(id);
    if (node === undefined) return 0;
    const name = nameOf(node.callFrame);
    const path = [...above, name];
    const spent = (node.children ?? []).reduce((sum, child) => sum + walk(child, path), time.get(id) ?? 0);
    if (!above.includes(name)) add(totals, name, spent);
    return spent;
  };
  const [root] = nodes;
  if (root) walk(root.id, []);
  for (const name of totals.keys()) if (name.startsWith('(')) totals.delete(name);
  const list = (from: Map<string, number>) =>
    [...from]
      .sort(([, a], [, b]) => b - a)
      .slice(0, SHOWN)
      .map(([name, spent]) => `${((100 * spent) / busy).toFixed(1).padStart(6)} %  ${name}`);
  return [
    ...['by package:', ...list(packages)],
    ...['by function, its own time:', ...list(functions)],
    ...['by function, with what it called at once:', ...list(totals)],
  ].join('\n');
}

function add(to: Map<string, number>, name: string, time: number): void {
  to.set(name, (to.get(name) ?? 0) + time);
}

type CallFrame = CpuProfile['nodes'][number]['callFrame'];

function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  return `${functionName || 'anonymous'} ${url === '' ? '' : `${placeOf(url)}:${lineNumber + 1}`}`.trim();
}

function placeOf(url: string): string {
  return url.startsWith('file:') ? relative(packageRoot, fileURLToPath(url)) : url;
}

function packageOf(place: string, functionName: string): string {
  if (place === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (place.startsWith('node:')) return 'Node';
  return /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(place)?.[1] ?? place;
}
