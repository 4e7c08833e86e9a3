import type { LoggedAccess } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { explainAccesses } from './explain-accesses';
import { loadCaseState } from './load-case-state';
import { isOfRequest } from './grouped-findings';
import { requestHistory, type HistoryEntry, type WhatHappenedOptions } from './request-history';
import { renderFinding } from './why';

/** An entry of the access log with its description for a list of requests. */
export interface DescribedRequest {
  access: LoggedAccess;
  told: HistoryEntry;
}

type TellOptions = Pick<WhatHappenedOptions, 'language' | 'now' | 'zone'>;

/** Describes each entry as a licence's page does, in this order, with the reason for a refusal as of now. */
export async function describeRequests(
  db: Db,
  accesses: LoggedAccess[],
  options: TellOptions,
): Promise<DescribedRequest[]> {
  // A search of all events takes a second on a large table; only a licence's page can wait for it.
  const known = await loadCaseState(db, accesses, options.now, [], 0);
  return accesses.flatMap((access) => {
    const activationType = known.licenses.get(access.licenseId ?? 0)?.plan.activationType;
    const requests = explainAccesses([access], known)
      .map((one) => renderFinding(one, options.language))
      .filter(isOfRequest);
    return requestHistory(
      { licenseId: null, requests: requests.reverse() },
      { ...options, ...(activationType === undefined ? {} : { activationType }) },
    ).map((told) => ({ access, told }));
  });
}
