import { findProfile, type CustomerProfile } from '../store/customer-profiles';
import type { Db } from '../store/engine/database';
import { asCustomerLanguage, type CustomerLanguage } from '../texts/customers/languages';

/** A customer's name and language: the seller's choice, otherwise the last ones that were reported. */

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
