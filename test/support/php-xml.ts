import { spawnSync } from 'node:child_process';

/** Runs PHP code: `$in` is the JSON value, and `$out` is returned. */
export function php(code: string, value: unknown): unknown {
  const { stdout, stderr, status } = spawnSync(
    'php',
    ['-r', `$in = json_decode(stream_get_contents(STDIN), true); ${code} echo json_encode($out);`],
    { input: JSON.stringify(value), maxBuffer: 1e9, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`PHP failed: ${stderr}${stdout}`);
  return JSON.parse(stdout) as unknown;
}
