import { decodeHTMLStrict } from 'entities';
import { chunksOf } from '../../base/chunks';
import { shortDigest } from '../../base/digest';
import { storedCustomer } from '../../licensing/customer-email';
import type { Db } from '../../store/engine/database';
import { findRows } from '../../store/import';
import { findImported } from '../../store/imports';
import { parseBaseline } from './import-baseline';
import type { SourceLicense } from './source';
import { sourceStandingOf } from './standing';

/**
 * Rows that share a key in a table without ids. Rows of one customer are one licence. One customer's licence has only
 * the key's id, so that later exports match it again. Other customers' licences have a digest of the customer behind it.
 */

/** A row that may be chosen for its customer's licence. */
export interface Candidate extends Pick<SourceLicense, 'status' | 'startsAt' | 'expiresAt'> {
  line: number;
  /** whether the row is refunded or revoked: then it wins over other rows of its order */
  isEnded: boolean;
}

export class SharedKeys {
  /** the customer whose licence has only the key's id, keyed by key */
  readonly #bare = new Map<string, string>();
  readonly #shared = new Map<string, Set<string>>();
  readonly #chosen = new Map<string, Candidate>();
  readonly #now: Date;

  constructor(now: Date) {
    this.#now = now;
  }

  get isEmpty(): boolean {
    return this.#shared.size === 0;
  }

  /** Records a row. Called once for each row, in the order of the table. */
  note(key: string, customer: string): void {
    const owner = ownerOf(customer);
    const first = this.#bare.get(key);
    if (first !== undefined)
      this.#shared.set(key, (this.#shared.get(key) ?? new Set<string>().add(first)).add(owner));
    if (!first) this.#bare.set(key, owner);
  }

  /** Finds the licences that already have the keys here, because another file may begin with another customer's row. */
  async findHere(db: Db, source: string): Promise<void> {
    for (const some of chunksOf([...this.#bare])) {
      const owners = new Map(some.map(([key, first]) => [key, this.#shared.get(key) ?? [first]]));
      const ids = [...owners].flatMap(([key, some]) => [key, ...[...some].map((owner) => idOf(key, owner))]);
      const here = await ownersHere(db, source, [...new Set(ids)]);
      for (const [key, some] of owners) {
        const left = [...some].filter((owner) => owner !== '' && !here.has(idOf(key, owner)));
        const theirs = here.get(key)?.find((owner) => left.includes(owner));
        this.#bare.set(key, theirs ?? left[0] ?? '');
      }
    }
  }

  isShared(key: string): boolean {
    return this.#shared.has(key);
  }

  /** Returns a row's id. A row without a customer belongs to the licence that has only the key's id. */
  idOf(key: string, customer: string): string {
    const owner = ownerOf(customer);
    return this.#bare.get(key) === owner ? key : idOf(key, owner);
  }

  /** Adds a row to choose from. @param order the customer's order; empty if unknown */
  add(id: string, order: string, candidate: Candidate): void {
    const name = `${id} ${order}`;
    const before = this.#chosen.get(name);
    const wins =
      before === undefined || (order !== '' && candidate.isEnded !== before.isEnded)
        ? before === undefined || candidate.isEnded
        : this.#isBetter(candidate, before);
    if (wins) this.#chosen.set(name, candidate);
  }

  /** Returns the line of the chosen row for each id: first a row that works, then the latest end, then the first row. */
  lines(): Map<string, number> {
    const best = new Map<string, Candidate>();
    for (const [name, candidate] of this.#chosen) {
      const id = name.slice(0, name.indexOf(' '));
      const before = best.get(id);
      if (before === undefined || this.#isBetter(candidate, before)) best.set(id, candidate);
    }
    return new Map([...best].map(([id, { line }]) => [id, line]));
  }

  #isBetter(one: Candidate, other: Candidate): boolean {
    const standings = sourceStandingOf(one, this.#now) - sourceStandingOf(other, this.#now);
    return standings < 0 || (standings === 0 && endOf(one) > endOf(other));
  }
}

/** Returns an end for sorting. Without an end the start decides, because the plan's duration counts from it. */
function endOf({ startsAt, expiresAt }: Candidate): number {
  return expiresAt === null ? Infinity : ((expiresAt ?? startsAt)?.getTime() ?? 0);
}

/** Returns the digest of a customer's address as it is stored; empty if the row names no customer. */
function ownerOf(customer: string): string {
  return customer === '' ? '' : shortDigest(storedCustomer(decodeHTMLStrict(customer)));
}

function idOf(key: string, owner: string): string {
  return owner === '' ? key : `${key}-${owner}`;
}

/** Returns the customers of each licence, by its id at the source: its imported and its current customer, as digests. */
async function ownersHere(db: Db, source: string, ids: string[]): Promise<Map<string, string[]>> {
  const here = new Map<string, string[]>();
  for (const some of chunksOf(ids)) {
    const references = some.map((id) => `${source}:${id}`);
    const licenses = await findRows(db, 'licenses', 'reference', references);
    const imported = await findImported(
      db,
      'license',
      licenses.map(({ id }) => id as number),
    );
    for (const { id, reference, customer } of licenses) {
      const { customer: brought } = parseBaseline(imported.get(id as number)?.broughtJson);
      const owners = [brought, typeof customer === 'string' ? shortDigest(customer) : undefined];
      here.set(
        (reference as string).slice(source.length + 1),
        owners.filter((owner): owner is string => typeof owner === 'string'),
      );
    }
  }
  return here;
}
