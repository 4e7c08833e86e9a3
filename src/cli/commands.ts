import type { Command } from 'commander';
import type { WorkOnce } from './work';

/**
 * The commands in the order of the help. Each is loaded when it is called: loading all takes longer than most commands
 * run. They are not in cli.ts, which an old Node must be able to parse.
 */
const COMMANDS: Record<string, () => Promise<(program: Command, workOnce: WorkOnce) => void>> = {
  setup: async () => (await import('../cli/setup.js')).addSetupCommand,
  init: async () => (await import('../cli/init.js')).addInitCommand,
  migrate: async () => (await import('../cli/migrate.js')).addMigrateCommand,
  nginx: async () => (await import('../cli/nginx.js')).addNginxCommand,
  apache: async () => (await import('../cli/apache.js')).addApacheCommand,
  product: async () => (await import('../cli/product.js')).addProductCommands,
  plan: async () => (await import('../cli/plan.js')).addPlanCommands,
  php: async () => (await import('../cli/php.js')).addPhpCommand,
  license: async () => (await import('../cli/license.js')).addLicenseCommands,
  activation: async () => (await import('../cli/activation.js')).addActivationCommands,
  release: async () => (await import('../cli/release.js')).addReleaseCommands,
  packages: async () => (await import('../cli/packages.js')).addPackagesCommands,
  'update-xml': async () => (await import('../cli/update-xml.js')).addUpdateXmlCommands,
  manifest: async () => (await import('../cli/manifest.js')).addManifestCommand,
  'joomla-plugin': async () => (await import('../cli/joomla-plugin.js')).addJoomlaPluginCommand,
  'joomla-door': async () => (await import('../cli/joomla-door.js')).addJoomlaDoorCommand,
  customer: async () => (await import('../cli/customer.js')).addCustomerCommands,
  mail: async () => (await import('../cli/mail.js')).addMailCommands,
  shop: async () => (await import('../cli/shop.js')).addShopCommands,
  order: async () => (await import('../cli/order.js')).addOrderCommands,
  unmatched: async () => (await import('../cli/unmatched.js')).addUnmatchedCommands,
  spreading: async () => (await import('../cli/spreading.js')).addSpreadingCommand,
  exposure: async () => (await import('../cli/exposure.js')).addExposureCommand,
  renewals: async () => (await import('../cli/renewals.js')).addRenewalsCommand,
  'not-renewed': async () => (await import('../cli/renewals.js')).addNotRenewedCommand,
  token: async () => (await import('../cli/token.js')).addTokenCommands,
  'signing-key': async () => (await import('../cli/signing-key.js')).addSigningKeyCommands,
  webhook: async () => (await import('../cli/webhook.js')).addWebhookCommands,
  'sign-in': async () => (await import('../cli/sign-in.js')).addSignInCommand,
  operator: async () => (await import('../cli/operator.js')).addOperatorCommands,
  'security-txt': async () => (await import('../cli/security-txt.js')).addSecurityTxtCommand,
  settings: async () => (await import('../cli/settings.js')).addSettingsCommands,
  export: async () => (await import('../cli/export.js')).addExportCommand,
  import: async () => (await import('../cli/import.js')).addImportCommand,
  'move-in': async () => (await import('../cli/move-in-check.js')).addMoveInCommands,
  why: async () => (await import('../cli/why.js')).addWhyCommand,
  health: async () => (await import('../cli/health.js')).addHealthCommand,
  upgrade: async () => (await import('../cli/upgrade.js')).addUpgradeCommand,
  work: async () => (await import('../cli/work.js')).addWorkCommand,
  doctor: async () => (await import('../cli/doctor.js')).addDoctorCommand,
};

/** Returns the command that a line names, or all commands if it names none. */
export function selectCommands(argv: string[]) {
  const [first, second] = argv.slice(2).filter((word) => !word.startsWith('-'));
  const named = COMMANDS[(first === 'help' ? second : first) ?? ''];
  return named === undefined ? Object.values(COMMANDS) : [named];
}
