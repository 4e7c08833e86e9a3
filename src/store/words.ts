/** Words and limits of columns, for code that must not load the schemas (columns). */

/** The highest id of a product or plan, and the highest limit or slot count. */
export const MAX_UINT32 = 0xffff_ffff;

/** The identifiers that take a slot. */
export const ACTIVATION_TYPES = ['domain', 'device', 'seat', 'instance'] as const;

/**
 * The downloads that remain when a licence has ended: none, the versions that were published before its end, or also the
 * later security releases of their branches.
 */
export const AFTER_EXPIRY = ['nothing', 'last_release', 'security'] as const;

/** The versions that form a branch: the same first two numbers, the same first number, or all versions. */
export const SECURITY_BRANCHES = ['minor', 'major', 'any'] as const;
