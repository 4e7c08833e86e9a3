/** SIGKILL is enough, because the data are discarded. */
export default async function teardown(): Promise<void> {
  await Promise.all(globalThis.sharedServers.map((server) => server.stop('SIGKILL')));
}
