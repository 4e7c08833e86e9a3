export default async function teardown(): Promise<void> {
  await Promise.all(globalThis.sharedServers.map((server) => server.stop()));
}
