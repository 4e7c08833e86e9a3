/** What columns hold, as the migrations made them. Lengths are characters (code points). */

/** Of an id of a product or plan, a limit, or a count of slots. */
export const MAX_UINT32 = 0xffff_ffff;

/** Of a name, label, customer, reference or actor. */
export const MAX_LABEL_LENGTH = 190;

/** Of an identifier, as it is sent and as it is normalised. */
export const MAX_IDENTIFIER_LENGTH = 255;

export const MAX_USER_AGENT_LENGTH = 255;

/** Of a text in the access log that a refused request sent. */
export const MAX_REFUSED_TEXT_LENGTH = 64;
