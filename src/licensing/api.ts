/** The address of this API; nginx forwards everything below it (docs/contract.md, 1). */
export const API_PATH = '/api/index.php/v1/licensing';

/** The texts of the API's answers (docs/contract.md, 8 and 9). Only the text of a failed download shows its reason. */

/** The text for each code; an answer may carry a more precise one. */
export const API_TEXTS = {
  INVALID_REQUEST: 'The request is not valid.',
  LICENSE_NOT_FOUND: 'License not found',
  LICENSE_INACTIVE: 'License is not active',
  LICENSE_EXPIRED: 'License has expired',
  ACTIVATION_LIMIT_REACHED: 'All activation slots of this license are in use',
  ACTIVATION_NOT_FOUND: 'Activation not found',
  ACTIVATION_HELD: 'This activation is used without network, and cannot be given back before held_until',
  PRODUCT_MISMATCH: 'License does not match this product',
  DOWNLOAD_NOT_FOUND: 'No download is available for this product',
  FILE_NOT_FOUND: 'The package file is missing',
  NOT_FOUND: 'There is nothing at this address',
  METHOD_NOT_ALLOWED: 'This address does not answer that method',
  UNSUPPORTED_MEDIA_TYPE: 'The body must not be compressed',
  RATE_LIMITED: 'Too many requests',
  SERVICE_UNAVAILABLE: 'The service is not available at the moment; please try again',
  INTERNAL_ERROR: 'An internal error occurred',
} as const;

export const KEY_REQUIRED = 'Download ID (license key) is required';

export const PRODUCT_ID_REQUIRED = 'Product ID must be an integer';

/** Returns the address where customers see their licences. @param publicUrl the site's address */
export function myPageUrl(publicUrl: string): string {
  return `${publicUrl}${API_PATH}/pages/my`;
}
