import { CodedError, ConfigError } from '../base/errors';

/** For a call that needs the site's configuration.php, which cannot be read now. @throws SITE_AWAY, or any other error */
export function siteAway(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  throw new CodedError('SITE_AWAY', "The site's configuration.php cannot be read.", undefined, {
    cause: error,
  });
}
