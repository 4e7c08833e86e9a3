import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot, type Config } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';
import { hostAndPort } from '../process/listen';
import { instanceSocket } from '../process/instances';
import { FOLDER_NAME } from './nginx';

/**
 * Returns deploy/apache/licensing.conf with the values at its CHANGE marks.
 * @param instances for licensing@1 to licensing@COUNT; undefined: the address of LICENSING_LISTEN
 * @throws OperatorError
 */
export async function apacheFile(config: Config, instances: number | undefined): Promise<string> {
  const { publicUrl, xmlDir, pagesHost } = config;
  const shipped = await readFile(join(packageRoot, 'deploy/apache/licensing.conf'), 'utf8');
  const folder = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  if (folder !== '' && !FOLDER_NAME.test(folder.slice(1)))
    throw new OperatorError(
      `Apache's file cannot be written for the folder ${folder}: it may have letters, digits, "-" and "_".`,
    );
  if (/[\s"\\$%{}]/.test(xmlDir))
    throw new OperatorError(
      `Apache cannot read the path ${xmlDir}. Choose a folder without spaces and "\\$%{}.`,
    );
  const members = membersFor(config, instances);
  return shipped
    .replace(/^Define LICENSING_PATH /m, `$&${folder}`)
    .replace(/^Define LICENSING_UPDATES /m, `$&${folder}`)
    .replace(/^(Define LICENSING_XML ).*$/m, (_line, name: string) => name + xmlDir)
    .replace(/^(Define LICENSING_PAGES_HOST ).*$/m, (_line, name: string) => name + (pagesHost ?? '-'))
    .replace(/^ *BalancerMember "unix:.*\n(?: *#BalancerMember .*\n)*/gm, (lines) =>
      members
        .map((member) => `${(lines.split('\n', 1)[0] ?? '').replace(/"unix:[^"]*"/, member)}\n`)
        .join(''),
    );
}

function membersFor({ listen }: Config, instances: number | undefined): string[] {
  if (instances !== undefined)
    return Array.from({ length: instances }, (_, i) => socketMember(instanceSocket(String(i + 1)), i + 1));
  if ('passenger' in listen)
    throw new OperatorError(
      'Passenger forwards the requests to this service. "licensing apache --passenger" prints the lines that the site needs.',
    );
  return ['path' in listen ? socketMember(listen.path, 1) : `"http://${hostAndPort(listen)}"`];
}

function socketMember(socket: string, number: number): string {
  return `"unix:${socket}|http://licensing-${number}"`;
}
