/** The limits of columns, as `migrations/schema` defines them. Lengths are in characters (code points). */

/** The highest product or plan id, limit or slot count. */
export const MAX_UINT32 = 0xffff_ffff;

/** For a name, label, customer, reference or actor. */
export const MAX_LABEL_LENGTH = 190;

export const MAX_IDENTIFIER_LENGTH = 255;

export const MAX_URL_LENGTH = 500;

export const MAX_USER_AGENT_LENGTH = 255;

/** For texts of refused requests in the access log. */
export const MAX_REFUSED_TEXT_LENGTH = 64;
