/** The limits of database columns, as `migrations/schema` defines them. Lengths are in characters (code points). */

export { MAX_UINT32 } from '../../store/words';

/** The maximum length of a name, label, customer, reference or actor. */
export const MAX_LABEL_LENGTH = 190;

export const MAX_IDENTIFIER_LENGTH = 255;

export const MAX_URL_LENGTH = 500;

export const MAX_USER_AGENT_LENGTH = 255;

/** The maximum length of a text that the access log keeps from a refused request. */
export const MAX_REFUSED_TEXT_LENGTH = 64;
