import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The service instances that systemd runs on this machine, each in a folder of its own (deploy/licensing@.service). */

const FOLDER = '/run/licensing';
const SOCKET = 'http.sock';

/** Returns an instance's socket. @param name the part after the @ of its unit */
export function instanceSocket(name: string): string {
  return join(FOLDER, name, SOCKET);
}

/** Lists the instances on this machine that systemd started. Instances on other hosts are not found. */
export function findInstances(): string[] {
  try {
    return readdirSync(FOLDER)
      .filter((name) => lstatSync(instanceSocket(name), { throwIfNoEntry: false })?.isSocket())
      .sort();
  } catch {
    return [];
  }
}
