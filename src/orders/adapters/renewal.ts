import type { IdLink, ParsedEvent, ParsedMessage } from '../parsed-message';

/**
 * Returns the event of a subscription that will not renew, or will renew again. Senders also report renewal with many
 * other changes, so `renewal_resumed` needs a link to the order that only an earlier `renewal_stopped` makes.
 * @param subscription the sender's id of the subscription
 */
export function renewalEventOf(
  isStopped: boolean,
  { order, ...event }: Omit<ParsedEvent, 'event'>,
  subscription: string,
): Pick<ParsedMessage, 'event' | 'links'> {
  const key = `stopped-${subscription}`;
  const shared = { ...event, isQuiet: true } as const;
  if (!isStopped) return { event: { ...shared, event: 'renewal_resumed', order: { of: key } } };
  const links: IdLink[] =
    'number' in order && !order.leads
      ? [{ key, order: order.number }]
      : [{ key, other: 'of' in order ? order.of : order.number }];
  return { links, event: { ...shared, event: 'renewal_stopped', order } };
}
