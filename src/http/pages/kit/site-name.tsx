import { asWritten } from '../../../licensing/core/identifiers';

/** A site as people write it. Where DNS has it otherwise, that form is its title, for a search or a copy. */
export function SiteName({ of }: { of: string }) {
  const written = asWritten(of);
  return written === of ? <>{of}</> : <span title={of}>{written}</span>;
}
