import { Type } from '@sinclair/typebox';
import { API_PATH } from '../licensing/api';
import { subtractDuration } from '../licensing/durations';
import { countFailedMails } from '../mail/queue';
import { countRefused } from '../orders/refused-messages';
import { countUnmatched } from '../orders/unmatched-views';
import { countWaitingOrders, countWithoutAddress } from '../orders/views';
import { get } from './kit/operation';
import { strictObject, nullable } from './kit/schemas';

/** The maximum count, because counting more would keep the caller waiting. */
const MAX_WITHOUT_ADDRESS = 1_000;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const overviewOperations = {
  getOverview: get(
    '/overview',
    {
      summary: "Count what needs the seller's attention",
      description:
        'For monitoring, and for the component in Joomla, which sends a ticket in `X-Licensing-Ticket` instead of a token.',
      data: strictObject(
        {
          orders_waiting: count('Orders that wait.'),
          orders_without_address: count(
            'Paid orders without an e-mail address, whose keys could not be mailed; at most 1,000.',
          ),
          payments_unmatched: count('Payments that match nothing.'),
          signatures_refused: count(
            'Messages of shops that were refused because of their signature, in seven days.',
          ),
          mails_failed: count('Mails that failed, in seven days.'),
          enter_url: nullable(
            Type.String({
              description:
                'The address that the component posts the sign-in to, if `LICENSING_PAGES_HOST` is set; null: the site itself.',
            }),
          ),
        },
        { title: 'Overview' },
      ),
    },
    async ({ db, now, settings: { config } }) => {
      const { pagesHost, operatorUrl } = config;
      const waiting = await countWaitingOrders(db);
      const unmatched = await countUnmatched(db);
      return {
        data: {
          orders_waiting: waiting.reduce((sum, { orders }) => sum + orders, 0),
          orders_without_address: await countWithoutAddress(db, MAX_WITHOUT_ADDRESS),
          payments_unmatched: unmatched.reduce((sum, one) => sum + one.count, 0),
          signatures_refused: await countRefused(db, now),
          mails_failed: await countFailedMails(db, subtractDuration(now, '7d')),
          enter_url:
            pagesHost === undefined || operatorUrl === undefined
              ? null
              : `${operatorUrl}${API_PATH}/pages/enter-joomla`,
        },
      };
    },
  ),
};
