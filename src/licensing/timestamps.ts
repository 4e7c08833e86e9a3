/** The form of the contract: ISO 8601 UTC in whole seconds, cut, never rounded. */
export function formatTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

export function formatTimestampOrNull(date: Date | null): string | null {
  return date && formatTimestamp(date);
}
