import { CodedError, ConfigError } from '../base/errors';

/** Handles an error in reading the site's configuration.php. @throws SITE_AWAY if it is unreadable now, or any other error */
export function throwSiteUnavailable(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  throw new CodedError('SITE_AWAY', "The site's configuration.php cannot be read.", undefined, {
    cause: error,
  });
}
