import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../settings/config';
import { HOMES, isWithin, readUnits, type Unit } from '../process/units';
import type { OperatorTexts } from '../texts/operators/texts';
import { ok, problem, unchecked, type Check, type CheckFinding } from './finding';

/** Checks what systemd allows the running instances. This command runs outside of their unit, and may do more. */

const TIMEOUT_MS = 3_000;

export const checkUnits: Check = async ({ config }) => {
  const units = await readUnits();
  const [first] = units;
  if (first === undefined) return [];
  return [
    ...(await checkSockets(units)),
    ...checkWritable(config, first),
    ...(first.hidesHomes ? checkHomes(config) : []),
  ];
};

async function checkSockets(units: Unit[]): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = [];
  const answering: string[] = [];
  for (const { name, socket } of units) {
    if (socket === undefined) continue;
    const fault = await tryToConnect(socket);
    if (fault === undefined) answering.push(name);
    else if (fault === 'EACCES')
      findings.push(unchecked('INSTANCE_SOCKET', (t) => t.socketUnknown(name, socket)));
    else findings.push(problem('INSTANCE_SOCKET', (t) => t.socketFault(name, socket, fault)));
  }
  return answering.length === 0
    ? findings
    : [...findings, ok('INSTANCE_SOCKET', (t) => t.socketsAnswer(answering.join(', ')))];
}

function tryToConnect(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path)
      .setTimeout(TIMEOUT_MS, () => end('ETIMEDOUT'))
      .once('connect', () => end(undefined))
      .once('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => end(code));
    const end = (fault: string | undefined) => {
      socket.destroy();
      resolve(fault);
    };
  });
}

/** Lists the paths that the service writes to, each with its setting. */
function writtenTo({ packagesDir, xmlDir, database, mail }: Config): [setting: string, path: string][] {
  return [
    ['LICENSING_PACKAGES_DIR', packagesDir],
    ['LICENSING_XML_DIR', xmlDir],
    ...(database.kind === 'sqlite'
      ? [['LICENSING_DATABASE_URL', dirname(database.path)] as [string, string]]
      : []),
    ...(mail?.route.kind === 'folder' ? [['LICENSING_MAIL_URL', mail.route.path] as [string, string]] : []),
  ];
}

function checkWritable(config: Config, unit: Unit): CheckFinding[] {
  if (!unit.isReadOnly) return [];
  return writtenTo(config)
    .filter(([, path]) => !isWithin(path, unit.writable))
    .map(([setting, path]) =>
      problem('UNIT_READ_ONLY', (t) =>
        t.unitReadOnly(
          unit.name,
          path,
          setting,
          unit.writable.join(', '),
          remedyOf(t, setting, unit, config),
        ),
      ),
    );
}

function remedyOf(
  texts: OperatorTexts['doctor'],
  setting: string,
  { user, group, writable: [home = '/var/lib/licensing'] }: Unit,
  { envFile = '/opt/licensing-gateway/.env', packagesDir }: Config,
): string {
  const isXml = setting === 'LICENSING_XML_DIR';
  if (!isXml && setting !== 'LICENSING_PACKAGES_DIR') return texts.unitElsewhere(home, setting);
  const folder = `${home}/${isXml ? 'xml' : 'packages'}`;
  const set = `install -d -m 750 -o ${user} -g ${group} ${folder} && sed -i '/^${setting}=/d' ${envFile} && echo ${setting}=${folder} >> ${envFile}`;
  return isXml
    ? texts.unitXml(set)
    : texts.unitPackages(
        `${set} && cp -an ${packagesDir}/. ${folder}/ && chown -R ${user}:${group} ${folder}`,
      );
}

function checkHomes({ joomlaRoot, packagesDir, xmlDir }: Config): CheckFinding[] {
  const hidden = [joomlaRoot, packagesDir, xmlDir].filter(
    (path): path is string => path !== undefined && isWithin(path, HOMES),
  );
  return hidden.map((path) => problem('UNIT_HOME', (t) => t.unitHome(path)));
}
