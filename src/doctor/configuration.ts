import { statSync } from 'node:fs';
import { environment, readEnvFile, withoutEmpty, type Config } from '../settings/config';
import { SECRET_FILES } from '../settings/names';
import { ok, problem, warning, type Check, type CheckFinding } from './finding';
import { checkReaders } from './file-readers';

/** Checks the source of the settings, and who can read them. */
export const checkConfiguration: Check = async ({ config }) => [
  ...checkSource(config),
  ...(await checkEnvFile(config)),
  ...checkSettings(config),
];

function checkSource({ envFile, joomlaRoot }: Config): CheckFinding[] {
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

async function checkEnvFile({ envFile, environment: { settings } }: Config): Promise<CheckFinding[]> {
  const secrets = SECRET_FILES.map(({ file }) => settings[file]);
  const files = [envFile, ...secrets].filter(
    (path) => path !== undefined && statSync(path, { throwIfNoEntry: false })?.isFile(),
  ) as string[];
  return files.length === 0 ? [] : [await checkReaders('ENV_FILE', files, (t) => t.envFileHolds)];
}

function checkSettings({ warnings, trustedProxies }: Config): CheckFinding[] {
  const everybody = trustedProxies.filter((entry) => entry.endsWith('/0'));
  return [
    ...warnings.map((text) => warning('UNKNOWN_SETTING', (t) => t.unknownSetting(text))),
    ...(everybody.length === 0
      ? []
      : [problem('PROXIES_EVERYBODY', (t) => t.proxiesEverybody(everybody.join(', ')))]),
  ];
}
