/** A command refused, in words for the operator that say what to do instead. Nothing has changed when it is thrown. */
export class OperatorError extends Error {}
