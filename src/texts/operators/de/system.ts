import type { system as en } from '../en/system';
import type { Translated } from '../../translated';

export const system: Translated<typeof en> = {
  title: 'System',
  version: (version) => `Version ${version}`,
  go: {
    mails: 'Mails',
    doctor: 'Alle Befunde',
    tokens: 'Tokens',
    signingKeys: 'Signaturschlüssel',
    operators: 'Betreiber',
    imports: 'Importieren',
  },
  door: {
    title: 'Diese Seiten aus Joomla öffnen',
    about:
      'Eine Komponente für das Joomla Ihrer Site: Sie meldet Administratoren hier ohne Token an. Sie braucht LICENSING_JOOMLA_ROOT und die Adresse der Site.',
    download: 'Komponente herunterladen',
    install: 'In Joomla: System > Installieren > Erweiterungen > Paketdatei hochladen.',
    open: 'Dann: Komponenten > Lizenzen > Öffnen. Die Gruppen aus LICENSING_OPERATOR_GROUPS dürfen das.',
  },
  tokenCount: (count, text) =>
    count === 0
      ? 'Noch kein Token. Ein Shop oder ein Skript braucht eines.'
      : count === 1
        ? 'Ein Token.'
        : `${text} Tokens.`,
  tokensEnding: (names) => `Enden bald: ${names}.`,
  operatorCount: (count, text) =>
    count === 0 ? 'Niemand ist eingetragen.' : count === 1 ? 'Ein Betreiber.' : `${text} Betreiber.`,
  operatorsAbout: 'Wer sich einen Link mailen lassen darf, der anmeldet.',
  mails: {
    title: 'Mails',
    about: 'Schlüssel, Links, Erinnerungen und Nachrichten an Ihre Kunden.',
    off: 'Mail ist nicht eingerichtet: Es braucht die Mail-Einstellungen der Website oder einen Mailserver in den Einstellungen, und die Adresse der Website. Die Prüfung sagt, was fehlt.',
    quick: 'Welche Mails',
    all: 'Neueste',
    failed: 'Nicht zugestellt',
    caption: (count) => `Neueste zuerst. ${count} gezeigt.`,
    none: 'Noch keine Mail. Senden Sie einen Schlüssel von der Seite einer Lizenz.',
    noneFailed: 'Jede Mail wurde zugestellt oder wird noch versucht.',
    license: (id) => `Lizenz ${id}`,
    order: (id) => `Bestellung ${id}`,
    columns: {
      state: 'Zustand',
      type: 'Mail',
      license: 'Lizenz oder Bestellung',
      queued: 'Eingereiht',
      sent: 'Gesendet',
      attempts: 'Versuche',
      error: 'Letzte Antwort',
    },
    help: 'Eine Mail wird zwei Tage lang versucht, mit wachsenden Pausen. Berichtigen Sie danach die Adresse auf der Seite der Lizenz und senden Sie den Schlüssel noch einmal.',
  },
  importAbout:
    'Übernehmen Sie Lizenzen eines anderen Systems aus einer Tabelle, mit den Schlüsseln, die Ihre Kunden haben.',
  asksAgain:
    'Zum Hinzufügen und Entziehen müssen Sie sich noch einmal anmelden, wenn Ihre Anmeldung über eine Stunde her ist.',
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
    revoke: 'Entziehen',
    revokeOne: (name) => `${name} entziehen`,
    none: 'Noch kein Token. Ein Shop oder ein Skript braucht eines, um die API aufzurufen.',
    name: 'Name',
    nameHint: 'Was es benutzt, zum Beispiel „shop“. Der Verlauf der Lizenzen zeigt ihn.',
    scope: 'Wer braucht es?',
    scopeHints: {
      issue: 'Ihr Shop: Er stellt Lizenzen aus und sieht und bearbeitet die, die er ausgestellt hat.',
      read: 'Eine Anzeige oder jemand, der Mails beantwortet: sieht alles, ändert nichts.',
      write: 'Ihre eigenen Skripte: dürfen alles, was Sie dürfen.',
    },
    ends: 'Gültig bis',
    endsHint: 'Das Token gilt bis zum Ende dieses Tages, UTC. Leer: unbefristet.',
    joomla: (name) => `Es endet, wenn das Joomla-Konto ${name} keine Lizenzen mehr verwalten darf.`,
    submit: 'Token anlegen',
    busy: 'Das Token wird angelegt...',
    doneTitle: (name) => `Token ${name}`,
    token: 'Das Token',
    once: 'Kopieren Sie es jetzt. Es wird hier nicht gespeichert und kann nicht noch einmal gezeigt werden.',
    lost: 'Geht es verloren, entziehen Sie es und legen Sie ein neues mit demselben Namen an.',
    example: 'Ein Beispiel für die Benutzung',
    exampleAbout: 'Das antwortet mit Namen und Bereich des Tokens:',
    toList: 'Zurück zu den Tokens',
  },
  revokeToken: {
    title: (name) => `Token ${name} entziehen?`,
    stops: (scope) => `Was es benutzt, wird sofort abgelehnt. Sein Bereich ist „${scope}“.`,
    used: (when) => `Es wurde zuletzt benutzt: ${when}.`,
    unused: 'Es wurde noch nie benutzt.',
    stays: 'Lizenzen, die es ausgestellt hat, bleiben, wie sie sind. Ihr Verlauf behält seinen Namen.',
    again: 'Das lässt sich nicht zurücknehmen. Ein neues Token mit demselben Namen sieht dieselben Lizenzen.',
    sessions: 'Wer damit auf diesen Seiten angemeldet ist, wird abgemeldet.',
    own: 'Sie sind mit diesem Token angemeldet: Sie werden abgemeldet.',
    submit: 'Endgültig entziehen',
    busy: 'Wird entzogen...',
    back: 'Token behalten',
  },
  signingKeys: {
    title: 'Signaturschlüssel',
    about:
      'Software bekommt auf Wunsch signierte Antworten und Dateien für Rechner ohne Netz. Sie prüft sie mit den Schlüsseln, die Sie in sie einbauen: dem aktuellen und dem nächsten.',
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
    compromised: 'in fremden Händen',
    add: 'Schlüssel anlegen',
    addFirst: 'Er signiert sofort.',
    addNext:
      'Er signiert, wenn der aktuelle ausgemustert wird. Bauen Sie ihn vorher in Ihre Software ein, damit die Kunden ihn dann haben.',
    sealed: 'Sein geheimer Teil wird versiegelt und nie gezeigt.',
    busy: 'Wird angelegt...',
    toList: 'Zurück zu den Schlüsseln',
    retire: 'Ausmustern',
    retireOne: (kid) => `${kid} ausmustern`,
  },
  retireKey: {
    title: (kid) => `Signaturschlüssel ${kid} ausmustern?`,
    current: (next) =>
      `${next} signiert binnen zehn Sekunden. Software, die ihn nicht kennt, lehnt ab, was er signiert.`,
    next: 'Er hat noch nicht signiert und wird es nie tun.',
    counts: 'Was er signiert hat, gilt weiter bis zu seinem Ende.',
    retired: 'Er ist schon ausgemustert. Hat ihn jemand anderes, kann er sofort ganz herausgenommen werden.',
    last: 'Nur er kann signieren. Legen Sie zuerst den nächsten an.',
    compromised: 'Jemand anderes könnte den Schlüssel haben',
    compromisedHint:
      'keys.json nennt ihn nicht mehr. Software, in die er eingebaut ist, nimmt ihn weiter an: Veröffentlichen Sie eine Version nur mit den anderen.',
    final: 'Das lässt sich nicht zurücknehmen.',
    submit: 'Endgültig ausmustern',
    busy: 'Wird ausgemustert...',
    back: 'Schlüssel behalten',
  },
  operators: {
    title: 'Betreiber',
    about:
      'Diese Personen können sich einen Link mailen lassen, der sie hier anmeldet. Mit einem Token oder Joomla-Konto muss niemand eingetragen sein.',
    needsMail: 'Dazu muss der Mailversand eingerichtet sein.',
    noMail:
      'Es kann kein Link gemailt werden: Die öffentliche Adresse der Website ist nicht gesetzt (LICENSING_PUBLIC_URL).',
    add: 'Betreiber hinzufügen',
    caption: 'Nach E-Mail',
    columns: { email: 'E-Mail', scope: 'Bereich', since: 'Seit', by: 'Hinzugefügt von' },
    remove: 'Entfernen',
    removeOne: (email) => `${email} entfernen`,
    none: 'Noch ist niemand eingetragen.',
    email: 'E-Mail',
    emailHint: 'Wer die Mails dieser Adresse liest, kann sich anmelden.',
    scope: 'Was ist erlaubt?',
    scopeHints: {
      read: 'Alles sehen und nichts ändern.',
      write: 'Alles, was Sie dürfen, auch Tokens und Betreiber.',
    },
    submit: 'Betreiber hinzufügen',
    busy: 'Wird hinzugefügt...',
  },
  removeOperator: {
    title: (email) => `Betreiber ${email} entfernen?`,
    sessions: 'Die Person wird sofort abgemeldet, und gemailte Links gelten nicht mehr.',
    history: 'Was sie getan hat, bleibt mit ihrer Adresse im Verlauf.',
    others: 'Ihre Tokens und ihr Joomla-Konto bleiben, wie sie sind.',
    own: 'Das sind Sie selbst: Sie werden abgemeldet.',
    submit: 'Betreiber entfernen',
    busy: 'Wird entfernt...',
    back: 'Betreiber behalten',
  },
  imports: {
    title: 'Import',
    about: 'Lizenzen eines anderen Systems aus einer Tabelle, mit den Schlüsseln, die Ihre Kunden haben.',
    file: 'Tabelle (CSV)',
    fileHint: (rows) =>
      `Die erste Zeile nennt die Spalten. Höchstens ${rows} Zeilen; der Befehl „licensing import“ nimmt mehr. Importiert wird noch nichts.`,
    read: 'Tabelle lesen',
    reading: 'Wird gelesen...',
    before: 'Produkte und Tarife müssen schon angelegt sein.',
    noFile: 'Bitte wählen Sie die Datei.',
    empty: 'Die Datei ist leer.',
    unreadable:
      'Die Tabelle lässt sich nicht lesen. Prüfen Sie, ob jedes Anführungszeichen geschlossen ist, keine Spalte zweimal vorkommt und sie als CSV in UTF-8 gespeichert ist.',
    summary: (count, text, bad, badText) =>
      `${count === 1 ? 'Eine Lizenz wäre' : `${text} Lizenzen wären`} neu${bad === 0 ? '' : bad === 1 ? ', und eine Zeile passt nicht' : `, und ${badText} Zeilen passen nicht`}.`,
    checkTitle: 'Welche Spalte ist was?',
    checkAbout:
      'Ein Import lässt sich nicht zurücknehmen. Ohne den Status zum Beispiel wären erstattete Lizenzen aktiv.',
    notThere: 'nicht in der Tabelle',
    fields: {
      key: 'Lizenzschlüssel',
      customer: 'Kunde (E-Mail)',
      product: 'Produkt',
      plan: 'Tarif',
      status: 'Status',
      expiry: 'Gültig bis',
      limit: 'Plätze',
      reference: 'Bestellung',
      activations: 'Websites',
    },
    otherProduct: 'Produkt für Zeilen ohne Produkt',
    otherPlan: 'Tarif für Zeilen ohne Tarif',
    noOther: 'keine Angabe',
    more: 'Eigene Daten',
    moreHint: 'Spalten, die bei der Lizenz bleiben sollen: metadata.NAME=Spalte, dazwischen Kommas.',
    again: 'Die Datei war zu groß, um sie zu behalten. Bitte wählen Sie sie noch einmal.',
    check: 'Noch einmal prüfen',
    checking: 'Wird geprüft...',
    resultTitle: 'Was ein Import täte',
    facts: {
      added: 'Neu',
      same: 'Schon hier',
      bad: 'Passen nicht',
      overLimit: 'Über dem Limit',
      notSent: 'Besondere Zeichen im Schlüssel',
      twins: 'Fast derselbe Schlüssel',
      leftOut: 'Ausgelassen',
    },
    overLimit: (count) => `${count} mit mehr Websites als Plätzen; alle Websites bleiben`,
    notSent: (count) => `${count}, deren Schlüssel der Joomla-Updater nicht ganz senden kann`,
    twins: (lines) =>
      `${lines}. Er unterscheidet sich von einem anderen nur in Groß- und Kleinschreibung oder Strichen und gilt nur, wie er geschrieben ist`,
    nothing: 'Es gibt nichts Neues zu importieren.',
    submit: (count, text) => (count === 1 ? '1 Lizenz importieren' : `${text} Lizenzen importieren`),
    submitOthers: (count, text, bad, badText) =>
      `${count === 1 ? '1 Lizenz' : `${text} Lizenzen`} importieren, ${bad === 1 ? '1 Zeile' : `${badText} Zeilen`} auslassen`,
    busy: 'Wird importiert...',
    rejected: 'Zeilen, die nicht passen',
    lines: (count, lines, more) =>
      count === 1
        ? `Zeile ${lines}`
        : `${count} Zeilen: ${lines}${more === '' ? '' : ` und ${more} weitere`}`,
    columns: { line: 'Wo', field: 'Feld', wrong: 'Was nicht stimmt' },
    moreRejected: (count) => `und ${count} andere Fehler.`,
    doneTitle: (count, text) =>
      count === 1 ? 'Eine Lizenz wurde importiert' : `${text} Lizenzen wurden importiert`,
    leftOut: (count, text) =>
      count === 0
        ? 'Keine Zeile wurde ausgelassen.'
        : count === 1
          ? 'Eine Zeile wurde ausgelassen:'
          : `${text} Zeilen wurden ausgelassen:`,
    toList: 'Zu den Lizenzen',
    another: 'Noch eine Tabelle importieren',
    overlooked: (columns) =>
      `Diese Spalten sagen vielleicht etwas, das Lizenzen brauchen: ${columns}. Wählen Sie, was sie sind, oder behalten Sie sie als eigene Daten.`,
    noKey: 'Bitte wählen Sie die Spalte mit dem Lizenzschlüssel.',
    noPlan: 'Bitte wählen Sie die Spalte mit dem Tarif oder einen Tarif für alle Zeilen.',
  },
  doctor: {
    title: 'Doktor',
    reach: 'Soweit der Dienst sehen kann. Pakete, Zähler und die Website von außen prüft:',
    again: 'Noch einmal untersuchen',
    first: 'Untersuchen',
    good: 'Der Dienst hat nichts Falsches gefunden.',
    bad: (problems, warnings) =>
      [
        problems === 0 ? '' : problems === 1 ? 'Ein Problem' : `${problems} Probleme`,
        warnings === 0 ? '' : warnings === 1 ? 'eine Warnung' : `${warnings} Warnungen`,
      ]
        .filter(Boolean)
        .join(' und ')
        .replace(/^e/, 'E') + '.',
    worst: 'Hier sind Sie gefragt',
    fine: (count) => `In Ordnung: ${count}`,
    remedy: 'Was zu tun ist:',
    states: { problem: 'Problem', warning: 'Warnung', ok: 'In Ordnung' },
    at: (when) => `Untersucht: ${when}`,
  },
};
