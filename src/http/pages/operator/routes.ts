import type { OperatorCall, Route } from '../page';
import { answerRoutes } from './answer';
import { customerRoutes } from './customer';
import { customerListRoutes } from './customers';
import { doctorRoutes } from './doctor';
import { findRoutes } from './find';
import { historyRoutes } from './history';
import { issueRoutes } from './issue';
import { joomlaPluginRoutes } from './joomla-plugin';
import { licenseRoutes } from './license';
import { licenseBulkRoutes } from './license-bulk';
import { licenseListRoutes } from './licenses';
import { mailRoutes } from './mails';
import { moveInRoutes } from './move-in';
import { operatorListRoutes } from './operators';
import { orderRoutes } from './order';
import { orderListRoutes } from './orders';
import { overviewRoutes } from './overview';
import { planRoutes } from './plans';
import { productRoutes } from './product';
import { productSiteRoutes } from './product-sites';
import { productFormRoutes } from './product-form';
import { productListRoutes } from './products';
import { releaseActionRoutes } from './release-actions';
import { releaseNewRoutes } from './release-new';
import { releaseExposureRoutes } from './release-exposure';
import { releaseRolloutRoutes } from './release-rollout';
import { releaseNotifyRoutes } from './release-notify';
import { releaseSbomRoutes } from './release-sbom';
import { releaseListRoutes } from './releases';
import { notRenewedRoutes } from './not-renewed';
import { renewalRoutes } from './renewals';
import { requestRoutes } from './requests';
import { signingKeyRoutes } from './signing-keys';
import { shopRoutes } from './shop';
import { shopPluginRoutes } from './shop-plugin';
import { shopListRoutes } from './shops';
import { skuRoutes } from './shop-map';
import { keySharingRoutes } from './key-sharing';
import { mailTextRoutes } from './mail-texts';
import { settingsRoutes } from './settings';
import { startRoutes } from './start';
import { systemRoutes } from './system';
import { tokenRoutes } from './tokens';
import { unmatchedRoutes } from './unmatched';
import { updateXmlRoutes } from './update-xml';
import { webhookRoutes } from './webhook';
import { webhookListRoutes } from './webhooks';
import { xmlOptionRoutes } from './xml-options';

/** The operator's pages, in the order in which their addresses are matched. */
export const operatorRoutes: Route<OperatorCall>[] = [
  ...overviewRoutes,
  ...startRoutes,
  ...renewalRoutes,
  ...notRenewedRoutes,
  ...findRoutes,
  ...licenseListRoutes,
  ...licenseBulkRoutes,
  ...issueRoutes,
  ...licenseRoutes,
  ...answerRoutes,
  ...requestRoutes,
  ...keySharingRoutes,
  ...historyRoutes,
  ...customerListRoutes,
  ...customerRoutes,
  ...orderListRoutes,
  ...skuRoutes,
  ...unmatchedRoutes,
  ...orderRoutes,
  ...shopListRoutes,
  ...shopRoutes,
  ...shopPluginRoutes,
  ...releaseListRoutes,
  ...releaseNewRoutes,
  ...releaseActionRoutes,
  ...releaseRolloutRoutes,
  ...releaseNotifyRoutes,
  ...releaseExposureRoutes,
  ...releaseSbomRoutes,
  ...productListRoutes,
  ...productFormRoutes,
  ...productRoutes,
  ...productSiteRoutes,
  ...updateXmlRoutes,
  ...xmlOptionRoutes,
  ...joomlaPluginRoutes,
  ...planRoutes,
  ...systemRoutes,
  ...settingsRoutes,
  ...mailTextRoutes,
  ...tokenRoutes,
  ...signingKeyRoutes,
  ...operatorListRoutes,
  ...moveInRoutes,
  ...mailRoutes,
  ...webhookListRoutes,
  ...webhookRoutes,
  ...doctorRoutes,
];
