import type { Link, ParsedEvent, ParsedMessage } from '../parsed-message';

/**
 * A subscription that will not renew, or will again. Senders say that it will with many other changes, so this waits until a
 * message has said that it will not: a link that only such a message makes leads to the order.
 * @param subscription the sender's id of it
 */
export function renewalOf(
  isStopped: boolean,
  { order, ...event }: Omit<ParsedEvent, 'event'>,
  subscription: string,
): Pick<ParsedMessage, 'event' | 'links'> {
  const key = `stopped-${subscription}`;
  const shared = { ...event, isQuiet: true } as const;
  if (!isStopped) return { event: { ...shared, event: 'renewal_resumed', order: { of: key } } };
  const links: Link[] =
    'number' in order && !order.leads
      ? [{ key, order: order.number }]
      : [{ key, other: 'of' in order ? order.of : order.number }];
  return { links, event: { ...shared, event: 'renewal_stopped', order } };
}
