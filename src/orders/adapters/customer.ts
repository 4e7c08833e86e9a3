import { requireOrderCustomer, type OrderMessage } from '../message';

/**
 * Returns the customer in a form that can be stored. An invalid name or address does not lose the order.
 * @param named the name or its parts
 */
export function customerOf(
  email: string | undefined,
  named?: string | (string | undefined)[],
  language?: string,
): OrderMessage['customer'] {
  if (email === undefined) return undefined;
  const name = [named].flat().filter(Boolean).join(' ') || undefined;
  for (const customer of [
    { email, name, language },
    { email, language },
  ])
    try {
      return requireOrderCustomer(customer);
    } catch {
      // Try without the name, or return no customer.
    }
  return undefined;
}
