import type { PageResponse, OperatorCall } from '../page';
import { showOverview } from './overview';
import { showStart } from './start';

/** Shows the operator's first page. Also used after a sign-in that cannot redirect. */
export async function showFirst(call: OperatorCall): Promise<PageResponse> {
  const answer = await showOverview(call);
  return 'to' in answer ? showStart(call) : answer;
}
