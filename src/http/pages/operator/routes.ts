import type { OperatorCall, Route } from '../page';
import { issueRoutes } from './issue';
import { licenseRoutes } from './license';
import { licenseListRoutes } from './licenses';
import { overviewRoutes } from './overview';
import { startRoutes } from './start';

/** The operator's pages, in the order in which their addresses are matched. */
export const operatorRoutes: Route<OperatorCall>[] = [
  ...overviewRoutes,
  ...startRoutes,
  ...licenseListRoutes,
  ...issueRoutes,
  ...licenseRoutes,
];
