import { joomlaSays as en } from '../en/joomla-says';
import type { JoomlaTexts } from '../joomla-says';

export const joomlaSays: JoomlaTexts = {
  NOT_OFFERED: {
    says: 'Es wird kein Update angeboten',
    means:
      'Die Aktualisierungsquelle ist deaktiviert, das Update-XML ist nicht abrufbar oder passt nicht zur installierten Erweiterung (<client>) oder zu diesem Joomla (targetplatform), oder Joomla hat seitdem nicht gesucht. Joomla fragt diesen Dienst dann nicht.',
    todo: 'Prüfen Sie, ob das XML die Version anbietet. Der Kunde aktiviert die Aktualisierungsquelle und lässt nach Updates suchen.',
  },
  KEY_FIELD_EMPTY: {
    says: 'The Download Key is missing',
    means: 'Das Feld ist leer oder enthält nur eine 0. Joomla sendet nichts.',
    todo: 'Der Kunde trägt den Schlüssel unter System > Aktualisieren > Aktualisierungsquellen ein, Feld Downloadschlüssel.',
  },
  BLANK_IN_KEY: {
    says: en.BLANK_IN_KEY.says,
    means:
      'Im Schlüssel (oder in downloadurl) ist ein Leerzeichen oder ein Zeilenumbruch. Joomla sendet nichts.',
    todo: 'Der Kunde fügt den Schlüssel noch einmal ein, ohne etwas davor oder dahinter.',
  },
  STATUS_400: {
    says: en.STATUS_400.says,
    means:
      'Es kam kein Schlüssel an: Die Download-Adresse wird umgeleitet oder enthält ein „#“. Oder mit dem Schlüssel wurde ein unsichtbares Zeichen eingefügt.',
    todo: 'Ist eine Ablehnung aufgezeichnet, prüfen Sie die Adresse im Update-XML. Sonst tippt der Kunde die letzten Zeichen des Schlüssels von Hand. Mit licensing.conf entfernt nginx ein unsichtbares Zeichen.',
  },
  STATUS_403: {
    says: en.STATUS_403.says,
    means:
      'Abgelehnt: Der Schlüssel ist unbekannt, oder die Lizenz ist abgelaufen, nicht aktiv oder für ein anderes Produkt.',
    todo: 'Suchen Sie nach dem Schlüssel oder der E-Mail des Kunden: Die Seite der Lizenz zeigt die Ursache.',
  },
  STATUS_404: {
    says: en.STATUS_404.says,
    means: 'Diese Version ist nicht veröffentlicht, oder ihr Paket kann nicht gesendet werden.',
    todo: 'Sehen Sie die Versionen des Produkts an. Ist der Download als gesendet aufgezeichnet, kann der Webserver das Paket nicht lesen.',
  },
  STATUS_429: {
    says: en.STATUS_429.says,
    means: 'Von der Adresse des Kunden kamen in kurzer Zeit zu viele Anfragen.',
    todo: 'Der Kunde wartet eine Minute und versucht es noch einmal.',
  },
  SERVER_ERROR: {
    says: 'Error connecting to the server: 500, 502 oder 503, oder eine Zeitüberschreitung',
    means: 'Der Dienst oder seine Datenbank lief nicht, oder die Übertragung brach ab.',
    todo: 'Der Kunde versucht es noch einmal. Geschieht es wieder, sehen Sie unter System > Systemprüfung und in den Protokollen dieser Zeit nach.',
  },
  REDIRECTED: {
    says: en.REDIRECTED.says,
    means:
      'Die Download-Adresse (downloadurl) wird umgeleitet. Joomla sendet den Schlüssel nicht an die neue Adresse oder wird im Kreis geschickt.',
    todo: 'Das Update-XML muss die endgültige https-Adresse nennen.',
  },
  CERTIFICATE: {
    says: en.CERTIFICATE.says,
    means: 'Der Server des Kunden akzeptiert das Zertifikat Ihrer Website nicht.',
    todo: 'Meist fehlen auf Ihrem Server die Zwischenzertifikate: Sein Zertifikat muss die Datei mit der ganzen Kette sein (fullchain.pem). Meldet es nur ein Kunde, ist die Liste der Zertifizierungsstellen auf dessen Server zu alt.',
  },
  NOT_CONNECTED: {
    says: 'Couldn’t connect to server, Could not resolve host oder Connection timed out',
    means: 'Der Server des Kunden hat Ihren nicht erreicht.',
    todo: 'Ihr Webserver war nicht verfügbar, oder eine Firewall, meist beim Hoster des Kunden, lässt keine Verbindung hinaus.',
  },
  NO_PACKAGE: {
    says: 'Failed to extract file',
    means:
      'Die Antwort kam von den Seiten der Website oder aus einem Cache, nicht von diesem Dienst, oder ihre Header wurden verändert.',
    todo: 'Sehen Sie unter System > Systemprüfung nach: Sie prüft den Weg zum Dienst.',
  },
  CHECKSUM: {
    says: en.CHECKSUM.says,
    means:
      'Der Download ist als gesendet aufgezeichnet. Die Prüfsumme im Update-XML gehört zu einem anderen Paket oder ist von Leerzeichen umgeben.',
    todo: 'Schreiben Sie das Update-XML neu, bei den Versionen des Produkts.',
  },
  NO_CHECKSUM: {
    says: en.NO_CHECKSUM.says,
    means: 'Das Update-XML hat keine Prüfsumme. Das Update wird trotzdem installiert.',
    todo: 'Nichts ist defekt. Ein XML, das dieser Dienst schreibt, hat eine Prüfsumme.',
  },
  OUT_OF_MEMORY: {
    says: 'Eine leere Seite oder Whoops, looks like something went wrong',
    means:
      'Der Download ist als gesendet aufgezeichnet, aber das Paket passt nicht in den Speicher, den PHP dort benutzen darf. Mit 128 MB scheitern Pakete ab etwa 40 MB.',
    todo: 'Der Kunde erhöht memory_limit, oder er lädt das Paket herunter und installiert es von Hand.',
  },
};
