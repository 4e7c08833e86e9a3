import { findProfile, findProfiles, type CustomerProfile } from '../store/customer-profiles';
import type { Db } from '../store/engine/database';
import { asCustomerLanguage, type CustomerLanguage } from '../texts/customers/languages';

/** A customer's name and language: the seller's or the customer's choice, otherwise the last ones that were reported. */

export { findProfile };

type Profile = Pick<CustomerProfile, 'name' | 'language' | 'chosenName' | 'chosenLanguage'>;

export interface Recipient {
  name: string | null;
  /** null for the default (LICENSING_MAIL_LANGUAGE) */
  language: CustomerLanguage | null;
}

export function personOf(profile: Profile | undefined): Recipient {
  return {
    name: profile?.chosenName ?? profile?.name ?? null,
    language: asCustomerLanguage(profile?.chosenLanguage ?? profile?.language) ?? null,
  };
}

/** Returns the name and language for an address. @param address null if unknown */
export async function readPerson(db: Db, address: string | null): Promise<Recipient> {
  return personOf(address === null ? undefined : await findProfile(db, address));
}

/** Returns the names of these licences' customers that are known, by address. */
export async function readNames(
  db: Db,
  licenses: { customer: string | null }[],
): Promise<Map<string, string>> {
  const addresses = licenses.flatMap(({ customer }) => customer ?? []);
  const names = new Map<string, string>();
  for (const [address, profile] of await findProfiles(db, [...new Set(addresses)])) {
    const { name } = personOf(profile);
    if (name !== null) names.set(address, name);
  }
  return names;
}
