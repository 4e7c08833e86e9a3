import type { JoomlaTexts } from '../joomla-says';

export const joomlaSays: JoomlaTexts = {
  NOT_OFFERED: {
    says: 'No update is offered',
    means:
      'The update site is disabled, the update XML cannot be fetched or does not fit the installed extension (<client>) or this Joomla (targetplatform), or Joomla has not looked since. Joomla does not ask this service then.',
    todo: 'Check that the XML offers the version. The customer enables the update site and selects Check for Updates.',
  },
  KEY_FIELD_EMPTY: {
    says: 'The Download Key is missing',
    means: 'The field is empty, or has only a 0 in it. Joomla sends nothing.',
    todo: 'The customer enters the key under System > Update > Update Sites, into Download Key.',
  },
  BLANK_IN_KEY: {
    says: 'Error connecting to the server: URL using bad/illegal format or missing URL',
    means: 'There is a space or a line break in the key (or in downloadurl). Joomla sends nothing.',
    todo: 'The customer pastes the key again, without anything before or after it.',
  },
  STATUS_400: {
    says: 'Error connecting to the server: 400',
    means:
      'No key arrived: the download address is redirected or has a "#". Or an invisible character was pasted with the key.',
    todo: 'If a refusal is recorded, check the address in the update XML. If no refusal is recorded, the customer types the last characters of the key by hand. With licensing.conf, nginx removes an invisible character.',
  },
  STATUS_403: {
    says: 'Error connecting to the server: 403',
    means: 'Refused: the key is unknown, or the licence has ended, is not active or is for another product.',
    todo: 'Search for the customer’s key or e-mail: the page of the licence shows the cause.',
  },
  STATUS_404: {
    says: 'Error connecting to the server: 404',
    means: 'This version is not published, or its package cannot be sent.',
    todo: 'Look at the releases of the product. If the download is recorded as sent, the web server cannot read the package.',
  },
  STATUS_429: {
    says: 'Error connecting to the server: 429',
    means: 'Too many requests came from the customer’s address in a short time.',
    todo: 'The customer waits a minute and tries again.',
  },
  SERVER_ERROR: {
    says: 'Error connecting to the server: 500, 502 or 503, or a time-out',
    means: 'The service or its database did not run, or the transfer broke off.',
    todo: 'The customer tries again. If it happens again, look at System > Doctor and at the logs of that time.',
  },
  REDIRECTED: {
    says: 'Error connecting to the server: Maximum (20) redirects followed',
    means:
      'The download address (downloadurl) is redirected. Joomla does not send the key to the new address, or goes in a circle.',
    todo: 'The update XML must name the final https address.',
  },
  CERTIFICATE: {
    says: 'SSL certificate problem: unable to get local issuer certificate',
    means: 'The customer’s server does not accept the certificate of your site.',
    todo: 'Mostly the intermediate certificates are missing on your server: its certificate must be the file with the whole chain (fullchain.pem). If only one customer reports it, the list of authorities on their server is too old.',
  },
  NOT_CONNECTED: {
    says: 'Couldn’t connect to server, Could not resolve host, or Connection timed out',
    means: 'The customer’s server did not reach yours.',
    todo: 'Your web server was down, or a firewall, mostly of the customer’s host, lets no connection out.',
  },
  NO_PACKAGE: {
    says: 'Failed to extract file',
    means:
      'The answer came from the site’s own pages or from a cache, not from this service, or its headers were changed.',
    todo: 'Look at System > Doctor, which checks the way to the service.',
  },
  CHECKSUM: {
    says: 'The checksum verification failed',
    means:
      'The download is recorded as sent. The hash in the update XML belongs to another package, or has spaces around it.',
    todo: 'Write the update XML again, at the product’s releases.',
  },
  NO_CHECKSUM: {
    says: 'This extension does not provide a checksum',
    means: 'The update XML has no checksum. The update is installed anyway.',
    todo: 'Nothing is broken. An XML that this service writes has a checksum.',
  },
  OUT_OF_MEMORY: {
    says: 'A blank page, or Whoops, looks like something went wrong',
    means:
      'The download is recorded as sent, but the package does not fit into the memory that PHP may use there. With 128 MB, packages above some 40 MB fail.',
    todo: 'The customer raises memory_limit, or downloads the package and installs it by hand.',
  },
};
