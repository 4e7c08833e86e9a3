import { statSync } from 'node:fs';
import { environment, readEnvFile, withoutEmpty, type Config } from '../config';
import { ok, problem, warning, type Check, type Finding } from './finding';
import { checkReaders } from './file-readers';

/** Checks where the settings come from and who can read them. */
export const checkConfiguration: Check = async ({ config }) => [
  ...checkSource(config),
  ...(await checkEnvFile(config)),
  ...checkSettings(config),
];

function checkSource({ envFile, joomlaRoot }: Config): Finding[] {
  const inFile: Record<string, string | undefined> =
    envFile === undefined ? {} : (readEnvFile(envFile)?.settings ?? {});
  const inEnvironment: Record<string, string | undefined> = withoutEmpty(environment());
  const names = Object.keys(inEnvironment).filter((name) => name !== 'LICENSING_ENV_FILE');
  const sources = (nothing: string, ofEnvironment: string, ofSite: string) => [
    ...(envFile === undefined ? [] : [`${envFile} (${Object.keys(inFile).join(', ') || nothing})`]),
    ...(names.length === 0 ? [] : [`${ofEnvironment} (${names.join(', ')})`]),
    ...(joomlaRoot === undefined ? [] : [`${ofSite} ${joomlaRoot}`]),
  ];
  const english = sources('nothing', 'the environment', 'the Joomla site in').join(', and ');
  const german = sources('nichts', 'der Umgebung', 'der Joomla-Website in').join(' und ');
  const overridden = names.filter(
    (name) => inFile[name] !== undefined && inFile[name] !== inEnvironment[name],
  );
  return [
    ok('CONFIGURATION', `The settings come from ${english}.`, `Die Einstellungen kommen aus ${german}.`),
    ...(overridden.length === 0
      ? []
      : [
          warning(
            'SETTING_OVERRIDDEN',
            `The environment sets ${overridden.join(', ')} otherwise than ${envFile ?? ''}, and goes first.`,
            {
              why: 'This command may work with other settings than the service does.',
              remedy: 'Set it in one place only: the file, which every command reads.',
            },
            {
              what: `Die Umgebung setzt ${overridden.join(', ')} anders als ${envFile ?? ''}, und sie hat Vorrang.`,
              why: 'Ein Befehl arbeitet vielleicht mit anderen Einstellungen als der Dienst.',
              remedy: 'Setzen Sie es nur an einer Stelle: in der Datei, die jeder Befehl liest.',
            },
          ),
        ]),
  ];
}

async function checkEnvFile({ envFile }: Config): Promise<Finding[]> {
  if (envFile === undefined || !statSync(envFile).isFile()) return [];
  return [
    await checkReaders('ENV_FILE', [envFile], {
      english: 'It holds what opens the database and the sealed licence keys.',
      german: 'Darin steht, was die Datenbank und die versiegelten Lizenzschlüssel öffnet.',
    }),
  ];
}

function checkSettings({ warnings, trustedProxies }: Config): Finding[] {
  const everybody = trustedProxies.filter((entry) => entry.endsWith('/0'));
  return [
    ...warnings.map((text) =>
      warning(
        'UNKNOWN_SETTING',
        text,
        {
          why: 'What it was meant to set has its default value.',
          remedy: 'Correct its name, or remove it.',
        },
        {
          what: 'Eine Einstellung ist unbekannt oder passt nicht.',
          said: text,
          why: 'Was sie setzen sollte, hat seinen Standardwert.',
          remedy: 'Berichtigen Sie ihren Namen, oder entfernen Sie sie.',
        },
      ),
    ),
    ...(everybody.length === 0
      ? []
      : [
          problem(
            'PROXIES_EVERYBODY',
            `LICENSING_TRUSTED_PROXIES trusts everybody (${everybody.join(', ')}).`,
            {
              why: 'Any client can name any address as its own, and so escape the rate limit.',
              remedy: 'Name the proxies alone; 127.0.0.0/8,::1 for nginx on this machine.',
            },
            {
              what: `LICENSING_TRUSTED_PROXIES vertraut allen (${everybody.join(', ')}).`,
              why: 'Jeder Client kann eine beliebige Adresse als seine nennen und so das Anfragelimit umgehen.',
              remedy: 'Nennen Sie nur die Proxys; 127.0.0.0/8,::1 für nginx auf diesem Rechner.',
            },
          ),
        ]),
  ];
}
