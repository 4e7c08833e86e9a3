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
  const sources = [
    ...(envFile === undefined ? [] : [`${envFile} (${Object.keys(inFile).join(', ') || 'nothing'})`]),
    ...(names.length === 0 ? [] : [`the environment (${names.join(', ')})`]),
    ...(joomlaRoot === undefined ? [] : [`the Joomla site in ${joomlaRoot}`]),
  ];
  const overridden = names.filter(
    (name) => inFile[name] !== undefined && inFile[name] !== inEnvironment[name],
  );
  return [
    ok('CONFIGURATION', `The settings come from ${sources.join(', and ')}.`),
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
          ),
        ]),
  ];
}

async function checkEnvFile({ envFile }: Config): Promise<Finding[]> {
  if (envFile === undefined || !statSync(envFile).isFile()) return [];
  return [
    await checkReaders(
      'ENV_FILE',
      [envFile],
      'It holds what opens the database and the sealed licence keys.',
    ),
  ];
}

function checkSettings({ warnings, trustedProxies }: Config): Finding[] {
  const everybody = trustedProxies.filter((entry) => entry.endsWith('/0'));
  return [
    ...warnings.map((text) =>
      warning('UNKNOWN_SETTING', text, {
        why: 'What it was meant to set has its default value.',
        remedy: 'Correct its name, or remove it.',
      }),
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
          ),
        ]),
  ];
}
