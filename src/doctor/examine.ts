import type { Config } from '../config';
import type { Db } from '../store/database';
import type { Examined } from '../http/manage/settings';
import { checkAccess } from './access';
import { checkCatalogue } from './catalogue';
import { checkConfiguration } from './configuration';
import { checkCounters } from './counters';
import { checkPrivileges, checkSchema, checkServer, checkSizes, checkTables } from './database';
import { attempt, unchecked, type Check, type Finding, type Patient } from './finding';
import { checkKeys } from './keys';
import { checkMail, checkOutbox } from './mail';
import { checkNodes } from './nodes';
import { checkOrders, checkReceivers } from './orders';
import { checkFolder, checkPackages } from './packages';
import { checkPages } from './pages';
import { checkRedis } from './redis';
import { checkSigning } from './signing';
import { checkSite } from './site';
import { checkUnits } from './units';
import { checkUpdateXml } from './update-xml';
import { checkWebhooks } from './webhooks';

/** Ordered so that a check follows the checks it depends on. */
const CHECKS: { name: string; check: Check; needsDatabase: boolean }[] = [
  { name: 'CONFIGURATION', check: checkConfiguration, needsDatabase: false },
  { name: 'UNITS', check: checkUnits, needsDatabase: false },
  { name: 'DATABASE', check: checkServer, needsDatabase: false },
  { name: 'DATABASE_NODES', check: checkNodes, needsDatabase: false },
  { name: 'SCHEMA', check: checkSchema, needsDatabase: true },
  { name: 'PRIVILEGES', check: checkPrivileges, needsDatabase: true },
  { name: 'TABLES', check: checkTables, needsDatabase: true },
  { name: 'SIZES', check: checkSizes, needsDatabase: true },
  { name: 'REDIS', check: checkRedis, needsDatabase: false },
  { name: 'PACKAGES_FOLDER', check: checkFolder, needsDatabase: false },
  { name: 'PACKAGES', check: checkPackages, needsDatabase: true },
  { name: 'UPDATE_XML', check: checkUpdateXml, needsDatabase: true },
  { name: 'CATALOGUE', check: checkCatalogue, needsDatabase: true },
  { name: 'KEY_SECRET', check: checkKeys, needsDatabase: true },
  { name: 'SIGNING_KEYS', check: checkSigning, needsDatabase: true },
  { name: 'API_TOKENS', check: checkAccess, needsDatabase: true },
  { name: 'MAIL', check: checkMail, needsDatabase: false },
  { name: 'OUTBOX', check: checkOutbox, needsDatabase: true },
  { name: 'WEBHOOKS', check: checkWebhooks, needsDatabase: true },
  { name: 'ORDERS', check: checkOrders, needsDatabase: true },
  { name: 'RECEIVERS', check: checkReceivers, needsDatabase: true },
  { name: 'COUNTERS', check: checkCounters, needsDatabase: true },
  { name: 'SITE', check: checkSite, needsDatabase: false },
  { name: 'PAGES', check: checkPages, needsDatabase: false },
];

/**
 * Checks that read all packages or all licences, or make and drop a table: too much for a service between its requests.
 * The command `licensing doctor` has them.
 */
const THOROUGH = ['PACKAGES', 'COUNTERS', 'PRIVILEGES'];

/** What a running service can tell of itself within seconds. */
export async function examineFromWithin(config: Config, db: Db, now: () => Date): Promise<Examined[]> {
  const nothing = { url: undefined, ca: undefined, repairAs: undefined, progress: () => undefined };
  const findings = await examine({ config, db, now, ...nothing }, THOROUGH);
  return findings.map(({ code, level, what, why, remedy }) => {
    return { id: code, state: level, message: what, why, remedy };
  });
}

/** Runs every check, even after others have failed. */
export async function examine(patient: Patient, except: string[] = []): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, check, needsDatabase } of CHECKS) {
    if (except.includes(name)) continue;
    if (needsDatabase && findings.some(({ code }) => code === 'DATABASE_UNREACHABLE')) {
      findings.push(unchecked(name, `${name} could not be checked without the database.`));
      continue;
    }
    findings.push(...(await attempt(name, () => check(patient))));
  }
  return findings;
}
