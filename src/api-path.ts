/** The address of this API, exactly; nginx passes on what lies below it (contract, the first lines). */
export const API_PATH = '/api/index.php/v1/licensing';
