import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot, type Config } from '../config';
import { OperatorError } from '../licensing/operator-error';
import { instanceSocket } from '../process/instances';
import { FOLDER_NAME } from './nginx';

/** deploy/apache/licensing.conf with the values that are marked CHANGE. @param instances licensing@1 to licensing@COUNT */
export async function apacheFile(config: Config, instances: number): Promise<string> {
  const { publicUrl, xmlDir, pagesHost } = config;
  const shipped = await readFile(join(packageRoot, 'deploy/apache/licensing.conf'), 'utf8');
  const folder = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  if (folder !== '' && !FOLDER_NAME.test(folder.slice(1)))
    throw new OperatorError(
      `Apache's file cannot be written for the folder ${folder}: it may have letters, digits, "-" and "_".`,
    );
  if (/[\s"\\$%{}]/.test(xmlDir))
    throw new OperatorError(
      `Apache cannot read the path ${xmlDir}. Choose a folder without blanks and "\\$%{}.`,
    );
  return shipped
    .replace(/^Define LICENSING_PATH /m, `$&${folder}`)
    .replace(/^Define LICENSING_UPDATES /m, `$&${folder}`)
    .replace(/^(Define LICENSING_XML ).*$/m, (_line, name: string) => name + xmlDir)
    .replace(/^(Define LICENSING_PAGES_HOST ).*$/m, (_line, name: string) => name + (pagesHost ?? '-'))
    .replace(/^ *BalancerMember "unix:.*\n(?: *#BalancerMember .*\n)*/gm, (lines) =>
      Array.from({ length: instances }, (_, i) => memberOf(lines.split('\n', 1)[0] ?? '', i + 1)).join(''),
    );
}

function memberOf(shipped: string, instance: number): string {
  const socket = instanceSocket(String(instance));
  return `${shipped.replace(/"unix:[^"]*"/, `"unix:${socket}|http://licensing-${instance}"`)}\n`;
}
