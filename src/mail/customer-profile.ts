import { findProfile, type CustomerProfile } from '../store/customer-profiles';
import type { Db } from '../store/engine/database';
import { asCustomerLanguage, type CustomerLanguage } from '../texts/customers/languages';

/** A customer's name and language: what the seller chose, else what was told last. */

export { findProfile };

type Profile = Pick<CustomerProfile, 'name' | 'language' | 'chosenName' | 'chosenLanguage'>;

export interface Person {
  name: string | null;
  /** null: the service's (LICENSING_MAIL_LANGUAGE) */
  language: CustomerLanguage | null;
}

export function personOf(profile: Profile | undefined): Person {
  return {
    name: profile?.chosenName ?? profile?.name ?? null,
    language: asCustomerLanguage(profile?.chosenLanguage ?? profile?.language) ?? null,
  };
}

/** @param address null: nobody's */
export async function readPerson(db: Db, address: string | null): Promise<Person> {
  return personOf(address === null ? undefined : await findProfile(db, address));
}
