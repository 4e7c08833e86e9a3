import type { Knex } from 'knex';
import * as products from './001_products';
import * as plans from './002_plans';
import * as licenses from './003_licenses';
import * as activations from './004_activations';
import * as releases from './005_releases';
import * as accessLog from './006_access_log';
import * as events from './007_events';
import * as productUpdateXml from './008_product_update_xml';
import * as repeats from './009_repeats';
import * as unknownKeyHints from './010_unknown_key_hints';
import * as afterExpiry from './011_after_expiry';
import * as bundles from './012_bundles';
import * as licenseKeys from './013_license_keys';
import * as licenseMetadata from './014_license_metadata';
import * as mainKeys from './015_main_keys';
import * as activationSlots from './016_activation_slots';
import * as freeStaging from './017_free_staging';
import * as optionalLicenseKeys from './018_optional_license_keys';
import * as dropLicenseKeys from './019_drop_license_keys';
import * as tokens from './020_tokens';
import * as issuedBy from './021_issued_by';
import * as listIndexes from './023_list_indexes';
import * as licenseRefusals from './024_license_refusals';
import * as leases from './025_leases';
import * as idempotency from './026_idempotency';
import * as dailySums from './027_daily_sums';
import * as refusedLicenses from './028_refused_licenses';
import * as licenseCounts from './029_license_counts';
import * as licenseStanding from './030_license_standing';
import * as unsummed from './031_unsummed';
import * as customerIds from './032_customer_ids';
import * as outbox from './033_outbox';
import * as productReminders from './034_product_reminders';
import * as oneTimeCodes from './037_one_time_codes';
import * as sessions from './038_sessions';
import * as operators from './039_operators';
import * as selfServiceMoves from './040_self_service_moves';
import * as licenseCountsByPlan from './041_license_counts_by_plan';
import * as signingKeys from './042_signing_keys';
import * as heldActivations from './043_held_activations';
import * as accessSites from './044_access_sites';
import * as webhooks from './045_webhooks';
import * as webhookDeliveries from './046_webhook_deliveries';
import * as webhookIndexes from './047_webhook_indexes';
import * as shops from './048_shops';
import * as shopSkus from './049_shop_skus';
import * as orders from './050_orders';
import * as orderLines from './051_order_lines';
import * as shopMessages from './052_shop_messages';
import * as orderPayments from './060_order_payments';
import * as unmatched from './061_unmatched';
import * as shopRefusals from './062_shop_refusals';
import * as shopMessageOrders from './064_shop_message_orders';
import * as orderMails from './065_order_mails';
import * as searchIndexes from './066_search_indexes';

/** In order. The database stores the names, without a file extension. */
const migrations: Record<string, Knex.Migration> = {
  '001_products': products,
  '002_plans': plans,
  '003_licenses': licenses,
  '004_activations': activations,
  '005_releases': releases,
  '006_access_log': accessLog,
  '007_events': events,
  '008_product_update_xml': productUpdateXml,
  '009_repeats': repeats,
  '010_unknown_key_hints': unknownKeyHints,
  '011_after_expiry': afterExpiry,
  '012_bundles': bundles,
  '013_license_keys': licenseKeys,
  '014_license_metadata': licenseMetadata,
  '015_main_keys': mainKeys,
  '016_activation_slots': activationSlots,
  '017_free_staging': freeStaging,
  '018_optional_license_keys': optionalLicenseKeys,
  '019_drop_license_keys': dropLicenseKeys,
  '020_tokens': tokens,
  '021_issued_by': issuedBy,
  '023_list_indexes': listIndexes,
  '024_license_refusals': licenseRefusals,
  '025_leases': leases,
  '026_idempotency': idempotency,
  '027_daily_sums': dailySums,
  '028_refused_licenses': refusedLicenses,
  '029_license_counts': licenseCounts,
  '030_license_standing': licenseStanding,
  '031_unsummed': unsummed,
  '032_customer_ids': customerIds,
  '033_outbox': outbox,
  '034_product_reminders': productReminders,
  '037_one_time_codes': oneTimeCodes,
  '038_sessions': sessions,
  '039_operators': operators,
  '040_self_service_moves': selfServiceMoves,
  '041_license_counts_by_plan': licenseCountsByPlan,
  '042_signing_keys': signingKeys,
  '043_held_activations': heldActivations,
  '044_access_sites': accessSites,
  '045_webhooks': webhooks,
  '046_webhook_deliveries': webhookDeliveries,
  '047_webhook_indexes': webhookIndexes,
  '048_shops': shops,
  '049_shop_skus': shopSkus,
  '050_orders': orders,
  '051_order_lines': orderLines,
  '052_shop_messages': shopMessages,
  '060_order_payments': orderPayments,
  '061_unmatched': unmatched,
  '062_shop_refusals': shopRefusals,
  '064_shop_message_orders': shopMessageOrders,
  '065_order_mails': orderMails,
  '066_search_indexes': searchIndexes,
};

/** Removes what only earlier versions read: run on a database in use once every process has been restarted. */
const CONTRACTING = new Set(['019_drop_license_keys']);

export const isContracting = (name: string): boolean => CONTRACTING.has(name);

export const migrationNames = Object.keys(migrations);

export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(migrationNames),
  getMigrationName: (name) => name,
  getMigration: (name) => Promise.resolve(migrations[name] as Knex.Migration),
};
