import { activationOperations } from './activations';
import { answerOperations } from './answers';
import { configurationOperations } from './configuration';
import { customerOperations } from './customers';
import { doctorOperations } from './doctor';
import { exposureOperations } from './exposure';
import { historyOperations } from './history';
import { importOperations } from './imports';
import { joomlaDoorOperations } from './joomla-door';
import { joomlaPluginOperations } from './joomla-plugin';
import { licenseKeyOperations } from './license-keys';
import { licenseOperations } from './licenses';
import { mailTextOperations } from './mail-texts';
import { mailOperations } from './mails';
import { meOperations } from './me';
import { moveInOperations } from './move-in';
import type { Operation } from './kit/operation';
import { orderOperations } from './orders';
import { overviewOperations } from './overview';
import { planOperations } from './plans';
import { productOperations } from './products';
import { releaseNoticeOperations } from './release-notice';
import { releaseOperations } from './releases';
import { renewalOperations } from './renewals';
import { signingKeyOperations } from './signing-keys';
import { shopPluginOperations } from './shop-plugin';
import { shopOperations } from './shops';
import { statisticsOperations } from './statistics';
import { tokenOperations } from './tokens';
import { reportedSiteOperations } from './reported-sites';
import { unmatchedOperations } from './unmatched';
import { updateXmlOperations } from './update-xml';
import { webhookOperations } from './webhooks';
import { whyOperations } from './why';

/** All operations by group, in the order of the OpenAPI document, by their name in it. */
export const OPERATION_GROUPS: Record<string, Record<string, Operation>> = {
  Licences: licenseOperations,
  Keys: licenseKeyOperations,
  Activations: activationOperations,
  Mails: mailOperations,
  History: historyOperations,
  Products: { ...productOperations, ...joomlaPluginOperations },
  Plans: planOperations,
  Releases: {
    ...releaseOperations,
    ...releaseNoticeOperations,
    ...exposureOperations,
    ...updateXmlOperations,
  },
  Support: { ...whyOperations, ...answerOperations, ...reportedSiteOperations },
  Orders: { ...orderOperations, ...shopOperations, ...shopPluginOperations, ...unmatchedOperations },
  Customers: customerOperations,
  Imports: { ...importOperations, ...moveInOperations },
  Settings: { ...configurationOperations, ...mailTextOperations },
  Statistics: { ...statisticsOperations, ...renewalOperations, ...overviewOperations },
  Webhooks: webhookOperations,
  Installation: {
    ...meOperations,
    ...tokenOperations,
    ...signingKeyOperations,
    ...doctorOperations,
    ...joomlaDoorOperations,
  },
};

export const OPERATIONS: Operation[] = Object.values(OPERATION_GROUPS).flatMap((group) =>
  Object.values(group),
);
