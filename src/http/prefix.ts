/** The address of this API, exactly; nginx passes on what lies below it. In a file of its own for who needs no server. */
export const PREFIX = '/api/index.php/v1/licensing';
