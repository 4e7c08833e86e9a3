import { rmSync } from 'node:fs';

/** Stops the servers. SIGKILL is enough, because the data are discarded. */
export default async function teardown(): Promise<void> {
  rmSync(process.env.TEST_ANSWERS as string, { recursive: true, force: true });
  await Promise.all(globalThis.sharedServers.map((server) => server.stop('SIGKILL')));
}
