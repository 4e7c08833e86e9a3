import { countOf } from '../../../base/count-of';
import { describeStored, mailRemedy } from '../failures';
import type { CatchUpLack, Connections, SeenNode } from '../doctor';
import type { OperatorTexts } from '../texts';
import { mailServerInWords } from '../mail-server';
import { failures } from './failures';
import { settings } from './settings';

/** The findings of the doctor, in German. */

const ENTER_ADDRESS =
  'Tragen Sie sie unter Einstellungen ein, oder: licensing settings set public_url https://shop.example';

const meanwhile =
  'Solange zählt jeder Prozess die Anfragen für sich: Die Limits sind um so viele Male zu hoch.';

function remedyOfXmlFolder(command: string): string {
  return `Als root: ${command}; oder berichtigen Sie LICENSING_XML_DIR.`;
}

function needs({ instances, needed }: Connections): string {
  return `${countOf(instances, 'Instanz braucht', 'Instanzen brauchen')} bis zu ${countOf(needed, 'Verbindung', 'Verbindungen')}`;
}

function noConnection({ needed, setting }: Connections) {
  return {
    why: 'Wenn keine frei ist, werden Anfragen mit 503 beantwortet, und auch die Website daneben fällt aus.',
    remedy: `Erhöhen Sie ${setting} auf ${Math.max(100, 2 * needed)} oder mehr, senken Sie LICENSING_DATABASE_CONNECTIONS, oder starten Sie weniger Instanzen.`,
  };
}

function nodes(seen: SeenNode[]): string {
  const states = seen.map(
    ({ name, isInUse, reason, isReadOnly }) =>
      `${name} ${isInUse ? 'wird benutzt' : reason === undefined ? 'ist bereit' : isReadOnly ? 'ist nur lesbar' : 'ist nicht benutzbar'}`,
  );
  return `Von ${countOf(seen.length, 'Datenbankserver', 'Datenbankservern')}: ${states.join(', ')}.`;
}

function cluster(size: number): string {
  return `Die Datenbank ist ein Galera-Cluster aus ${countOf(size, 'Knoten', 'Knoten')}.`;
}

function thenRestart(command: string): string {
  return `Als root: ${command}; dann starten Sie den Dienst neu (deploy/restart-in-turns), schreiben Sie die Dateien des Webservers neu (licensing nginx)`;
}

/** @param place the path of the update XML files on the site */
function unserved(what: string, place: string, said?: string) {
  return {
    what,
    said,
    why: 'Dort fragt Joomla nach Updates, wenn das Manifest der Erweiterung diese Adresse nennt.',
    remedy: `Lassen Sie den Webserver LICENSING_XML_DIR unter ${place} ausliefern: licensing nginx (docs/nginx.md) oder docs/apache.md; und prüfen Sie, ob LICENSING_PUBLIC_URL die Adresse der Website ist.`,
  };
}

function sourceOf(source: string): string {
  if (source === 'the stored settings') return 'die gespeicherten Einstellungen';
  return source === 'LICENSING_MAIL_URL' ? source : 'configuration.php der Website';
}

const CHALLENGED = {
  all: 'Alle Programme werden aufgehalten.',
  joomla: 'Nur Joomlas Updater wird aufgehalten, deshalb ist sonst nichts davon zu sehen.',
  others: 'Andere Programme werden aufgehalten, Joomlas Updater nicht.',
};

export const doctor: OperatorTexts['doctor'] = {
  as: 'als',
  at: 'auf',
  or: 'oder',
  key: 'Schlüssel',
  mode: 'Modus',
  nothingKnown: 'Darüber ist nichts bekannt, weder Gutes noch Schlechtes.',
  formerly: {
    notAsked: {
      what: 'Die Adressen des bisherigen Systems (LICENSING_FORMERLY) wurden nicht gefragt.',
      remedy: 'licensing doctor --url https://IHRE.WEBSITE fragt jede einmal.',
    },
    answers: (host, names) => `${host} antwortet auf ${names}.`,
    unanswered: (host, name, status, said) => ({
      what: `${host} antwortet nicht auf ${name} anstelle des bisherigen Systems${status === undefined ? '' : `: Die Antwort ist ${status}, und eine andere`}.`,
      said,
      why: 'Websites, die diese Adresse noch fragen, bekommen keine Aktualisierungen.',
      remedy:
        'Schreiben Sie die Dateien des Webservers neu (licensing nginx, licensing apache), und laden Sie ihn neu: docs/moving-in-addresses.md.',
    }),
    asked: (log, told) => `${log} hat die Adressen des bisherigen Systems: ${told}.`,
    noneAsked: (log) => `${log} hat keine Anfrage nach einer Adresse eines anderen Systems.`,
    unlisted: (log, told) => ({
      what: `${log} hat Adressen eines anderen Systems, die LICENSING_FORMERLY nicht nennt: ${told}.`,
      why: 'Sobald jenes System nicht mehr antwortet, bekommen die Websites, die sie fragen, keine Aktualisierungen.',
      remedy: 'Nennen Sie sie mit ihren Produkten: docs/moving-in-addresses.md.',
    }),
    times: (name, times, lastDay) =>
      times === 0
        ? `${name} nicht gefragt`
        : `${name} ${times} Mal${lastDay === null ? '' : `, zuletzt am ${lastDay}`}`,
  },
  checkFailed: (code, said) => ({ what: `${code} konnte nicht geprüft werden.`, said }),
  challenged: ({ by, url, status, paths, who }) => ({
    what: `Auf ${url} antwortet ${by} mit ${status}: mit einer Prüfung, die nur ein Browser besteht, oder mit einer Ablehnung.${who === undefined ? '' : ` ${CHALLENGED[who]}`}`,
    why: 'Joomlas Updater, Erweiterungen, die ihre Lizenz prüfen, und Zahlungsdienste sind Programme.',
    remedy: `${by} antwortet anstelle der Website, weil ein Programm fragt. Nehmen Sie dort alle Adressen, in denen einer dieser Pfade vorkommt, von jeder Prüfung der Besucher aus: ${paths.join(', ')}. Unter dem ersten liegen auch die Pakete (downloads/), und dort kommen die Meldungen der Zahlungsdienste an (hooks/). Siehe „Behind a CDN“ in docs/nginx.md.`,
  }),
  apiTokens: (count, named) =>
    count === 0
      ? 'Die API hat kein eigenes Token.'
      : `Die API hat ${countOf(count, 'eigenes Token', 'eigene Tokens')}: ${named}.`,
  joomlaOff: {
    'no-site': 'LICENSING_JOOMLA_ROOT ist nicht gesetzt',
    sqlite: 'die Datenbank des Dienstes ist SQLite, und daraus sind die Tabellen der Website nicht lesbar',
    'other-server': 'die Datenbank der Website ist auf einem anderen Server als die des Dienstes',
    'no-secret': '$secret in configuration.php der Website ist leer',
    'no-plugin': 'das Plugin „API Authentication - Web Services Joomla Token“ der Website ist deaktiviert',
  },
  joomlaTokensOff: (why) => ({ what: `API-Tokens von Joomla werden nicht angenommen: ${why}.` }),
  joomlaTablesShut: (tables, statements) => ({
    what: `API-Tokens von Joomla werden nicht angenommen: der Datenbankbenutzer kann die Tabellen ${tables} der Website nicht lesen.`,
    remedy: `Um sie anzunehmen, als Administrator der Datenbank: ${statements}`,
  }),
  joomlaTokens: (named) =>
    `API-Tokens von Joomla werden von Super-Usern und diesen Gruppen angenommen: ${named || 'keine'}.`,
  joomlaGroups: (ids) => ({
    what: `Die Website hat keine Benutzergruppen mit diesen IDs: ${ids}.`,
    why: 'Niemand kann durch sie Lizenzen verwalten.',
    remedy: 'Berichtigen Sie LICENSING_OPERATOR_GROUPS. Joomla zeigt die IDs unter „Benutzer“, „Gruppen“.',
  }),
  doorOff: {
    'no-site': 'LICENSING_JOOMLA_ROOT ist nicht gesetzt',
    sqlite: 'die Datenbank des Dienstes ist SQLite, die die Tabellen der Website nicht lesen kann',
    'other-server': 'die Datenbank der Website ist auf einem anderen Server als die des Dienstes',
    tables: 'der Datenbankbenutzer kann die Tabellen der Website nicht lesen (siehe oben)',
    'no-secret': '$secret in der configuration.php der Website ist leer',
    'no-address': 'LICENSING_PUBLIC_URL ist nicht gesetzt',
  },
  doorShut: (why) => `Durch das Joomla der Website kommt niemand herein: ${why}.`,
  doorOpen: 'Administratoren der Website kommen in Joomla über „Komponenten > Lizenzen“ herein.',
  doorMissing: {
    what: 'Administratoren der Website könnten über Joomla hereinkommen, aber die Komponente fehlt oder ist abgeschaltet.',
    remedy: 'licensing joomla-door --out com_licensing.zip (docs/joomla-door.md)',
  },
  tokensEnding: (count, named) => ({
    what: `${countOf(count, 'API-Token läuft', 'API-Tokens laufen')} bald ab: ${named}.`,
    why: 'Der Shop oder das Skript, das es benutzt, wird von da an abgelehnt.',
    remedy:
      'Entziehen Sie es zu einer ruhigen Zeit und legen Sie ein neues mit demselben Namen an, das dieselben Lizenzen sieht: licensing token add --help',
  }),
  tokensRefused: (named) => ({
    what: `API-Tokens werden abgelehnt: ${named}.`,
    why: 'Sie wurden über ein Joomla-Konto angelegt, und dessen Recht lässt sich nicht prüfen.',
    remedy: 'Legen Sie neue an: licensing token add --help',
  }),
  bundleEmpty: (name) => ({
    what: `Produkt ${name} enthält alle Produkte, und es gibt keine.`,
    why: 'Seine Lizenzen gelten nur für das Produkt selbst.',
    remedy:
      'Fügen Sie die Produkte hinzu: licensing product add. Produkte, die andere enthalten, zählen nicht.',
  }),
  supportEnds: (name, id, until, isOver) => ({
    what: isOver
      ? `Der Unterstützungszeitraum von Produkt ${name} endete mit ${until}.`
      : `Der Unterstützungszeitraum von Produkt ${name} endet mit ${until}.`,
    why: 'Kunden sehen diesen Monat. Danach wird nichts verweigert.',
    remedy: `Verlängern Sie ihn: licensing product edit ${id} --support-until JJJJ-MM; oder teilen Sie Kunden mit, dass keine Sicherheitsupdates mehr folgen.`,
  }),
  supportShort: (name, id, until) => ({
    what: `Der Unterstützungszeitraum von Produkt ${name} endet mit ${until}, weniger als fünf Jahre nach der ersten Version.`,
    why: 'Artikel 13 Absatz 8 der Verordnung (EU) 2024/2847 verlangt fünf Jahre, außer wenn das Produkt voraussichtlich kürzer genutzt wird.',
    remedy: `licensing product edit ${id} --support-until JJJJ-MM`,
  }),
  securityKeptBack: (name, plans, plan) => ({
    what: `Produkt ${name} hat eine Sicherheitsversion, und diese Tarife geben sie abgelaufenen Lizenzen nicht: ${plans}.`,
    why: 'Kunden mit abgelaufener Lizenz behalten eine Version mit der Lücke. Ab dem 11. Dezember 2027 verlangt die Verordnung (EU) 2024/2847 kostenlose Sicherheitsupdates.',
    remedy: `licensing plan edit ${plan} --after-expiry security`,
  }),
  productUnsold: (name, id, bundles, first) => ({
    what: `Produkt ${name} hat veröffentlichte Versionen, aber keinen Tarif, mit dem es verkauft wird${bundles !== '' ? `, und auch die Produkte nicht, die es enthalten: ${bundles}` : ''}.`,
    why: 'Keine Lizenz gilt dafür, also kann es niemand herunterladen.',
    remedy: `licensing plan add --product ${first}; oder nehmen Sie ${id} in --includes eines Produkts auf, das einen Tarif hat`,
  }),
  settings: ({ file, inFile, inEnvironment, site }) => {
    const sources = [
      ...(file === undefined ? [] : [`${file} (${inFile || 'nichts'})`]),
      ...(inEnvironment === '' ? [] : [`der Umgebung (${inEnvironment})`]),
      ...(site === undefined ? [] : [`der Joomla-Website in ${site}`]),
    ];
    return `Die Einstellungen kommen aus ${sources.join(' und ')}.`;
  },
  envFileHolds: 'Darin steht, was die Datenbank und die versiegelten Lizenzschlüssel öffnet.',
  databaseFileHolds:
    'Darin stehen Adressen, Bestellungen und Websites der Kunden und die versiegelten Lizenzschlüssel.',
  closeFiles: (isShared, command) =>
    `Als root, mit ${isShared ? 'einem eigenen Benutzer des Dienstes (docs/production.md)' : 'dem Benutzer, unter dem der Dienst läuft'}: ${command}`,
  filesPublic: (files, why, remedy) => ({
    what: `Jeder Benutzer dieses Rechners kann ${files} lesen.`,
    why,
    remedy,
  }),
  filesForNginx: (user, files, why, remedy) => ({
    what: `Der Benutzer ${user} von nginx kann ${files} lesen.`,
    why: `${why} PHP läuft für die Website meist unter diesem Benutzer: Eine Lücke in irgendeiner Erweiterung genügt.`,
    remedy,
  }),
  filesClosed: (files) => `Nicht für alle lesbar: ${files}.`,
  settingOverridden: (names, file) => ({
    what: `Die Umgebung setzt ${names} anders als ${file}, und sie hat Vorrang.`,
    why: 'Ein Befehl arbeitet vielleicht mit anderen Einstellungen als der Dienst.',
    remedy: 'Setzen Sie es nur an einer Stelle: in der Datei, die jeder Befehl liest.',
  }),
  unknownSetting: (text) => ({
    what: 'Eine Einstellung ist unbekannt oder passt nicht.',
    said: text,
    why: 'Was sie setzen sollte, hat seinen Standardwert.',
    remedy: 'Berichtigen Sie ihren Namen, oder entfernen Sie sie.',
  }),
  proxiesEverybody: (named) => ({
    what: `LICENSING_TRUSTED_PROXIES vertraut allen (${named}).`,
    why: 'Jeder Client kann eine beliebige Adresse als seine nennen und so das Anfragelimit umgehen.',
    remedy: 'Nennen Sie nur die Proxys; 127.0.0.0/8,::1 für nginx auf diesem Rechner.',
  }),
  databaseUnreachable: (where, reason, remedy) => ({
    what: `Die Datenbank (${where}) ist nicht benutzbar.`,
    said: `${reason}. ${remedy}`,
    why: 'Ohne sie wird jede Anfrage mit 503 beantwortet.',
    remedy: 'licensing doctor',
  }),
  databaseSqlite: (where) => ({
    what: `Die Datenbank ist ${where}.`,
    why: 'Sie bedient nur einen Prozess, und nur eine Kopie ihrer Datei sichert sie.',
    remedy:
      'Für einen echten Shop: LICENSING_DATABASE_URL=mysql://...; „licensing export“ und „import“ übertragen die Daten.',
  }),
  databaseAnswers: (where) => `Die Datenbank antwortet: ${where}.`,
  databaseSession: (settings) =>
    `Der Server hat eigene Einstellungen: ${settings}. Dieses Programm setzt auf jeder Verbindung, was es braucht.`,
  schemaOther: (other) => ({
    what: `Die Tabellen sind die einer anderen Version vor 1.0.0 (${other}).`,
    why: 'Diese Version startet damit nicht und kann sie nicht ändern.',
    remedy:
      'Exportieren Sie mit der Version, die sie angelegt hat, und importieren Sie hier in eine neue Datenbank (docs/upgrade.md, „Tables of another version“).',
  }),
  schemaNewer: (names) => ({
    what: `Die Tabellen stammen von einer neueren Version dieses Programms (${names}).`,
    why: 'Diese Version startet damit nicht.',
    remedy:
      'Installieren Sie jene Version wieder, oder spielen Sie die Sicherung von vor dem Upgrade zurück.',
  }),
  tablesMissing: (names) => ({
    what: `Diese Tabellen fehlen: ${names}.`,
    why: 'Alles, was sie braucht, scheitert.',
    remedy: 'Stellen Sie sie aus einer Sicherung wieder her (docs/backup.md).',
  }),
  schemaOld: (names) => ({
    what: `Die Tabellen sind nicht die dieser Version (es fehlen: ${names}).`,
    why: 'Der Dienst startet damit nicht.',
    remedy: 'licensing migrate',
  }),
  schemaFits: 'Die Tabellen sind die dieser Version.',
  otherPrefix: (hasTables, own, others, prefixes) => ({
    what: `${hasTables ? `Die Tabellen ${own} sind leer` : `Es gibt keine Tabellen ${own}`}, und in derselben Datenbank gibt es ${others}.`,
    why: 'Wenn dort die Lizenzen stehen, ist diesem Dienst jeder Schlüssel unbekannt.',
    remedy: `Setzen Sie in .env ${prefixes.map((prefix) => (prefix === '' ? 'LICENSING_DATABASE_URL, ohne LICENSING_TABLE_PREFIX und LICENSING_JOOMLA_ROOT' : `LICENSING_TABLE_PREFIX=${prefix}`)).join(' oder ')}, und starten Sie neu. Oder, für einen neuen Shop neben dem anderen: ${hasTables ? 'licensing product add' : 'ein eigenes LICENSING_TABLE_PREFIX und licensing migrate'}.`,
  }),
  tableEngine: (names, remedy) => ({
    what: `Nicht in InnoDB: ${names}.`,
    why: 'Ohne Transaktionen und Zeilensperren stimmen die Plätze nicht genau, und ein Absturz verliert Änderungen.',
    remedy,
  }),
  sharedDatabase: (count, prefix) => ({
    what: `In der Datenbank ${count === 1 ? 'liegt' : 'liegen'} auch ${countOf(count, 'fremde Tabelle', 'fremde Tabellen')}, zum Beispiel die der Website.`,
    why: 'Wer die Sicherung der Website zurückspielt, setzt auch die Lizenzen zurück: Seitdem verkaufte Schlüssel sind unbekannt, Verlängerungen und Aktivierungen sind weg.',
    remedy: `Sichern Sie die Tabellen ${prefix}licensing_..., bevor Sie die Website zurückspielen, und spielen Sie sie danach wieder ein (docs/backup.md). Oder lassen Sie sie beim Zurückspielen aus.`,
  }),
  sizes: (sizes) => {
    const list = sizes.map(({ name, bytes, rows }) => {
      const size = `${(bytes / 1e6).toFixed(1).replace('.', ',')} MB`;
      return rows === undefined
        ? `die Datenbank ${size}`
        : `${name} ${size} (etwa ${countOf(rows, 'Zeile', 'Zeilen')})`;
    });
    return `Auf der Festplatte: ${list.join(', ')}.`;
  },
  databaseVersion: (name) => `Es ist ${name}.`,
  databaseTooOld: (name) => ({
    what: `Es ist ${name}.`,
    why: 'Der Dienst braucht MySQL ab 8.0.13 oder MariaDB ab 10.6.',
    remedy:
      'Aktualisieren Sie den Server, oder geben Sie dem Dienst eine eigene Datenbank auf einem neueren.',
  }),
  connections: (one) => `${needs(one)}, und der Server erlaubt ${one.allowed} (${one.setting}).`,
  connectionsMissing: (one) => ({
    what: `${needs(one)}, und der Server erlaubt ${one.allowed} (${one.setting}).`,
    ...noConnection(one),
  }),
  connectionsShared: (instances, fits, allowed, share) => ({
    what: `Der Benutzer der Datenbank darf ${countOf(allowed, 'Verbindung', 'Verbindungen')} zugleich haben (max_user_connections), die auch die Website brauchen kann. ${countOf(instances, 'Instanz', 'Instanzen')} ${instances === 1 ? 'würde' : 'würden'} bis zu ${fits / 2} nutzen und ${instances === 1 ? 'darf' : 'dürfen'} ${share} nutzen.`,
    why: 'Wenn viele Anfragen zugleich kommen, warten sie auf eine Verbindung.',
    remedy: `Erhöhen Sie max_user_connections auf ${fits}, damit die Website ebenso viele hat, oder bitten Sie Ihren Hoster darum.`,
  }),
  connectionsScarce: (one) => ({
    what: `${needs(one)}, mehr als die Hälfte der ${one.allowed}, die der Server erlaubt (${one.setting}).`,
    ...noConnection(one),
  }),
  clocksDiffer: (seconds, theirs, ours) => ({
    what: `Die Uhr der Datenbank geht gegenüber diesem Rechner ${Math.abs(seconds)} s ${seconds < 0 ? 'nach' : 'vor'} (${theirs}, hier ${ours}).`,
    why: 'Lizenzen laufen nach der Uhr dieses Rechners ab: Wenn sie die falsche ist, zu früh oder zu spät.',
    remedy: 'Lassen Sie beide die Zeit abgleichen: timedatectl set-ntp true',
  }),
  clocksAgree: (seconds) => `Die Uhren dieses Rechners und der Datenbank stimmen auf ${seconds} s überein.`,
  withoutDatabase: (name) => ({
    what: `${name} konnte ohne die Datenbank nicht geprüft werden.`,
  }),
  noKeySecret: {
    what: 'LICENSING_KEY_SECRET ist nicht gesetzt: Schlüssel werden nur einmal gezeigt, beim Ausstellen.',
    why: 'Wer seinen Schlüssel verliert, braucht einen neuen, und ein Shop, der noch einmal nach einer Bestellung fragt, bekommt keinen Schlüssel.',
    remedy: '„licensing init“ setzt es; bewahren Sie eine Sicherung von .env auf.',
  },
  keySecretLost: {
    what: 'LICENSING_KEY_SECRET ist nicht gesetzt, und es gibt damit versiegelte Schlüssel.',
    why: 'Sie lassen sich nicht anzeigen, und neue Schlüssel werden nicht aufbewahrt.',
    remedy: 'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück.',
  },
  sealedKeys: (count) =>
    count === 0
      ? 'LICENSING_KEY_SECRET ist gesetzt; noch ist kein Schlüssel versiegelt.'
      : `LICENSING_KEY_SECRET öffnet die versiegelten Schlüssel (${count} geprüft).`,
  sealedOtherwise: (count, all, ids) => ({
    what: `${count} von ${all} versiegelten Schlüsseln ${count === 1 ? 'wurde' : 'wurden'} mit einem anderen LICENSING_KEY_SECRET versiegelt: Lizenzen ${ids}.`,
    why: 'Sie lassen sich nicht anzeigen.',
    remedy:
      'Setzen Sie das LICENSING_KEY_SECRET, mit dem diese Datenbank benutzt wurde, aus der Sicherung von .env.',
  }),
  sealedDamaged: (ids) => ({
    what: `Versiegelte Schlüssel sind beschädigt: Lizenzen ${ids}.`,
    why: 'Sie lassen sich nicht anzeigen. Die Schlüssel selbst gelten weiter.',
    remedy:
      'Stellen Sie die Spalte key_sealed dieser Zeilen von license_keys wieder her; oder licensing license rekey ID --key-id KEY_ID, und sagen Sie es dem Kunden.',
  }),
  mailOff: {
    'no-site':
      'LICENSING_MAIL_URL ist nicht gesetzt, und es gibt keine Joomla-Website, die gefragt werden kann.',
    offline: 'Die Konfiguration der Website sagt, dass sie keine Mails sendet ($mailonline).',
    'no-sender': 'Die Konfiguration der Website hat keinen Absender ($mailfrom).',
    'no-server': 'Die Konfiguration der Website nennt keinen Mailserver ($smtphost).',
    unset: 'Er ist nicht eingerichtet.',
  },
  mailIsOff: (why) => `Der Mailversand ist aus: ${why}`,
  mailFails: (described, source, stored, from) => ({
    what: `Über ${mailServerInWords(settings.mail, described)} (${sourceOf(source)}) können keine Mails gesendet werden: ${describeStored(failures.mail, stored)}.`,
    why: 'Mails warten und werden zwei Tage lang wieder versucht.',
    remedy:
      mailRemedy(failures, stored, from) ??
      `Berichtigen Sie ${sourceOf(source)}, und versuchen Sie: licensing mail test ADDRESS`,
  }),
  mailWithoutUrl: {
    what: 'Der Mailversand ist aus: LICENSING_PUBLIC_URL ist nicht gesetzt.',
    why: 'Links in Mails brauchen die Adresse der Website.',
    remedy: ENTER_ADDRESS,
  },
  mailText: (fault) => ({
    what: 'Ein eigener Mailtext ist nicht benutzbar.',
    said: fault,
    why: 'Stattdessen wird der Standardtext gesendet.',
    remedy: 'Berichtigen Sie die Datei (docs/mail.md); ein Neustart ist nicht nötig.',
  }),
  mailWorks: (described, source) =>
    `Mails können gesendet werden über ${mailServerInWords(settings.mail, described)} (${sourceOf(source)}).`,
  mailsNotSent: (failed, waiting) => ({
    what: `In einer Woche aufgegebene Mails: ${failed}. Mails, die scheiterten und wieder versucht werden: ${waiting}.`,
    why: 'Kunden haben ihren Schlüssel, ihren Link oder ihre Erinnerung nicht bekommen.',
    remedy:
      '„licensing mail list --failed“ zeigt die Gründe. Adresse berichtigen, dann: licensing mail again ID, oder licensing mail dismiss ID',
  }),
  workWaits: (mails, webhooks, isHosted) => ({
    what: `Seit mehr als einer Stunde hätten gesendet werden sollen: ${[
      ...(mails > 0 ? [`${mails} ${mails === 1 ? 'Mail' : 'Mails'}`] : []),
      ...(webhooks ? ['Webhooks'] : []),
    ].join(' und ')}.`,
    why: 'Seitdem lief kein Prozess des Dienstes, oder keiner kann senden.',
    remedy: isHosted
      ? 'Lassen Sie den Cron des Panels alle zehn Minuten „licensing work“ ausführen (docs/shared-hosting.md).'
      : 'Starten Sie den Dienst, oder führen Sie einmal „licensing work“ aus, das sagt, was scheitert.',
  }),
  nodes,
  nodesMissing: (seen) => ({
    what: nodes(seen),
    said: seen
      .filter(({ reason, isReadOnly }) => reason !== undefined && !isReadOnly)
      .map(({ name, reason }) => `${name} ${reason ?? ''}`)
      .join(', '),
    why: 'Fällt der benutzte Server aus, bleiben weniger übrig oder keiner.',
    remedy:
      'Starten Sie die Server, die nicht benutzbar sind, und sehen Sie in ihre Protokolle; docs/cluster.md sagt, wie ein Knoten zurückkommt.',
  }),
  cluster,
  clusterSmall: (size, needed) => ({
    what: cluster(size),
    why: 'Fällt einer aus, hat der Rest keine Mehrheit, und jede Anfrage wird mit 503 beantwortet.',
    remedy: `Starten Sie die fehlenden Knoten, oder fügen Sie welche hinzu: Ein Cluster braucht ${needed} (docs/cluster.md).`,
  }),
  clusterUnlisted: (size, listed) => ({
    what: `${cluster(size)} LICENSING_DATABASE_URL nennt davon ${listed}.`,
    why: 'Der Dienst kann nicht mit einem Knoten weiterarbeiten, den er nicht kennt.',
    remedy:
      'Nennen Sie alle Knoten, für jede Instanz in derselben Reihenfolge: mysql://user:password@host1,host2,host3/database',
  }),
  databaseFlush: (name, flushes) => ({
    what: `${name} schreibt nicht jede Transaktion auf die Festplatte (innodb_flush_log_at_trx_commit = ${flushes}).`,
    why: 'Schon bestätigte Lizenzen und Aktivierungen gehen verloren, wenn sein Rechner ausfällt.',
    remedy:
      'Als Administrator der Datenbank: SET GLOBAL innodb_flush_log_at_trx_commit = 1; und dasselbe in seiner Konfiguration.',
  }),
  ordersFailed: (count, orders) => ({
    what: `${countOf(count, 'Bestellung konnte', 'Bestellungen konnten')} nicht verarbeitet werden: ${orders.map(({ shop, order, failure, failedAt }) => `${order} von ${shop} seit ${failedAt} (${failure})`).join(', ')}.`,
    remedy: `Sie werden von selbst wieder versucht, die erste um ${orders[0]?.retryAt ?? ''}; „licensing shop run SHOP“ versucht es sofort. Scheitern sie weiter, melden Sie es bitte mit dem Grund.`,
  }),
  ordersWait: (count, shops, unmapped) => ({
    what: `${countOf(count, 'Bestellung wartet', 'Bestellungen warten')}, von ${shops}.${unmapped.length === 0 ? '' : ` Nicht zugeordnet: ${unmapped.map(({ shop, sku }) => `„${sku}“ von ${shop}`).join(', ')}.`}`,
    why: 'Kunden haben bezahlt und haben keine Lizenz.',
    remedy:
      unmapped.length === 0
        ? '„licensing order list --waiting“ sagt, worauf jede wartet.'
        : '„licensing order list --waiting“ sagt, worauf jede wartet, und „licensing shop map SHOP SKU --plan ID“ ordnet einen Artikel zu.',
  }),
  ordersWithoutAddress: (count) => ({
    what: `${count} bezahlte ${count === 1 ? 'Bestellung hat' : 'Bestellungen haben'} keine E-Mail-Adresse. Der Schlüssel wurde nicht gesendet.`,
    why: 'Kunden haben bezahlt und haben keinen Schlüssel.',
    remedy:
      '„licensing order list --without-address“ listet sie auf. Eine Adresse sendet den Schlüssel: licensing order set-customer ID E-MAIL',
  }),
  shopsSilent: (names) => ({
    what: `Noch keine Bestellung kam von: ${names}.`,
    why: 'Jeder davon wurde vor über einem Tag eingerichtet. Seine Bestellungen erreichen diesen Dienst vielleicht nicht.',
    remedy:
      'Geben Sie eine Testbestellung auf (docs/shop.md), oder entfernen Sie den Shop: licensing shop remove NAME',
  }),
  receiverNoSecret: (shop, count) => ({
    what: `${countOf(count, 'Meldung kam', 'Meldungen kamen')} von ${shop}, und das Geheimnis fehlt, um sie zu prüfen.`,
    why: 'Jede Meldung wird abgelehnt. Die meisten Absender wiederholen sie einige Tage lang.',
    remedy: `Geben Sie ihm das Geheimnis, das der Absender für diese Adresse zeigt: licensing shop edit ${shop} --secret-file FILE`,
  }),
  receiverRefuses: (shop, count) => ({
    what: `${shop}: ${countOf(count, 'Meldung wurde', 'Meldungen wurden')} wegen falschen Geheimnisses abgelehnt, keine wurde angenommen: Gehört das Geheimnis zu einer anderen Adresse?`,
    why: 'Ihre Zahlungen und Erstattungen haben keine Lizenz geändert.',
    remedy: `Vergleichen Sie es mit dem Geheimnis, das der Absender für diese Adresse zeigt: licensing shop edit ${shop} --secret-file FILE`,
  }),
  keysNotMailed: (shops) => ({
    what: `Der Mailversand ist nicht eingerichtet, und für Bestellungen von ${shops} sollen die Schlüssel gemailt werden.`,
    why: 'Wer dort bezahlt, bekommt keinen Schlüssel.',
    remedy:
      'Richten Sie den Mailversand ein (docs/mail.md). Wenn der Shop die Schlüssel selbst ausgibt: licensing shop edit NAME --mail none',
  }),
  messagesUnmatched: (shop, count) => ({
    what: `${countOf(count, 'Zahlung', 'Zahlungen')} von ${shop} ${count === 1 ? 'passt' : 'passen'} zu keiner Bestellung.`,
    why: 'Eine Verlängerung, ein Wechsel oder eine Erstattung kann zu einer Bestellung gehören, die älter ist als der Shop hier: Ihre Lizenz bleibt, wie sie ist.',
    remedy: `„licensing unmatched list --shop ${shop}“ zeigt sie. Dann für jede: licensing unmatched assign ID --license ID, oder issue, oder leave (docs/shop-waiting.md).`,
  }),
  catchUpFailed: (shop, why, last) => ({
    what: `${shop} ließ sich nicht nachholen${why === undefined ? '' : `: ${describeStored(failures.catchUp, why)}`}. Zuletzt: ${last ?? 'nie'}.`,
    why: 'Verpasste Zahlungen und Erstattungen haben keine Lizenz geändert.',
    remedy: `Versuchen Sie es: licensing shop catch-up ${shop} (docs/shop-catch-up.md)`,
  }),
  caughtUp: (shops) =>
    `Zuletzt nachgeholt: ${shops.map(({ name, last }) => `${name} (${last ?? 'noch nicht'})`).join(', ')}.`,
  catchUpNot: (shops, help) =>
    `Verpasste Meldungen dieser Shops lassen sich nicht nachholen: ${shops.map(({ name, state }) => `${name} (${CATCH_UP_LACKS[state]})`).join(', ')}.${help === undefined ? '' : ` So geht es: ${help}.`}`,
  paymentsFailUntold: (shops) => ({
    what: `Zahlungen von Abonnements sind fehlgeschlagen, und Kunden bekommen keine Mail, wo sie bezahlen können: ${shops}.`,
    why: 'Die meisten dieser Abonnements enden, obwohl die Kunden sie behalten wollen.',
    remedy:
      'Sagen Sie, wo Kunden ihre Zahlungsart ändern: licensing shop edit NAME --billing-url https://...',
  }),
  messagesRefused: (shop, count) => ({
    what: `${countOf(count, 'Meldung', 'Meldungen')} von ${shop} aus der letzten Woche ${count === 1 ? 'konnte' : 'konnten'} nicht gelesen oder gespeichert werden.`,
    why: 'Sie haben keine Lizenz geändert.',
    remedy: `„licensing shop messages ${shop}“ zeigt sie mit dem Grund. WooCommerce sendet statt der Bestellung einen Fehler, wenn der Benutzer gelöscht wurde, dem der Webhook gehört: Speichern Sie den Webhook dort neu.`,
  }),
  receiverSecret: (names) => ({
    what: `Das Geheimnis dieser Shops lässt sich nicht öffnen: ${names}.`,
    why: 'LICENSING_KEY_SECRET ist nicht gesetzt oder ein anderes als das, das sie versiegelt hat. Ihre Meldungen werden abgelehnt.',
    remedy:
      'Setzen Sie das, mit dem sie hinzugefügt wurden, oder geben Sie jedem sein Geheimnis noch einmal: licensing shop edit NAME --secret-file FILE',
  }),
  packagesFolder: (folder, command, said) => ({
    what: `Der Ordner der Pakete ${folder} ist nicht benutzbar.`,
    said,
    why: 'Downloads scheitern, und nichts lässt sich veröffentlichen.',
    remedy: `Als root, mit dem Benutzer, unter dem der Dienst läuft: ${command}; oder berichtigen Sie LICENSING_PACKAGES_DIR.`,
  }),
  packagesAccessUnknown: (folder) => ({
    what: `Ob der Dienst ${folder} lesen und beschreiben darf, lässt sich als root nicht sagen, denn root darf alles.`,
    remedy:
      'Führen Sie dies unter dem Benutzer aus, unter dem der Dienst läuft: sudo -u USER licensing doctor',
  }),
  packagesUnreadable: (folder, user) => ({
    what: `Dieser Benutzer darf ${folder} nicht lesen.`,
    why: 'Unter diesem Benutzer beantwortet der Dienst jeden Download mit 404.',
    remedy: `Als root, wenn der Dienst unter diesem Benutzer läuft: chown -R ${user} ${folder}`,
  }),
  packagesNotWritable: (folder, user) => ({
    what: `Dieser Benutzer darf nicht in ${folder} schreiben.`,
    why: 'Das Veröffentlichen scheitert.',
    remedy: `Als root, wenn dieser Benutzer veröffentlicht: chown ${user} ${folder}; oder veröffentlichen Sie als sein Besitzer.`,
  }),
  packagesAccess: (folder) => `Dieser Benutzer darf ${folder} lesen und beschreiben.`,
  packagesNginx: (user) => `nginx (${user}) erreicht die Pakete.`,
  packagesForGroup: (group, folder) =>
    `nginx erreicht die Pakete, wenn sein Benutzer zur Gruppe ${group} gehört; sonst: chgrp NGINX_GROUP ${folder}`,
  packagesForAll: 'nginx erreicht die Pakete.',
  nginxMayNotRead: (path, mode, command, user) => ({
    what:
      user === undefined
        ? `Nur der Besitzer darf ${path} lesen (Modus ${mode}).`
        : `nginx läuft als ${user} und darf ${path} nicht lesen (Modus ${mode}).`,
    why: 'nginx sendet die Pakete (LICENSING_ACCEL_LOCATION) unter einem anderen Benutzer: Downloads enden mit 404.',
    remedy: `Als root: ${command}${user === undefined ? ' (NGINX_GROUP: die Gruppe, unter der nginx läuft, meist www-data oder nginx)' : ''}; dann: licensing doctor`,
  }),
  spaceUnknown: (folder) => ({
    what: `Wie viel Platz in ${folder} frei ist, lässt sich nicht lesen.`,
  }),
  spaceLow: (folder, megabytes) => ({
    what: `In ${folder} sind nur ${megabytes.toFixed(1).replace('.', ',')} MB frei.`,
    why: 'Das nächste Paket passt vielleicht nicht mehr; liegt die Datenbank auf derselben Festplatte, bleibt auch sie stehen.',
    remedy: 'Schaffen Sie Platz, oder verschieben Sie die Pakete: LICENSING_PACKAGES_DIR.',
  }),
  spaceLeft: (folder, megabytes) => `Frei in ${folder}: ${megabytes.toFixed(0)} MB.`,
  noLeftovers: 'Kein halb veröffentlichtes Paket liegt herum.',
  leftovers: (folder, names, prefix) => ({
    what: `Halb kopierte Pakete in ${folder}: ${names}.`,
    why: 'Ein Veröffentlichen wurde unterbrochen. Sie nützen nichts und brauchen Platz; nichts verweist auf sie.',
    remedy: `Das nächste Veröffentlichen entfernt sie; oder: rm ${folder}/${prefix}*`,
  }),
  publicUrlUnset: {
    what: 'LICENSING_PUBLIC_URL ist nicht gesetzt.',
    why: 'Der Dienst sendet keine Mails, und „licensing sign-in“ kennt die Adresse der Seiten nicht.',
    remedy: ENTER_ADDRESS,
  },
  redisPassword: (said) => ({
    what: 'Redis lehnt diesen Benutzer ab.',
    said,
    why: meanwhile,
    remedy:
      'Geben Sie den richtigen Benutzer und das Passwort an: LICENSING_REDIS_URL=redis://user:password@host:6379',
  }),
  redisUnreachable: (said) => ({
    what: 'Redis ist nicht benutzbar.',
    said,
    why: meanwhile,
    remedy: 'Prüfen Sie, ob es läuft, und Host und Port in LICENSING_REDIS_URL.',
  }),
  redisNotWritable: (said) => ({
    what: 'Redis antwortet, lässt sich aber nicht beschreiben.',
    said,
    why: meanwhile,
    remedy:
      'Ein Replikat (READONLY): Nennen Sie den Hauptserver in LICENSING_REDIS_URL. Voll (OOM): Erhöhen Sie maxmemory. Kein Recht (NOPERM): Erlauben Sie diesem Benutzer die Schlüssel licensing:*.',
  }),
  redisWorks: 'Redis antwortet und lässt sich beschreiben.',
  limitsInDatabase:
    'Redis ist nicht eingerichtet: Der Dienst zählt die Anfragen in der Datenbank der Website, für alle Prozesse, die Passenger startet.',
  redisUnset:
    'Redis ist nicht eingerichtet: Der Dienst zählt die Anfragen im Speicher. Mehrere Instanzen würden jede für sich zählen; ' +
    'die Prüfung sieht nur die, die systemd auf diesem Rechner gestartet hat.',
  redisPerInstance: (count, names) => ({
    what: `Redis ist nicht eingerichtet, und auf diesem Rechner laufen ${count} Instanzen (${names}).`,
    why: `Jede zählt die Anfragen für sich, also darf ein Client bis zu ${count}-mal LICENSING_RATE_LIMIT senden. Instanzen auf anderen Rechnern kämen dazu; von hier sind sie nicht zu sehen.`,
    remedy: 'Setzen Sie LICENSING_REDIS_URL, und starten Sie die Instanzen neu.',
  }),
  noSigningKey: 'Kein Signaturschlüssel: Software, die signierte Antworten verlangt, bekommt unsignierte.',
  signingKeyShut: (_said, kid) => ({
    what: `Signaturschlüssel ${kid} lässt sich nicht öffnen: LICENSING_KEY_SECRET fehlt oder passt nicht, oder der Schlüssel ist beschädigt.`,
    why: 'Damit lässt sich nichts signieren: Antworten kommen unsigniert, und Rechner ohne Netz bekommen keine Datei.',
    remedy:
      'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück. Ist es endgültig verloren: licensing signing-key add, dann licensing signing-key retire KID, und bauen Sie den neuen Schlüssel in Ihre Software ein.',
  }),
  signingKeys: (kid, count) => `Signaturschlüssel ${kid} signiert; keys.json enthält ${count} Schlüssel.`,
  siteNotAsked: {
    what: 'Die Website wurde nicht von außen geprüft.',
    remedy: 'licensing doctor --url https://YOUR.SITE',
  },
  socketUnknown: (name, socket) => ({
    what: `Ob ${name} auf ${socket} antwortet, lässt sich nicht sagen: Dieser Benutzer darf sich nicht damit verbinden.`,
    remedy:
      'Führen Sie dies unter dem Benutzer aus, unter dem der Dienst läuft: sudo -u USER licensing doctor',
  }),
  socketFault: (name, socket, fault) => ({
    what: `${name} läuft, aber sein Socket ${socket} ${fault === 'ENOENT' ? 'ist weg' : `antwortet nicht (${fault})`}.`,
    why: 'Der Webserver erreicht diese Instanz nicht. Ist sie die einzige, bekommt jeder Kunde 503.',
    remedy: `Als root: systemctl restart ${name}`,
  }),
  socketsAnswer: (names) => `Auf seinem Socket antwortet: ${names}.`,
  unitReadOnly: (name, path, setting, writable, remedy) => ({
    what: `${name} darf nicht in ${path} schreiben (${setting}), gleich welchen Modus es hat.`,
    why: `Seine Unit macht alles schreibgeschützt (ProtectSystem=strict), ausgenommen ${writable || 'nichts'}.`,
    remedy,
  }),
  unitElsewhere: (home, setting) =>
    `Nennen Sie in ${setting} einen Pfad unterhalb von ${home}, und starten Sie den Dienst neu.`,
  unitXml: (command) => `${thenRestart(command)}, und: licensing update-xml write --product ID`,
  unitPackages: (command) => `${thenRestart(command)}.`,
  unitHome: (path) => ({
    what: `Die Unit verbirgt ${path} vor dem Dienst (ProtectHome).`,
    why: 'Der Dienst startet nicht oder findet den Ordner leer, obwohl ein Befehl ihn lesen kann.',
    remedy:
      'Als root: systemctl edit licensing@.service, mit den Zeilen [Service] und ProtectHome=read-only; starten Sie dann den Dienst neu.',
  }),
  xmlsFit: 'Jedes Update-XML bietet an, was veröffentlicht ist.',
  xmlStale: (id, { xml, out, offered, reason }) => ({
    what: `Das Update-XML von Produkt ${id} ist veraltet${xml === null ? ' und lässt sich nicht erzeugen' : `: ${out ?? ''} ${offered === null ? 'fehlt oder ist nicht lesbar' : 'bietet nicht an, was veröffentlicht ist'}`}.`,
    said: xml === null ? (reason ?? undefined) : undefined,
    why: 'Joomla bietet Kunden an, was in dieser Datei steht, nicht was veröffentlicht ist.',
    remedy: `Unter einem Benutzer, der sie schreiben darf: licensing update-xml write --product ${id}`,
  }),
  xmlFolder: (folder, command, said) => ({
    what: `Der Ordner der Update-XMLs ${folder} ist nicht benutzbar.`,
    said,
    why: 'Was veröffentlicht ist, erreicht kein Joomla.',
    remedy: remedyOfXmlFolder(command),
  }),
  xmlNginx: (user, group, path, mode, address) => ({
    what: `nginx läuft als ${user} und darf ${path} nicht betreten (Modus ${mode}).`,
    why: `Von dort liefert nginx die Update-XMLs unter ${address} aus: Joomla bekommt 403.`,
    remedy: `Als root: chgrp ${group} ${path} && chmod g+x ${path}; dann: licensing doctor`,
  }),
  xmlAccessUnknown: (folder) => ({
    what: `Ob der Dienst in ${folder} schreiben darf, lässt sich als root nicht sagen, denn root darf alles.`,
    remedy:
      'Führen Sie dies unter dem Benutzer aus, unter dem der Dienst läuft: sudo -u USER licensing doctor',
  }),
  xmlAccess: (folder) => `Dieser Benutzer darf in ${folder} schreiben.`,
  xmlNotWritable: (folder, command) => ({
    what: `Dieser Benutzer darf nicht in ${folder} schreiben.`,
    why: 'Läuft der Dienst unter ihm, bleiben die Update-XMLs beim Veröffentlichen, wie sie sind.',
    remedy: remedyOfXmlFolder(command),
  }),
  xmlServed: (address) => `${address} ist die geschriebene Datei.`,
  xmlRefused: (address, place, status) => unserved(`${address} antwortet mit ${status}.`, place),
  xmlWithoutBucket: (address, place) =>
    unserved(
      `${address} antwortet ohne X-Licensing-Bucket, deshalb bekommt kein Teil der Websites die Version, die ausgerollt wird.`,
      place,
    ),
  changelogFails: (address, path, xml, status, said) => ({
    what: `Das Changelog ${address} ${status === undefined ? 'ist nicht erreichbar' : `antwortet mit ${status}`}.`,
    said,
    why: 'Joomla zeigt es im eigenen Fenster, vor und nach einer Aktualisierung.',
    remedy: `Lassen Sie den Webserver LICENSING_XML_DIR unter ${path} ausliefern; dann: licensing update-xml lint ${xml}`,
  }),
  changelogFits: (address) => `Joomla kann das Changelog ${address} zeigen.`,
  changelogWrong: (address, { problem, line }) => ({
    what: `Joomla zeigt das Changelog ${address} nicht richtig${line === undefined ? '' : `, Zeile ${line}`}.`,
    said: problem,
    why: 'Joomla zeigt es im eigenen Fenster, vor und nach einer Aktualisierung.',
    remedy: `licensing update-xml lint ${address}`,
  }),
  xmlOther: (address, place) => unserved(`${address} ist nicht die geschriebene Datei.`, place),
  xmlUnreachable: (address, place, said) => unserved(`${address} ist nicht erreichbar.`, place, said),
  webhooksShut: {
    what: 'LICENSING_KEY_SECRET ist nicht gesetzt, und es gibt Webhooks: Keiner wird gesendet.',
    why: 'Ihre Geheimnisse sind damit versiegelt. Ihre Ereignisse warten.',
    remedy: 'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück.',
  },
  webhookSecret: (name, id) => ({
    what: `${name}: Das Geheimnis lässt sich nicht öffnen.`,
    why: 'Es wurde mit einem anderen LICENSING_KEY_SECRET versiegelt, also lässt sich nichts signieren.',
    remedy: `Setzen Sie das LICENSING_KEY_SECRET, mit dem er hinzugefügt wurde, oder: licensing webhook rotate ${id}`,
  }),
  webhookStopped: (name, id, since, isGone, waiting, isMore) => ({
    what: `${name} wurde am ${since} abgeschaltet: ${isGone ? 'Die Gegenstelle hat mit 410 (Gone) geantwortet' : 'Die Gegenstelle hat tagelang nichts angenommen'}.`,
    why: `Er wird nicht mehr benachrichtigt. Wartende Zustellungen: ${waiting}${isMore ? ' oder mehr' : ''}.`,
    remedy: `„licensing webhook deliveries ${id} --waiting“ zeigt die Antworten; dann: licensing webhook enable ${id}`,
  }),
  webhooks: (count) => `Webhooks gehen an ${countOf(count, 'Adresse', 'Adressen')}.`,
};

const CATCH_UP_LACKS: Record<CatchUpLack, string> = {
  no_key: 'ohne API-Schlüssel',
  no_site: 'ohne Adresse seiner Website',
  cannot: 'sein Absender führt keine Liste',
};
