import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Config } from '../config';
import { HOMES, isWithin, readUnits, type Unit } from '../process/units';
import { ok, problem, unchecked, type Check, type Finding } from './finding';

/** Checks what systemd allows the running instances: this command runs outside their unit and may do more. */

const PATIENCE_MS = 3_000;

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

async function checkSockets(units: Unit[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  const answering: string[] = [];
  for (const { name, socket } of units) {
    if (socket === undefined) continue;
    const fault = await tryToConnect(socket);
    if (fault === undefined) answering.push(name);
    else if (fault === 'EACCES')
      findings.push(
        unchecked(
          'INSTANCE_SOCKET',
          `Whether ${name} answers on ${socket} cannot be told: this user may not connect to it.`,
          'Run this as the user the service runs as: sudo -u USER licensing doctor',
          {
            what: `Ob ${name} auf ${socket} antwortet, lässt sich nicht sagen: Dieser Benutzer darf sich nicht damit verbinden.`,
            remedy:
              'Führen Sie dies unter dem Benutzer aus, unter dem der Dienst läuft: sudo -u USER licensing doctor',
          },
        ),
      );
    else
      findings.push(
        problem(
          'INSTANCE_SOCKET',
          `${name} runs, but its socket ${socket} ${describeFault(fault)}.`,
          {
            why: 'The web server does not reach this instance. If it is the only one, every customer gets 503.',
            remedy: `As root: systemctl restart ${name}`,
          },
          {
            what: `${name} läuft, aber sein Socket ${socket} ${fault === 'ENOENT' ? 'ist weg' : `antwortet nicht (${fault})`}.`,
            why: 'Der Webserver erreicht diese Instanz nicht. Ist sie die einzige, bekommt jeder Kunde 503.',
            remedy: `Als root: systemctl restart ${name}`,
          },
        ),
      );
  }
  return answering.length === 0
    ? findings
    : [
        ...findings,
        ok(
          'INSTANCE_SOCKET',
          `On its socket answers: ${answering.join(', ')}.`,
          `Auf seinem Socket antwortet: ${answering.join(', ')}.`,
        ),
      ];
}

function describeFault(code: string): string {
  return code === 'ENOENT' ? 'is gone' : `does not answer (${code})`;
}

function tryToConnect(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path)
      .setTimeout(PATIENCE_MS, () => end('ETIMEDOUT'))
      .once('connect', () => end(undefined))
      .once('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => end(code));
    const end = (fault: string | undefined) => {
      socket.destroy();
      resolve(fault);
    };
  });
}

/** What the service writes to, with the setting that names it. */
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

function checkWritable(config: Config, unit: Unit): Finding[] {
  if (!unit.isReadOnly) return [];
  return writtenTo(config)
    .filter(([, path]) => !isWithin(path, unit.writable))
    .map(([setting, path]) =>
      problem(
        'UNIT_READ_ONLY',
        `${unit.name} may not write to ${path} (${setting}), whatever its mode is.`,
        {
          why: `Its unit makes everything read-only (ProtectSystem=strict), except ${unit.writable.join(', ') || 'nothing'}.`,
          remedy: remedyOf(setting, unit, config).english,
        },
        {
          what: `${unit.name} darf nicht in ${path} schreiben (${setting}), gleich welchen Modus es hat.`,
          why: `Seine Unit macht alles schreibgeschützt (ProtectSystem=strict), ausgenommen ${unit.writable.join(', ') || 'nichts'}.`,
          remedy: remedyOf(setting, unit, config).german,
        },
      ),
    );
}

function remedyOf(
  setting: string,
  { user, group, writable: [home = '/var/lib/licensing'] }: Unit,
  config: Config,
): { english: string; german: string } {
  const { envFile = '/opt/licensing-gateway/.env' } = config;
  if (setting !== 'LICENSING_XML_DIR' && setting !== 'LICENSING_PACKAGES_DIR')
    return {
      english: `Name a path below ${home} in ${setting}, and restart the service.`,
      german: `Nennen Sie in ${setting} einen Pfad unterhalb von ${home}, und starten Sie den Dienst neu.`,
    };
  const folder = `${home}/${setting === 'LICENSING_XML_DIR' ? 'xml' : 'packages'}`;
  const set = `install -d -m 750 -o ${user} -g ${group} ${folder} && sed -i '/^${setting}=/d' ${envFile} && echo ${setting}=${folder} >> ${envFile}`;
  const then =
    "restart the service (deploy/restart-in-turns), write the web server's files again (licensing nginx)";
  const thenInGerman =
    'starten Sie den Dienst neu (deploy/restart-in-turns), schreiben Sie die Dateien des Webservers neu (licensing nginx)';
  const move = `${set} && cp -an ${config.packagesDir}/. ${folder}/ && chown -R ${user}:${group} ${folder}`;
  return setting === 'LICENSING_XML_DIR'
    ? {
        english: `As root: ${set}; then ${then}, and: licensing update-xml write --product ID`,
        german: `Als root: ${set}; dann ${thenInGerman}, und: licensing update-xml write --product ID`,
      }
    : { english: `As root: ${move}; then ${then}.`, german: `Als root: ${move}; dann ${thenInGerman}.` };
}

function checkHomes({ joomlaRoot, packagesDir, xmlDir }: Config): Finding[] {
  const hidden = [joomlaRoot, packagesDir, xmlDir].filter(
    (path): path is string => path !== undefined && isWithin(path, HOMES),
  );
  return hidden.map((path) =>
    problem(
      'UNIT_HOME',
      `The unit hides ${path} from the service (ProtectHome).`,
      {
        why: 'The service does not start, or finds the folder empty, although this command can read it.',
        remedy:
          'As root: systemctl edit licensing@.service, with the lines [Service] and ProtectHome=read-only; then restart the service.',
      },
      {
        what: `Die Unit verbirgt ${path} vor dem Dienst (ProtectHome).`,
        why: 'Der Dienst startet nicht oder findet den Ordner leer, obwohl ein Befehl ihn lesen kann.',
        remedy:
          'Als root: systemctl edit licensing@.service, mit den Zeilen [Service] und ProtectHome=read-only; starten Sie dann den Dienst neu.',
      },
    ),
  );
}
