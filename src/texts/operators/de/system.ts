import type { system as en } from '../en/system';
import type { Translated } from '../../translated';

export const system: Translated<typeof en> = {
  title: 'System',
  version: (version) => `Version ${version}`,
  securityTxt: {
    title: 'Kontakt für gemeldete Sicherheitslücken',
    about: (path) =>
      `Veröffentlichen Sie diesen Text als ${path} auf Ihrer Website, damit jeder, der eine Sicherheitslücke findet, weiß, wo er sie meldet. Setzen Sie in die erste Zeile die Adresse, die Sie lesen. Ersetzen Sie die Datei, bevor sie abläuft: Der Doktor warnt davor, wenn er mit der Adresse der Website aufgerufen wird.`,
  },
  door: {
    title: 'Diese Seiten aus Joomla öffnen',
    about:
      'Eine Komponente für das Joomla Ihrer Website: Sie meldet Administratoren hier ohne Token an. Dazu muss der Dienst den Ordner und die Adresse der Website kennen.',
    download: 'Komponente herunterladen',
    install: 'In Joomla: System > Installieren > Erweiterungen > Paketdatei hochladen.',
    open: 'Dann: Komponenten > Lizenzen > Öffnen. Super Users dürfen das, wenn auf dem Server keine anderen Gruppen festgelegt sind.',
  },
  tokenCount: (count, text) =>
    count === 0
      ? 'Noch kein Token. Ein Shop oder ein Skript braucht eines.'
      : count === 1
        ? 'Ein Token.'
        : `${text} Tokens.`,
  tokensEnding: (names) => `Enden bald: ${names}.`,
  operatorCount: (count, text) =>
    count === 0 ? 'Kein Betreiber ist eingetragen.' : count === 1 ? 'Ein Betreiber.' : `${text} Betreiber.`,
  mails: {
    title: 'Mails',
    off: 'Der Mailversand ist nicht eingerichtet: Er braucht die Mail-Einstellungen der Website oder einen Mailserver in den Einstellungen, und die Adresse der Website. Die Systemprüfung zeigt, was fehlt.',
    quick: 'Welche Mails',
    all: 'Neueste',
    failed: 'Nicht zugestellt',
    caption: (count) => `Neueste zuerst. ${count} gezeigt.`,
    none: 'Noch keine Mail. Senden Sie einen Schlüssel von der Seite einer Lizenz.',
    noneFailed: 'Alle Mails wurden zugestellt oder werden noch versucht.',
    failedOne: (what, to) => `${what}: nicht zugestellt${to === null ? '' : ` an ${to}`}.`,
    again: 'Noch einmal senden',
    dismiss: 'Erledigt',
    license: (id) => `Lizenz ${id}`,
    order: (id) => `Bestellung ${id}`,
    columns: {
      state: 'Zustand',
      type: 'Mail',
      license: 'Lizenz oder Bestellung',
      queued: 'Eingereiht',
      sent: 'Gesendet',
      attempts: 'Versuche',
    },
    help: 'Der Dienst versucht zwei Tage lang, eine Mail zu senden. Berichtigen Sie danach die Adresse auf der Seite der Lizenz, der Bestellung oder des Kunden, und senden Sie die Mail noch einmal. Eine Mail verlässt diese Liste, wenn eine spätere derselben Art gesendet wurde oder Sie sie als erledigt markieren.',
  },
  asksAgain:
    'Ist Ihre Anmeldung über eine Stunde alt, melden Sie sich zum Hinzufügen und Entziehen noch einmal an.',
  scopes: { read: 'read: ansehen', issue: 'issue: ein Shop', write: 'write: alles' },
  tokens: {
    title: 'Tokens',
    about:
      'Ein Programm zeigt sein Token bei jedem Aufruf der API. Die Tokens selbst stehen nie in der Liste.',
    add: 'Neues Token',
    caption: 'Älteste zuerst',
    columns: {
      name: 'Name',
      scope: 'Bereich',
      made: 'Angelegt',
      used: 'Zuletzt benutzt',
      ends: 'Gültig bis',
      id: 'ID',
    },
    ended: 'abgelaufen',
    own: 'damit sind Sie angemeldet',
    revoke: 'Entziehen…',
    revokeOne: (name) => `${name} entziehen`,
    none: 'Noch kein Token. Ein Shop oder ein Skript braucht eines, um die API aufzurufen.',
    name: 'Name',
    nameHint: 'Das Programm, das es benutzt, zum Beispiel „shop“. Er steht im Verlauf der Lizenzen.',
    scope: 'Wer braucht es?',
    scopeHints: {
      issue: 'Ihr Shop: Er stellt Lizenzen aus und sieht und bearbeitet die, die er ausgestellt hat.',
      read: 'Ein Dashboard oder ein Kollege, der Mails beantwortet: kann alles ansehen und nichts ändern.',
      write: 'Ihre eigenen Skripte: dürfen alles, was Sie dürfen.',
    },
    ends: 'Gültig bis',
    endsHint: 'Das Token gilt bis zum Ende dieses Tages, in UTC. Leer: unbefristet.',
    joomla: (name) => `Es endet, wenn das Joomla-Konto ${name} keine Lizenzen mehr verwalten darf.`,
    submit: 'Token anlegen',
    busy: 'Wird angelegt...',
    doneTitle: (name) => `Token ${name}`,
    token: 'Das Token',
    once: 'Kopieren Sie es jetzt. Es wird hier nicht gespeichert und kann nicht noch einmal angezeigt werden.',
    lost: 'Geht es verloren, entziehen Sie es und legen Sie ein neues mit demselben Namen an.',
    example: 'Beispiel',
    exampleAbout: 'Das antwortet mit Namen und Bereich des Tokens:',
    toList: 'Zurück zu den Tokens',
  },
  revokeToken: {
    title: (name) => `Token ${name} entziehen?`,
    stops: (scope) => `Programme, die es benutzen, werden sofort abgelehnt. Sein Bereich ist „${scope}“.`,
    used: (when) => `Es wurde zuletzt benutzt: ${when}.`,
    unused: 'Es wurde noch nie benutzt.',
    stays: 'Lizenzen, die es ausgestellt hat, bleiben, wie sie sind. Ihr Verlauf behält seinen Namen.',
    again:
      'Das lässt sich nicht rückgängig machen. Ein neues Token mit demselben Namen sieht dieselben Lizenzen.',
    sessions: 'Wer damit auf diesen Seiten angemeldet ist, wird abgemeldet.',
    own: 'Sie sind mit diesem Token angemeldet: Sie werden abgemeldet.',
    submit: 'Endgültig entziehen',
    busy: 'Wird entzogen...',
    back: 'Token behalten',
  },
  signingKeys: {
    title: 'Signaturschlüssel',
    about:
      'Ihre Software kann signierte Antworten und Dateien für Rechner ohne Netz anfordern. Sie prüft sie mit den Schlüsseln, die Sie einbauen: dem aktuellen und dem nächsten.',
    signs: (kid) => `${kid} signiert.`,
    none: 'Noch kein Signaturschlüssel: Antworten werden nicht signiert.',
    caption: 'Älteste zuerst',
    columns: {
      state: 'Zustand',
      kid: 'Name',
      x: 'Öffentlicher Schlüssel',
      made: 'Angelegt',
      retired: 'Ausgemustert',
      id: 'ID',
    },
    states: { current: 'signiert', next: 'signiert als nächster', retired: 'ausgemustert' },
    compromised: 'in falschen Händen',
    add: 'Schlüssel anlegen',
    addFirst: 'Er signiert sofort.',
    addNext:
      'Er signiert, wenn der aktuelle ausgemustert wird. Bauen Sie ihn vorher in Ihre Software ein, damit die Kunden ihn dann haben.',
    sealed: 'Sein geheimer Teil wird verschlüsselt gespeichert und nie angezeigt.',
    busy: 'Wird angelegt...',
    toList: 'Zurück zu den Schlüsseln',
    retire: 'Ausmustern…',
    retireOne: (kid) => `${kid} ausmustern`,
  },
  retireKey: {
    title: (kid) => `Signaturschlüssel ${kid} ausmustern?`,
    current: (next) =>
      `${next} signiert binnen zehn Sekunden. Software, die ihn nicht kennt, lehnt seine Antworten ab.`,
    next: 'Er hat noch nicht signiert und wird es nie tun.',
    counts: 'Antworten, die er signiert hat, gelten bis zu ihrem Ende.',
    retired: 'Er ist schon ausgemustert. Ist er in falschen Händen, können Sie ihn sofort entfernen.',
    last: 'Nur er kann signieren. Legen Sie zuerst den nächsten an.',
    compromised: 'Der Schlüssel ist vielleicht in falschen Händen',
    compromisedHint:
      'Er wird aus keys.json entfernt. Software, in die er eingebaut ist, nimmt ihn weiter an: Veröffentlichen Sie eine Version nur mit den anderen Schlüsseln.',
    final: 'Das lässt sich nicht rückgängig machen.',
    submit: 'Endgültig ausmustern',
    busy: 'Wird ausgemustert...',
    back: 'Schlüssel behalten',
  },
  operators: {
    title: 'Betreiber',
    about:
      'Betreiber können sich mit einem Link per Mail anmelden. Wer ein Token oder ein Joomla-Konto hat, muss hier nicht eingetragen sein.',
    needsMail: 'Dazu muss der Mailversand eingerichtet sein.',
    noMail: 'Es kann kein Link gesendet werden: Tragen Sie die Adresse der Website unter Einstellungen ein.',
    add: 'Betreiber hinzufügen',
    caption: 'Nach E-Mail',
    columns: { email: 'E-Mail', scope: 'Bereich', since: 'Seit', by: 'Hinzugefügt von' },
    remove: 'Entfernen…',
    removeOne: (email) => `${email} entfernen`,
    none: 'Noch kein Betreiber.',
    email: 'E-Mail',
    emailHint: 'Wer Mails an diese Adresse lesen kann, kann sich anmelden.',
    scope: 'Was ist erlaubt?',
    scopeHints: {
      read: 'Alles ansehen und nichts ändern.',
      write: 'Alles, was Sie dürfen, auch Tokens und Betreiber.',
    },
    submit: 'Betreiber hinzufügen',
    busy: 'Wird hinzugefügt...',
  },
  removeOperator: {
    title: (email) => `Betreiber ${email} entfernen?`,
    sessions: 'Die Person wird sofort abgemeldet, und gesendete Links gelten nicht mehr.',
    history: 'Was sie getan hat, bleibt mit ihrer Adresse im Verlauf.',
    others: 'Ihre Tokens und ihr Joomla-Konto bleiben, wie sie sind.',
    own: 'Das sind Sie selbst: Sie werden abgemeldet.',
    submit: 'Betreiber entfernen',
    busy: 'Wird entfernt...',
    back: 'Betreiber behalten',
  },
  doctor: {
    go: 'Alle Befunde',
    title: 'Systemprüfung',
    reach: 'Dieser Befehl prüft auch Pakete, Zähler und die Website von außen:',
    again: 'Noch einmal prüfen',
    first: 'Prüfen',
    good: 'Der Dienst hat keine Fehler gefunden.',
    bad: (problems, warnings) =>
      [
        problems === 0 ? '' : problems === 1 ? 'Ein Problem' : `${problems} Probleme`,
        warnings === 0 ? '' : warnings === 1 ? 'eine Warnung' : `${warnings} Warnungen`,
      ]
        .filter(Boolean)
        .join(' und ')
        .replace(/^e/, 'E') + '.',
    worst: 'Zu erledigen',
    fine: (count) => `In Ordnung: ${count}`,
    remedy: 'Was zu tun ist:',
    states: { problem: 'Problem', warning: 'Warnung', ok: 'In Ordnung' },
    at: (when) => `Geprüft: ${when}`,
  },
};
