import type { CustomerProfile } from '../customer-profiles';
import type { Access, LoggedAccess } from '../access-log';
import type { StoredActivation } from '../licenses/activations';
import type { Inclusion, Plan, Product } from '../catalogue';
import type { DeliveryColumns } from '../deliveries';
import type { StoredEvent } from '../events';
import type { StoredCall } from '../idempotency';
import type { ImportedItem, ImportRun } from '../imports';
import type { LeaseRow } from '../leases';
import type { LicenseDownload } from '../licenses/license-downloads';
import type { LicenseKey } from '../licenses/license-keys';
import type { LimitCount } from '../limit-counts';
import type { LockedLicense } from '../licenses/licenses';
import type { SlotOfRequest } from '../link-requests';
import type { StoredCode } from '../one-time-codes';
import type { Operator } from '../operators';
import type { MoneySum } from '../orders/money';
import type { Order, OrderEvent, OrderLicense, OrderLine } from '../orders/orders';
import type { OutboxRow } from '../outbox';
import type { Release } from '../releases';
import type { ReleaseSbom } from '../sboms';
import type { SecurityNotice } from '../security-notices';
import type { StoredExposure } from '../exposures';
import type { EndSum, StateSum } from '../renewals';
import type { RowOf } from './row-fields';
import type { SearchWord } from '../search-words';
import type { StoredSession } from '../sessions';
import type { StoredSetting } from '../settings';
import type { ShopLink, ShopMessage } from '../orders/shop-messages';
import type { Shop, ShopSku } from '../orders/shops';
import type { SigningKey } from '../signing-keys';
import type { DailySum, LicenseCount, LicenseMonth, RefusedCount, VersionSiteCount } from '../sums';
import type { ApiToken } from '../tokens';
import type { KeyNetwork, SpreadingKey, ReportedSite } from '../reported-sites';
import type { Unmatched } from '../orders/unmatched';
import type { WebhookRow } from '../webhooks';

/**
 * The types of the tables for the query builder, with which the compiler refuses an unknown column or a wrong value. A
 * column is declared as a field of its row's interface; this file adds the columns that no reader of the row needs.
 */

interface Unsummed {
  /** the number of the row's times that are not summed yet; null if none */
  unsummed: number | null;
}

interface OfCustomer {
  /** see customer-digest.ts */
  customer_digest: string | null;
}

declare module 'knex/types/tables' {
  interface Tables {
    [products: `${string}licensing_products`]: RowOf<Product> & { update_xml: string | null };
    [product_includes: `${string}licensing_product_includes`]: RowOf<Inclusion>;
    [plans: `${string}licensing_plans`]: RowOf<Plan>;
    [licenses: `${string}licensing_licenses`]: RowOf<LockedLicense> & OfCustomer;
    [license_keys: `${string}licensing_license_keys`]: RowOf<LicenseKey>;
    [activations: `${string}licensing_activations`]: RowOf<StoredActivation>;
    [releases: `${string}licensing_releases`]: RowOf<Release>;
    [release_sboms: `${string}licensing_release_sboms`]: RowOf<ReleaseSbom>;
    [security_notices: `${string}licensing_security_notices`]: RowOf<SecurityNotice>;
    [access_log: `${string}licensing_access_log`]: RowOf<Access & LoggedAccess> & Unsummed;
    [license_refusals: `${string}licensing_license_refusals`]: { license_id: number; at: string };
    [told_sites: `${string}licensing_told_sites`]: RowOf<ReportedSite>;
    [license_downloads: `${string}licensing_license_downloads`]: RowOf<LicenseDownload>;
    [exposures: `${string}licensing_exposures`]: RowOf<StoredExposure>;
    [key_networks: `${string}licensing_key_networks`]: RowOf<KeyNetwork>;
    [spreading_keys: `${string}licensing_spreading_keys`]: RowOf<SpreadingKey>;
    [events: `${string}licensing_events`]: RowOf<StoredEvent> & Unsummed;
    [idempotency: `${string}licensing_idempotency`]: RowOf<StoredCall>;
    [tokens: `${string}licensing_tokens`]: RowOf<ApiToken>;
    [one_time_codes: `${string}licensing_one_time_codes`]: RowOf<StoredCode>;
    [link_requests: `${string}licensing_link_requests`]: RowOf<SlotOfRequest> & { address_digest: string };
    [sessions: `${string}licensing_sessions`]: RowOf<StoredSession>;
    [operators: `${string}licensing_operators`]: RowOf<Operator>;
    [settings: `${string}licensing_settings`]: RowOf<StoredSetting>;
    [signing_keys: `${string}licensing_signing_keys`]: RowOf<SigningKey>;
    [leases: `${string}licensing_leases`]: LeaseRow & { name: string };
    [limit_counts: `${string}licensing_limit_counts`]: RowOf<LimitCount>;
    [daily_sums: `${string}licensing_daily_sums`]: RowOf<DailySum>;
    [refused_licenses: `${string}licensing_refused_licenses`]: {
      day: string;
      product_id: number;
      code: string;
      license_id: number;
    };
    [license_counts: `${string}licensing_license_counts`]: RowOf<LicenseCount>;
    [license_months: `${string}licensing_license_months`]: RowOf<LicenseMonth>;
    [refused_counts: `${string}licensing_refused_counts`]: RowOf<RefusedCount>;
    [told_counts: `${string}licensing_told_counts`]: RowOf<VersionSiteCount>;
    [end_sums: `${string}licensing_end_sums`]: RowOf<EndSum>;
    [state_sums: `${string}licensing_state_sums`]: RowOf<StateSum>;
    [money_sums: `${string}licensing_money_sums`]: RowOf<MoneySum>;
    [outbox: `${string}licensing_outbox`]: RowOf<
      Omit<OutboxRow, 'attemptedBefore' | 'dueAt'> & DeliveryColumns
    > & {
      recipient_digest: string | null;
    };
    [webhooks: `${string}licensing_webhooks`]: RowOf<WebhookRow>;
    [shops: `${string}licensing_shops`]: RowOf<Shop>;
    [shop_skus: `${string}licensing_shop_skus`]: RowOf<ShopSku>;
    [shop_messages: `${string}licensing_shop_messages`]: RowOf<ShopMessage>;
    [unmatched: `${string}licensing_unmatched`]: RowOf<Unmatched>;
    [shop_links: `${string}licensing_shop_links`]: RowOf<ShopLink>;
    [customers: `${string}licensing_customers`]: RowOf<CustomerProfile>;
    [shop_refusals: `${string}licensing_shop_refusals`]: { shop: string; day: string; times: number };
    [orders: `${string}licensing_orders`]: RowOf<Order> & OfCustomer;
    [order_events: `${string}licensing_order_events`]: RowOf<OrderEvent>;
    [order_lines: `${string}licensing_order_lines`]: RowOf<OrderLine>;
    [order_licenses: `${string}licensing_order_licenses`]: RowOf<OrderLicense>;
    [imports: `${string}licensing_imports`]: RowOf<ImportRun>;
    [imported: `${string}licensing_imported`]: RowOf<ImportedItem>;
    [search_words: `${string}licensing_search_words`]: RowOf<SearchWord>;
    [migrations: `${string}licensing_migrations`]: {
      id: number;
      name: string;
      batch: number;
      migration_time: string;
    };
  }
}
