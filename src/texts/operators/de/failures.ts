import type { FailureTexts } from '../failures';

export const failures: FailureTexts = {
  mail: {
    ADDRESS_REFUSED: 'Der Mailserver nimmt keine Mail für diese Adresse an',
    MAIL_REFUSED: 'Der Mailserver hat diese Mail abgelehnt',
    SENDER_REFUSED: 'Der Mailserver nimmt von diesem Absender oder Rechner keine Mail an',
    PASSWORD_REFUSED: 'Der Mailserver hat Benutzer oder Passwort abgelehnt',
    LATER: 'Der Mailserver bittet um einen späteren Versuch',
    TLS: 'Die Verbindung ließ sich nicht verschlüsseln, oder das Zertifikat des Mailservers gilt nicht für seinen Namen',
    TIMEOUT: 'Der Mailserver hat nicht rechtzeitig geantwortet',
    NOT_RESOLVED: 'Der Name des Mailservers wurde nicht gefunden',
    NOT_CONNECTED: 'Am eingestellten Port antwortet kein Mailserver',
    SENDMAIL: 'Das Programm sendmail ist fehlgeschlagen oder lässt sich nicht ausführen',
    SENDMAIL_RIGHTS:
      'Das Programm sendmail braucht die Rechte eines anderen Benutzers oder einer Gruppe, und die Unit des Dienstes lässt das nicht zu (NoNewPrivileges)',
    SENDMAIL_OWNER:
      'Das Programm, das configuration.php als sendmail nennt, wird nicht verwendet, weil es kein bekanntes Mailprogramm ist, das nur root ändern kann',
    FOLDER: 'In den Ordner für Mails kann nicht geschrieben werden',
    NO_CUSTOMER: 'Die Lizenz hat keinen Kunden mit E-Mail-Adresse',
    KEY_UNKNOWN: 'Der Schlüssel der Lizenz lässt sich nicht anzeigen',
    ANSWER_UNKNOWN: 'Ihr Text wurde mit einem anderen Geheimnis des Dienstes versiegelt',
    NOBODYS: 'Kein Kunde hat diese Adresse: nicht gesendet',
    UNKNOWN: 'unbekannter Fehler',
  },
  webhook: {
    STATUS: 'Die Gegenstelle hat mit einem Fehler geantwortet',
    CHALLENGED:
      'Statt der Gegenstelle hat ein CDN oder eine Firewall geantwortet: Nehmen Sie dort die Adresse des Webhooks aus',
    TIMEOUT: 'Die Gegenstelle hat nicht innerhalb von 15 Sekunden geantwortet',
    ADDRESS_REFUSED: 'Der Name führt zu einer Adresse, an die keine Webhooks gehen dürfen',
    NOT_RESOLVED: 'Der Name der Gegenstelle lässt sich nicht auflösen',
    TLS: 'Die Verbindung ließ sich nicht verschlüsseln, oder das Zertifikat der Gegenstelle gilt nicht für ihren Namen',
    NOT_CONNECTED: 'Die Gegenstelle ist nicht erreichbar oder hat die Verbindung ohne Antwort geschlossen',
    INVALID_ANSWER: 'Die Antwort ist kein HTTP',
    SECRET:
      'Das Geheimnis des Webhooks lässt sich nicht öffnen: Es wurde mit einem anderen Geheimnis des Dienstes versiegelt',
    UNKNOWN: 'unbekannter Fehler',
  },
  catchUp: {
    KEY_REFUSED:
      'der Shop lehnt den API-Schlüssel ab: Es gilt inzwischen ein anderer, oder er darf das nicht lesen',
    NOT_FOUND: 'unter dieser Adresse gibt es keine solche Liste',
    MOVED: 'der Shop hat eine andere Adresse, und der Schlüssel wird nur an die eingetragene gesendet',
    RATE_LIMITED: 'der Shop bittet, länger zu warten, als ein Lauf dauert',
    TOO_LARGE: 'die Antwort ist größer als 8 MiB',
    STATUS: 'der Shop hat mit einem Fehler geantwortet',
    CHALLENGED: 'statt des Shops hat ein CDN oder eine Firewall geantwortet: Nehmen Sie dort seine API aus',
    TIMEOUT: 'der Shop hat nicht rechtzeitig geantwortet',
    ADDRESS_REFUSED: 'seine Adresse ist nicht öffentlich, und ihr Netz ist auf dem Server nicht erlaubt',
    NOT_RESOLVED: 'sein Name lässt sich nicht auflösen',
    TLS: 'die Verbindung ließ sich nicht verschlüsseln, oder das Zertifikat des Shops gilt nicht für seinen Namen',
    NOT_CONNECTED: 'der Shop ist nicht erreichbar oder hat die Verbindung ohne Antwort beendet',
    INVALID_ANSWER: 'die Antwort ist keine solche Liste',
    SECRET:
      'sein API-Schlüssel lässt sich nicht öffnen: Er wurde mit einem anderen Geheimnis des Dienstes versiegelt',
    UNKNOWN: 'aus unbekanntem Grund',
  },
  waits: {
    not_mapped: (sku) => `${sku === undefined ? 'der Artikel' : `Artikel „${sku}“`} hat noch keinen Tarif`,
    unknown_order: (renews) =>
      renews === undefined
        ? 'die frühere Bestellung ist nicht bekannt'
        : `sie verlängert „${renews}“, die hier noch nicht bekannt ist`,
    too_many: () => 'aus ihr würden mehr als 100 Lizenzen auf einmal',
    reference_in_use: () => 'eine andere Lizenz hat ihre Bestellnummer',
    no_plan: () => 'ihren Tarif gibt es nicht mehr',
    failed: () => 'sie konnte nicht verarbeitet werden, und der Dienst versucht es weiter',
    no_article: () => 'die Meldung des Shops nennt dafür keinen Artikel',
    bad_quantity: () => 'ihre Menge lässt sich nicht lizenzieren',
    bad_article: () => 'der Name ihres Artikels ist zu lang oder sieht aus wie ein Lizenzschlüssel',
    unreadable: () => 'die Meldung des Shops nennt die Position nicht',
    other: () => 'es fehlt etwas',
  },
  keysNotMailed: {
    test: 'es ist eine Testbestellung',
    nothing_issued: 'es wurde nichts ausgestellt',
    off: 'der Shop gibt sie selbst heraus',
    no_address: 'die Bestellung hat noch keine Adresse',
    mail_off: 'der Mailversand ist nicht eingerichtet',
    not_sent: 'noch nicht angefordert',
  },
  mailRights: (from) =>
    `Wenn ein Mailserver dieses Rechners an Port 25 lauscht, tragen Sie ihn unter Einstellungen ein: Server localhost, Port 25, Absender ${from}.`,
};
