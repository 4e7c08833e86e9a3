import type { PageResponse, OperatorCall } from '../page';
import { showOverview } from './overview';
import { showStart } from './start';

/** The page that an operator sees first, also where no redirect can lead to it. */
export async function showFirst(call: OperatorCall): Promise<PageResponse> {
  const answer = await showOverview(call);
  return 'to' in answer ? showStart(call) : answer;
}
