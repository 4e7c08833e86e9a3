import type { OperatorCall, Route } from '../page';
import { customerRoutes } from './customer';
import { customerListRoutes } from './customers';
import { findRoutes } from './find';
import { historyRoutes } from './history';
import { issueRoutes } from './issue';
import { licenseRoutes } from './license';
import { licenseListRoutes } from './licenses';
import { overviewRoutes } from './overview';
import { requestRoutes } from './requests';
import { startRoutes } from './start';

/** The operator's pages, in the order in which their addresses are matched. */
export const operatorRoutes: Route<OperatorCall>[] = [
  ...overviewRoutes,
  ...startRoutes,
  ...findRoutes,
  ...licenseListRoutes,
  ...issueRoutes,
  ...licenseRoutes,
  ...requestRoutes,
  ...historyRoutes,
  ...customerListRoutes,
  ...customerRoutes,
];
