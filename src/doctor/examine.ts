import type { Config } from '../settings/config';
import type { Db } from '../store/engine/database';
import { checkAccess } from './access';
import { checkCatalogue, checkSupport } from './catalogue';
import { checkConfiguration } from './configuration';
import { checkCounters } from './counters';
import { checkPrivileges, checkSchema, checkServer, checkSizes, checkTables } from './database';
import {
  runCheck,
  unchecked,
  type Check,
  type CommandCheck,
  type CommandFinding,
  type Examined,
  type CheckFinding,
  type CheckContext,
} from './finding';
import { checkFormerly } from './formerly';
import { checkKeys, checkOldestAndNewestKeys } from './keys';
import { checkMail, checkOutbox } from './mail';
import { checkNodes } from './nodes';
import { checkCatchUp } from './catch-up';
import { checkOrders, checkReceivers } from './orders';
import { checkFolder, checkPackages, checkSboms } from './packages';
import { checkPages, checkPublicUrl } from './pages';
import { checkRedis } from './redis';
import { checkSecurityTxt } from './security-txt';
import { checkSigning } from './signing';
import { checkSite, checkSiteFromWithin } from './site';
import { checkUnits } from './units';
import { checkUpdateXml } from './update-xml';
import { checkWebhooks } from './webhooks';
import { checkWork } from './work';

type Entry = { name: string; needsDatabase: boolean } & (
  | { check: Check; within?: undefined }
  /** `within`: the check that the service runs instead; null: no check */
  | { check: CommandCheck; within: Check | null }
);

/**
 * The checks, each after the checks that it depends on. Checks that read all packages or licences, or create and drop a
 * table, are too expensive for a service between its requests.
 */
const CHECKS: Entry[] = [
  { name: 'CONFIGURATION', check: checkConfiguration, needsDatabase: false },
  { name: 'UNITS', check: checkUnits, needsDatabase: false },
  { name: 'DATABASE', check: checkServer, needsDatabase: false },
  { name: 'DATABASE_NODES', check: checkNodes, needsDatabase: false },
  { name: 'SCHEMA', check: checkSchema, needsDatabase: true },
  { name: 'PRIVILEGES', check: checkPrivileges, within: null, needsDatabase: true },
  { name: 'TABLES', check: checkTables, needsDatabase: true },
  { name: 'SIZES', check: checkSizes, needsDatabase: true },
  { name: 'REDIS', check: checkRedis, needsDatabase: false },
  { name: 'PACKAGES_FOLDER', check: checkFolder, needsDatabase: false },
  { name: 'PACKAGES', check: checkPackages, within: null, needsDatabase: true },
  { name: 'SBOMS', check: checkSboms, within: null, needsDatabase: true },
  { name: 'UPDATE_XML', check: checkUpdateXml, needsDatabase: true },
  { name: 'CATALOGUE', check: checkCatalogue, needsDatabase: true },
  { name: 'SUPPORT', check: checkSupport, needsDatabase: true },
  { name: 'KEY_SECRET', check: checkKeys, within: checkOldestAndNewestKeys, needsDatabase: true },
  { name: 'SIGNING_KEYS', check: checkSigning, needsDatabase: true },
  { name: 'API_TOKENS', check: checkAccess, needsDatabase: true },
  { name: 'MAIL', check: checkMail, needsDatabase: false },
  { name: 'OUTBOX', check: checkOutbox, needsDatabase: true },
  { name: 'WEBHOOKS', check: checkWebhooks, needsDatabase: true },
  { name: 'WORK', check: checkWork, needsDatabase: true },
  { name: 'ORDERS', check: checkOrders, needsDatabase: true },
  { name: 'RECEIVERS', check: checkReceivers, needsDatabase: true },
  { name: 'CATCH_UP', check: checkCatchUp, needsDatabase: true },
  { name: 'COUNTERS', check: checkCounters, within: null, needsDatabase: true },
  { name: 'SITE', check: checkSite, within: checkSiteFromWithin, needsDatabase: false },
  { name: 'SECURITY_TXT', check: checkSecurityTxt, within: null, needsDatabase: false },
  { name: 'FORMERLY', check: checkFormerly, within: null, needsDatabase: true },
  { name: 'PAGES', check: checkPages, within: checkPublicUrl, needsDatabase: false },
];

/** Runs the checks that a running service can finish within seconds. */
export async function runInProcessChecks(config: Config, db: Db, now: () => Date): Promise<Examined[]> {
  const nothing = { url: undefined, ca: undefined, repairAs: undefined, progress: () => undefined };
  const checks = CHECKS.flatMap(({ name, needsDatabase, ...entry }) => {
    const check = entry.within === undefined ? entry.check : entry.within;
    return check === null ? [] : [{ name, needsDatabase, check }];
  });
  const findings = await runAll<CheckFinding>(checks, { config, db, now, ...nothing });
  return findings.map(({ code, level, say }) => ({ id: code, state: level, say }));
}

/** Runs every check, even after others have failed. */
export function runChecks(patient: CheckContext): Promise<CommandFinding[]> {
  return runAll<CommandFinding>(CHECKS, patient);
}

async function runAll<F extends CommandFinding>(
  checks: { name: string; check: (patient: CheckContext) => Promise<F[]>; needsDatabase: boolean }[],
  patient: CheckContext,
): Promise<(F | CheckFinding)[]> {
  const findings: (F | CheckFinding)[] = [];
  for (const { name, check, needsDatabase } of checks) {
    if (needsDatabase && findings.some(({ code }) => code === 'DATABASE_UNREACHABLE'))
      findings.push(unchecked(name, (t) => t.withoutDatabase(name)));
    else findings.push(...(await runCheck(name, () => check(patient))));
  }
  return findings;
}
