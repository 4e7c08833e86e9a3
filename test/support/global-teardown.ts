/** Their data are thrown away: nobody waits for an orderly shutdown. */
export default async function teardown(): Promise<void> {
  await Promise.all(globalThis.sharedServers.map((server) => server.stop('SIGKILL')));
}
