import type { LiveStatus } from '../../../licensing/core/states';
import { counted, endsSentence } from '../../case';
import { states, thing } from '../../customers/en/words';
import type { WorksNowState } from '../../../support/finding-model';

/** The texts that state whether a licence works now (support/current-access.ts). */
export const worksNow = {
  /** @param status the status that stops the licence; null: it is active */
  summary: (state: WorksNowState, code: string | null, status: LiveStatus | null): string => {
    if (state === 'fine') return 'all is well';
    if (state === 'again') return 'works again';
    return status === null ? (SUMMARY[code ?? ''] ?? 'refused') : states[status];
  },
  sameReason: (activationType: string, used: string | null) =>
    `New ${thing(activationType).many} are refused for the same reason.${used === null ? '' : ` ${used}`}`,
  used: (used: string, limit: string) =>
    `${used} of ${counted(limit, 'slot', 'slots')} ${used === '1' ? 'is' : 'are'} used.`,
  joomlaSays: {
    403: 'Joomla tells the customer only “Error connecting to the server: 403”.',
    404: 'Joomla tells the customer only “Error connecting to the server: 404”.',
  },
  refusedSince: (count: number, written: string, isMore: boolean) =>
    count === 0
      ? 'No update refused since.'
      : `${isMore ? 'At least ' : ''}${written} ${count === 1 ? 'update' : 'updates'} refused since.`,
  stopped: (day: string, actor: string | null, reason: string | null) =>
    `Since ${day}${actor === null ? '' : `, by ${actor}`}${reason === null ? '' : `: “${reason}”`}${endsSentence(reason) ? '' : '.'}`,
  updatesAgain: (since: string) => `Updates work again since ${since}.`,
  refusedBefore: (count: number, written: string, last: string) =>
    count === 1
      ? `1 refusal before, ${last}. The customer can try again.`
      : `${written} refusals before, the last ${last}. The customer can try again.`,
  lastRefused: (identifier: string, at: string, count: number, written: string) =>
    `Last refused: ${identifier}, ${at}${count === 1 ? '' : `, ${written} times`}. What is activated keeps working.`,
  keepsWorking: 'What is activated keeps working.',
  onlySlotUsed: 'The only slot is in use.',
  quiet: (days: string, day: string | null) =>
    `No refusal in ${counted(days, 'day', 'days')}.${day === null ? '' : ` Last update sent on ${day}.`}`,
};

const SUMMARY: Record<string, string> = {
  ACTIVATION_LIMIT_REACHED: 'full',
  DOWNLOAD_NOT_FOUND: 'nothing published',
  FILE_NOT_FOUND: 'package missing',
  LICENSE_NOT_FOUND: 'this key has ended',
};
