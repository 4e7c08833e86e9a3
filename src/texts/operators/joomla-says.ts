import type { LanguageCode } from '../dates';

/**
 * What customers read in Joomla, and what it means, for failures that leave no record here or that a customer tells of in
 * Joomla's words (docs/joomla-messages.md). Joomla's messages stay English in German too: the
 * updater has most of them from curl, and what a language pack makes of the others differs between its versions.
 */
export interface JoomlaMessage {
  code: JoomlaMessageCode;
  /** as Joomla shows it */
  says: string;
  means: string;
  todo: string;
}

const CODES = [
  ...(['NOT_OFFERED', 'KEY_FIELD_EMPTY', 'BLANK_IN_KEY', 'STATUS_400', 'STATUS_403', 'STATUS_404'] as const),
  ...(['STATUS_429', 'SERVER_ERROR', 'REDIRECTED', 'CERTIFICATE', 'NOT_CONNECTED', 'NO_PACKAGE'] as const),
  ...(['CHECKSUM', 'NO_CHECKSUM', 'OUT_OF_MEMORY'] as const),
];
export type JoomlaMessageCode = (typeof CODES)[number];

type Row = Omit<JoomlaMessage, 'code'>;

const english: Record<JoomlaMessageCode, Row> = {
  NOT_OFFERED: {
    says: 'Nothing: no update is offered',
    means:
      'The update site is disabled, the update XML does not fit the installed extension or this Joomla, or Joomla has not looked since.',
    todo: 'Check that the XML offers the version. The customer enables the update site and selects Check for Updates.',
  },
  KEY_FIELD_EMPTY: {
    says: 'The Download Key is missing',
    means: 'The field is empty. Joomla sends nothing.',
    todo: 'The customer enters the key under System > Update > Update Sites, into Download Key.',
  },
  BLANK_IN_KEY: {
    says: 'Error connecting to the server: URL using bad/illegal format or missing URL',
    means: 'There is a space or a line break in the key. Joomla sends nothing.',
    todo: 'The customer pastes the key again, without anything before or after it.',
  },
  STATUS_400: {
    says: 'Error connecting to the server: 400',
    means:
      'No key arrived: the download address is redirected or has a "#". Or an invisible character was pasted with the key.',
    todo: 'If a refusal is recorded, check the address in the update XML. If none is, the customer types the last characters of the key by hand.',
  },
  STATUS_403: {
    says: 'Error connecting to the server: 403',
    means: 'Refused: the key is unknown, or the licence has ended, is not active or is for another product.',
    todo: 'Search for the customer’s key or e-mail: the licence says which of them it is.',
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
    means: 'The download address redirects in a circle.',
    todo: 'The update XML must name the final https address.',
  },
  CERTIFICATE: {
    says: 'SSL certificate problem: unable to get local issuer certificate',
    means: 'The customer’s server does not accept the certificate of your site.',
    todo: 'Mostly the intermediate certificates are missing on your server. If only one customer reports it, the list of authorities on their server is too old.',
  },
  NOT_CONNECTED: {
    says: 'Couldn’t connect to server, Could not resolve host, or Connection timed out',
    means: 'The customer’s server did not reach yours.',
    todo: 'Your web server was down, or a firewall, mostly of the customer’s host, lets no connection out.',
  },
  NO_PACKAGE: {
    says: 'Failed to extract file',
    means: 'The answer came from the site’s own pages or from a cache, not from this service.',
    todo: 'Look at System > Doctor, which checks the way to the service.',
  },
  CHECKSUM: {
    says: 'The checksum verification failed',
    means: 'The update XML belongs to another package.',
    todo: 'Write the update XML again, at the product’s releases.',
  },
  NO_CHECKSUM: {
    says: 'This extension does not provide a checksum',
    means: 'The update XML has no checksum. The update is installed all the same.',
    todo: 'Nothing is broken. An XML that this service writes has a checksum.',
  },
  OUT_OF_MEMORY: {
    says: 'A blank page, or Whoops, looks like something went wrong',
    means:
      'The package does not fit into the memory that PHP may use there. With 128 MB, packages above some 40 MB fail.',
    todo: 'The customer raises memory_limit, or downloads the package and installs it by hand.',
  },
};

const german: typeof english = {
  NOT_OFFERED: {
    says: 'Nichts: Es wird kein Update angeboten',
    means:
      'Die Aktualisierungsquelle ist deaktiviert, das Update-XML passt nicht zur installierten Erweiterung oder zu diesem Joomla, oder Joomla hat seitdem nicht gesucht.',
    todo: 'Prüfen Sie, ob das XML die Version anbietet. Der Kunde aktiviert die Aktualisierungsquelle und lässt nach Updates suchen.',
  },
  KEY_FIELD_EMPTY: {
    says: 'The Download Key is missing',
    means: 'Das Feld ist leer. Joomla sendet nichts.',
    todo: 'Der Kunde trägt den Schlüssel unter System > Aktualisieren > Aktualisierungsquellen ein, Feld Downloadschlüssel.',
  },
  BLANK_IN_KEY: {
    says: english.BLANK_IN_KEY.says,
    means: 'Im Schlüssel ist ein Leerzeichen oder ein Zeilenumbruch. Joomla sendet nichts.',
    todo: 'Der Kunde fügt den Schlüssel noch einmal ein, ohne etwas davor oder dahinter.',
  },
  STATUS_400: {
    says: english.STATUS_400.says,
    means:
      'Es kam kein Schlüssel an: Die Download-Adresse wird umgeleitet oder enthält ein „#“. Oder mit dem Schlüssel wurde ein unsichtbares Zeichen eingefügt.',
    todo: 'Ist eine Ablehnung aufgezeichnet, prüfen Sie die Adresse im Update-XML. Sonst tippt der Kunde die letzten Zeichen des Schlüssels von Hand.',
  },
  STATUS_403: {
    says: english.STATUS_403.says,
    means:
      'Abgelehnt: Der Schlüssel ist unbekannt, oder die Lizenz ist abgelaufen, nicht aktiv oder für ein anderes Produkt.',
    todo: 'Suchen Sie nach dem Schlüssel oder der E-Mail des Kunden: Die Lizenz sagt, was davon es ist.',
  },
  STATUS_404: {
    says: english.STATUS_404.says,
    means: 'Diese Version ist nicht veröffentlicht, oder ihr Paket kann nicht gesendet werden.',
    todo: 'Sehen Sie die Versionen des Produkts an. Ist der Download als gesendet aufgezeichnet, kann der Webserver das Paket nicht lesen.',
  },
  STATUS_429: {
    says: english.STATUS_429.says,
    means: 'Von der Adresse des Kunden kamen in kurzer Zeit zu viele Anfragen.',
    todo: 'Der Kunde wartet eine Minute und versucht es noch einmal.',
  },
  SERVER_ERROR: {
    says: 'Error connecting to the server: 500, 502 oder 503, oder eine Zeitüberschreitung',
    means: 'Der Dienst oder seine Datenbank lief nicht, oder die Übertragung brach ab.',
    todo: 'Der Kunde versucht es noch einmal. Geschieht es wieder, sehen Sie unter System > Prüfung und in den Protokollen dieser Zeit nach.',
  },
  REDIRECTED: {
    says: english.REDIRECTED.says,
    means: 'Die Download-Adresse leitet im Kreis um.',
    todo: 'Das Update-XML muss die endgültige https-Adresse nennen.',
  },
  CERTIFICATE: {
    says: english.CERTIFICATE.says,
    means: 'Der Server des Kunden akzeptiert das Zertifikat Ihrer Website nicht.',
    todo: 'Meist fehlen auf Ihrem Server die Zwischenzertifikate. Meldet es nur ein Kunde, ist die Liste der Zertifizierungsstellen auf dessen Server zu alt.',
  },
  NOT_CONNECTED: {
    says: 'Couldn’t connect to server, Could not resolve host oder Connection timed out',
    means: 'Der Server des Kunden hat Ihren nicht erreicht.',
    todo: 'Ihr Webserver war nicht verfügbar, oder eine Firewall, meist beim Hoster des Kunden, lässt keine Verbindung hinaus.',
  },
  NO_PACKAGE: {
    says: 'Failed to extract file',
    means: 'Die Antwort kam von den Seiten der Website oder aus einem Cache, nicht von diesem Dienst.',
    todo: 'Sehen Sie unter System > Prüfung nach: Sie prüft den Weg zum Dienst.',
  },
  CHECKSUM: {
    says: english.CHECKSUM.says,
    means: 'Das Update-XML gehört zu einem anderen Paket.',
    todo: 'Schreiben Sie das Update-XML neu, bei den Versionen des Produkts.',
  },
  NO_CHECKSUM: {
    says: english.NO_CHECKSUM.says,
    means: 'Das Update-XML hat keine Prüfsumme. Das Update wird trotzdem installiert.',
    todo: 'Nichts ist defekt. Ein XML, das dieser Dienst schreibt, hat eine Prüfsumme.',
  },
  OUT_OF_MEMORY: {
    says: 'Eine leere Seite oder Whoops, looks like something went wrong',
    means:
      'Das Paket passt nicht in den Speicher, den PHP dort benutzen darf. Mit 128 MB scheitern Pakete ab etwa 40 MB.',
    todo: 'Der Kunde erhöht memory_limit, oder er lädt das Paket herunter und installiert es von Hand.',
  },
};

const TEXTS: Record<LanguageCode, typeof english> = { en: english, de: german };

/** The table "Joomla says | It means", in the order in which an update can fail. */
export function joomlaSays(language: LanguageCode): JoomlaMessage[] {
  return CODES.map((code) => ({ code, ...TEXTS[language][code] }));
}
