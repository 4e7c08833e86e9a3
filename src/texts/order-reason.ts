/** The event of an order that changed a licence. */
interface OrderReason {
  shop: string;
  number: string;
  event: string;
}

/** Reads a reason that came from an order (`eventReason` in orders/draft.ts); undefined if a person wrote it. */
export function readOrderReason(reason: string | null): OrderReason | undefined {
  const [, shop, number, event] = /^(\S+) (.+): ([a-z_]+)$/s.exec(reason ?? '') ?? [];
  return shop === undefined || number === undefined || event === undefined
    ? undefined
    : { shop, number, event };
}
