import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The service instances that systemd runs on this machine, each with its own folder (deploy/licensing@.service). */

const FOLDER = '/run/licensing';
const SOCKET = 'http.sock';

/** @param name the part after the @ in the unit's name */
export function instanceSocket(name: string): string {
  return join(FOLDER, name, SOCKET);
}

/** The names of the instances on this machine. Instances on other hosts, or not started by systemd, are not found. */
export function findInstances(): string[] {
  try {
    return readdirSync(FOLDER)
      .filter((name) => lstatSync(instanceSocket(name), { throwIfNoEntry: false })?.isSocket())
      .sort();
  } catch {
    return [];
  }
}
