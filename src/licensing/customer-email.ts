import { MAX_LABEL_LENGTH } from './core/columns';
import { requireLabel } from './fields';
import { OperatorError } from './operator-error';

/** Customers are identified by their e-mail address in lower case. */

export { customerDigest, isCustomerDigest } from '../store/customer-digest';

/** The expected form, for messages. */
export const EMAIL_EXPECTED =
  'an e-mail address such as jane@example.com, or "Jane Roe <jane@example.com>" (the name is not stored)';

/** A shorter address would match inside other texts when a customer's data is erased. */
const ADDRESS =
  /^[^\s\p{Cc}\p{Cf}\p{Cs}@<>()[\],;:]+@(?=.{3})[^\s\p{Cc}\p{Cf}\p{Cs}@<>()[\],;:."]+(\.[^\s\p{Cc}\p{Cf}\p{Cs}@<>()[\],;:."]+)*$/u;

/** Finds `jane@example.com` in `Jane Roe <Jane@Example.com>`; undefined without an address that fits its column. */
export function findEmail(text: string): string | undefined {
  const [, bracketed] = /^[^<>]*<([^<>]*)>$/s.exec(text.trim()) ?? [];
  const address = (bracketed ?? text).trim().toLowerCase();
  return ADDRESS.test(address) && Array.from(address).length <= MAX_LABEL_LENGTH ? address : undefined;
}

/** @throws OperatorError without an address; the message does not repeat the text, which may be a key */
export function requireEmail(text: string, field = 'customer'): string {
  const address = findEmail(text);
  if (address === undefined)
    throw new OperatorError(`The customer must be ${EMAIL_EXPECTED}.`, {
      code: 'INVALID_REQUEST',
      field,
    });
  return address;
}

/** Returns the address of a licence's new customer. It must not contain a key, because customers are shown unredacted. */
export function requireCustomer(text: string): string {
  return requireLabel(requireEmail(text), 'customer');
}

/** Like `findEmail`, or the text in lower case: some customers were stored before addresses were required. */
export function storedCustomer(text: string): string {
  return findEmail(text) ?? text.trim().toLowerCase();
}
