/** The address of this API; nginx passes on everything below it (contract, first lines). */
export const API_PATH = '/api/index.php/v1/licensing';
