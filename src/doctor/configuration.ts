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
  const overridden = names.filter(
    (name) => inFile[name] !== undefined && inFile[name] !== inEnvironment[name],
  );
  return [
    ok('CONFIGURATION', (t) =>
      t.settings({
        file: envFile,
        inFile: Object.keys(inFile).join(', '),
        inEnvironment: names.join(', '),
        site: joomlaRoot,
      }),
    ),
    ...(overridden.length === 0
      ? []
      : [warning('SETTING_OVERRIDDEN', (t) => t.settingOverridden(overridden.join(', '), envFile ?? ''))]),
  ];
}

async function checkEnvFile({ envFile }: Config): Promise<Finding[]> {
  if (envFile === undefined || !statSync(envFile).isFile()) return [];
  return [await checkReaders('ENV_FILE', [envFile], (t) => t.envFileHolds)];
}

function checkSettings({ warnings, trustedProxies }: Config): Finding[] {
  const everybody = trustedProxies.filter((entry) => entry.endsWith('/0'));
  return [
    ...warnings.map((text) => warning('UNKNOWN_SETTING', (t) => t.unknownSetting(text))),
    ...(everybody.length === 0
      ? []
      : [problem('PROXIES_EVERYBODY', (t) => t.proxiesEverybody(everybody.join(', ')))]),
  ];
}
