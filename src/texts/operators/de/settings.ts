import type { settings as en } from '../en/settings';
import type { Translated } from '../../translated';
import { counted } from '../../case';

export const settings: Translated<typeof en> = {
  title: 'Einstellungen',
  about: 'Eine Änderung gilt nach spätestens zwei Sekunden.',
  change: 'Ändern',
  groups: {
    shop: 'Shop',
    mail: 'Mail',
    limits: 'Grenzen',
    keeping: 'Fristen',
  },
  names: {
    shop_name: 'Name',
    public_url: 'Adresse',
    mail_url: 'Mailserver',
    mail_language: 'Sprache der Mails',
    rate_limit: 'Anfragen eines Clients',
    rate_window: 'Fenster in Sekunden',
    download_rate_limit: 'Downloads eines Clients',
    manage_rate_limit: 'Aufrufe eines Tokens in der Minute',
    grace_days: 'Ein Abonnement läuft weiter',
    log_days: 'Anfragen werden aufbewahrt',
    token_days: 'Eine signierte Antwort gilt',
    offline_days: 'Eine Offline-Datei gilt',
  },
  hints: {
    shop_name: 'Auf den Seiten für Kunden und unter Mails. Leer: der Name der Joomla-Website.',
    public_url:
      'Die Adresse der Website, etwa https://shop.example, für Links in Mails und für Update-XMLs, die nach einer Änderung neu geschrieben werden.',
    mail_url: '',
    mail_language: 'Für Kunden, deren Sprache nicht bekannt ist.',
    rate_limit: 'Aktivieren, Deaktivieren, Prüfen und Updates zusammen, in jedem Fenster.',
    rate_window: 'Beginnt mit der ersten Anfrage eines Clients. Höchstens ein Tag.',
    download_rate_limit: 'In jedem Fenster. Leer: so viele wie Anfragen.',
    manage_rate_limit: 'An die API für Betreiber.',
    grace_days: 'Tage, solange auf seine Verlängerung gewartet wird. Ein Shop kann eigene haben.',
    log_days:
      'Tage, für die das Zugriffsprotokoll aufbewahrt wird. Ältere Einträge werden binnen einer Stunde gelöscht.',
    token_days: 'Tage.',
    offline_days: 'Tage, für die eine Datei für einen Rechner ohne Netz gilt.',
  },
  none: 'nicht gesetzt',
  source: {
    environment: 'beim Start gesetzt',
    stored: (who, when) => `hier gesetzt von ${who}, ${when}`,
    default: 'Standard',
  },
  isGiven: (variable) =>
    `${variable} ist in der Umgebung oder in der Einstellungsdatei gesetzt und geht vor. Entfernen Sie es dort und starten Sie den Dienst neu, um es hier zu ändern.`,
  fallback: (value) => `Leer: ${value}.`,
  fallbackSeconds: (value) => `${value} s`,
  days: (count) => counted(count, 'Tag', 'Tage'),
  formTitle: {
    shop: 'Den Shop ändern',
    limits: 'Die Grenzen ändern',
    keeping: 'Die Fristen ändern',
  },
  saving: 'Wird gespeichert...',
  wrong: {
    number: (least, most) => `Bitte geben Sie eine ganze Zahl von ${least} bis ${most} ein.`,
    text: (most) => `Bitte geben Sie eine Zeile mit höchstens ${most} Zeichen ein.`,
    url: (origin) =>
      `Bitte geben Sie die Adresse so ein, wie ein Browser sie zeigt, etwa https://shop.example. Diese Seite haben Sie unter ${origin} geöffnet.`,
    choice: 'Bitte wählen Sie aus der Liste.',
    mail: 'Bitte geben Sie den Namen des Mailservers und die E-Mail-Adresse des Absenders ein.',
  },
  picture: {
    title: 'Bild',
    about: 'Oben auf den Seiten für Kunden, neben dem Namen.',
    alt: 'Das Bild des Shops',
    file: 'Bild',
    hint: 'PNG, JPEG oder WebP, höchstens 256 KiB. Es wird 32 Pixel hoch angezeigt.',
    submit: 'Bild setzen',
    remove: 'Bild entfernen',
    none: 'keines',
    wrong: 'Das ist kein Bild in PNG, JPEG oder WebP. Bitte wählen Sie eine andere Datei.',
    tooLarge: 'Das Bild hat mehr als 256 KiB. Bitte wählen Sie ein kleineres.',
  },
  mail: {
    title: 'Mailserver',
    about: 'Wir prüfen die Verbindung, bevor wir speichern.',
    host: 'Server',
    hostHint: 'Etwa mail.example.org. Leer: die Mail-Einstellungen der Joomla-Website.',
    port: 'Port',
    portHint: 'Leer: 587 mit Passwort, 465 mit TLS von Anfang an.',
    tls: 'Verschlüsselung',
    tlsOptions: { smtp: 'STARTTLS', smtps: 'TLS von Anfang an' },
    inWords: ({ host, port, tls, user }) =>
      `${host}, Port ${port}, ${tls}${user === '' ? '' : `, Benutzer ${user}`}`,
    withSender: (to, from) => `${to}, Absender ${from}`,
    user: 'Benutzer',
    password: 'Passwort',
    passwordHint: 'Es wird verschlüsselt gespeichert und nie angezeigt.',
    passwordStays:
      'Leer: Das gespeicherte bleibt, für denselben Server, Port und Benutzer und dieselbe Verschlüsselung.',
    from: 'Absender',
    fromHint: 'Die E-Mail-Adresse, von der Mails kommen.',
    untried: 'Trotzdem speichern',
    submit: 'Prüfen und speichern',
    busy: 'Wird geprüft...',
    refused: (why, said) =>
      `Nichts wurde gespeichert: ${why}.${said === '' ? '' : ` Der Server sagte: „${said}“.`} Um ihn trotzdem zu speichern, kreuzen Sie das letzte Kästchen an und geben Sie das Passwort noch einmal ein.`,
    noKeySecret:
      'Das Passwort lässt sich nicht speichern: Dem Dienst fehlt das Geheimnis, um es zu verschlüsseln. Die Systemprüfung zeigt, was zu tun ist.',
    off: 'Mail ist nicht eingerichtet.',
    offNoAddress: 'Mail ist aus: Links in Mails brauchen die Adresse des Shops.',
  },
  test: {
    title: 'Testmail senden',
    go: 'Testmail senden',
    to: 'An',
    submit: 'Senden',
    busy: 'Wird gesendet...',
    refused: (why, said) =>
      `Die Mail wurde nicht gesendet: ${why}.${said === '' ? '' : ` Der Server sagte: „${said}“.`}`,
  },
  texts: {
    title: 'Texte der Mails',
    about: 'Die Standardtexte und Ihre eigenen.',
    own: (count, text) =>
      count === 0 ? 'Standardtexte' : count === 1 ? '1 eigener Text' : `${text} eigene Texte`,
    go: 'Texte zeigen',
    caption: 'Nach Mail',
    columns: { name: 'Mail' },
    sources: { file: 'eine Datei auf dem Server', stored: 'Ihr eigener', built_in: 'Standard' },
    isFile:
      'Eine Datei auf dem Server hat diesen Text und geht vor. Entfernen Sie die Datei, um den Text hier zu ändern.',
    text: 'Text',
    textHint: (words) =>
      `Der Betreff in der ersten Zeile. Eine Zeile, deren Platzhalter keinen Wert hat, fällt weg. Platzhalter: ${words}`,
    preview: 'Vorschau',
    previewTitle: 'Wie ein Kunde sie bekommt',
    asText: 'Als reiner Text, für Mailprogramme ohne HTML',
    subject: 'Betreff',
    reset: 'Standardtext wiederherstellen',
    fault: (fault) => {
      switch (fault.code) {
        case 'empty':
          return 'Der Text braucht einen Betreff in der ersten Zeile und etwas darunter.';
        case 'placeholder':
          return `Zeile ${fault.line} hat ${fault.found}. Diese Mail kann ${fault.known.join(', ')} haben.`;
        case 'lacks':
          return `Dem Text fehlt ${fault.needed}. Ohne das nützt die Mail nichts.`;
      }
    },
  },
  fixed: {
    title: 'Für Administratoren',
    count: (count, text) =>
      `Für Administratoren: ${count === 1 ? 'ein Wert' : `${text} Werte`}, beim Start gesetzt`,
    about:
      'Diese Werte braucht der Dienst zum Start. Ändern Sie sie in der Umgebung oder in der Einstellungsdatei, und starten Sie den Dienst neu.',
    caption: 'Passwörter und Geheimnisse werden nicht angezeigt.',
    columns: { name: 'Variable', value: 'Wert', source: 'Von' },
    given: 'Umgebung',
    usual: 'Standard',
    secretSet: 'gesetzt',
  },
};
