import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The instances of the service that systemd runs on this machine, each with a folder of its own (deploy/licensing@.service). */

const FOLDER = '/run/licensing';
const SOCKET = 'http.sock';

/** @param name what stands after the @ in the unit's name */
export function instanceSocket(name: string): string {
  return join(FOLDER, name, SOCKET);
}

/** The names of the instances that run here. Instances on other hosts, or started in another way, are not seen. */
export function findInstances(): string[] {
  try {
    return readdirSync(FOLDER)
      .filter((name) => lstatSync(instanceSocket(name), { throwIfNoEntry: false })?.isSocket())
      .sort();
  } catch {
    return [];
  }
}
