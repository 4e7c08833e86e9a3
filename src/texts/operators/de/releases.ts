import type { releases as en } from '../en/releases';
import type { Translated } from '../../translated';
import { changes } from '../../customers/de/words';

/** Versions of a product, and which of them sites are offered. In German. */
export const releases: Translated<typeof en> = {
  title: 'Versionen',
  product: 'Produkt',
  show: 'Zeigen',
  noProduct: 'Noch kein Produkt. Eine Version gehört zu einem Produkt.',
  addProduct: 'Produkt hinzufügen',
  offer: {
    title: 'Was bekommen Websites?',
    lookedAt: (time) => `nachgesehen ${time}`,
    download: (version) => `Kunden laden ${version} herunter.`,
    clubTitle: 'Was laden die Kunden dieses Clubs herunter?',
    nothingPublished: 'noch nichts veröffentlicht',
    noDownload: 'Kunden können nichts herunterladen: Es ist keine Version veröffentlicht.',
    offers: (version) => `Joomla bietet ${version} an.`,
    offersNothing: 'Joomla bietet nichts an.',
    offersUnknown: (version) => `Ob Joomla ${version} anbietet, lässt sich nicht prüfen.`,
    offersNot: (version) => `Joomla bietet ${version} nicht an.`,
    heldBack:
      'Joomla bietet nichts unter einer zurückgezogenen Version an, weil Websites sonst eine ältere Version bekämen.',
    stale: (version) => `Joomla bietet ${version} an: Dem Update-XML fehlt die letzte Änderung.`,
    staleNothing: 'Joomla bietet nichts an: Dem Update-XML fehlt die letzte Änderung.',
    missing: 'Joomla bietet nichts an: Das Update-XML ist nicht an seinem Platz.',
    elsewhere: (file) => `Die Datei ${file}, deren Adresse hier nicht bekannt ist.`,
    impossible: 'Das Update-XML lässt sich nicht schreiben.',
    noElement:
      'Joomla bietet nichts an: Das Produkt hat kein Element, und daran erkennt Joomla die Erweiterung.',
    noAddress: 'Joomla bietet nichts an: Dieser Dienst kennt seine öffentliche Adresse nicht.',
    asking: 'Die Adresse wird gerade geprüft. Sehen Sie in einigen Sekunden wieder nach.',
    silent: (url) =>
      `Die Datei stimmt, aber ${url} antwortet nicht. Prüfen Sie, ob der Webserver läuft und diesen Ordner ausliefert: „licensing nginx“ gibt die Zeilen aus.`,
    refuses: (url, status) =>
      `Die Datei stimmt, aber ${url} antwortet ${status}, deshalb wird Websites nichts angeboten. Der Webserver muss diesen Ordner ausliefern: „licensing nginx“ gibt die Zeilen aus.`,
    setElement: 'Element eintragen',
    setAddress: 'Adresse Ihrer Website eintragen',
    get: 'Update-XML herunterladen',
    put: 'und unter dieser Adresse ablegen.',
    why: 'Grund:',
    notThere: (file) => `${file} fehlt oder ist nicht lesbar.`,
    differs: (file) => `${file} bietet nicht an, was jetzt veröffentlicht ist.`,
    writeAgain: 'Noch einmal schreiben',
    writing: 'Wird geschrieben...',
    lookAgain: 'Noch einmal nachsehen',
    options: 'Optionen des Update-XML',
    manifest: 'Was ins Manifest gehört',
    manifestHint:
      'Fügen Sie diese Zeilen ins Manifest der Erweiterung ein, in das oberste Element. Websites fragen dann nach Updates und haben ein Feld für den Schlüssel.',
  },
  list: 'Versionen',
  older: (count, written) => `${written} ältere ${count === 1 ? 'Version' : 'Versionen'}`,
  allOlder: 'Ältere Versionen',
  range: (first, last) => (first === last ? first : `${first} bis ${last}`),
  downloaded: (count, written) => `${written} ${count === 1 ? 'Download' : 'Downloads'} in 30 Tagen`,
  orders: {
    '-version': 'Höchste Version zuerst',
    version: 'Niedrigste Version zuerst',
    '-published_at': 'Neueste Veröffentlichung zuerst',
    published_at: 'Älteste Veröffentlichung zuerst',
  },
  columns: {
    version: 'Version',
    state: 'Zustand',
    released: 'Veröffentlicht am',
    downloads: 'Downloads 30 Tage',
    size: 'Größe',
    id: 'ID',
  },
  states: { draft: 'Entwurf', published: 'Veröffentlicht', withdrawn: 'Zurückgezogen' },
  none: 'Noch keine Version. Kunden können nichts herunterladen.',
  noneOfClub:
    'Dieser Club hat kein eigenes Paket. Seine Kunden bekommen die Versionen der Produkte, die er enthält.',
  csvName: 'versionen.csv',
  add: 'Neue Version',
  publish: 'Veröffentlichen',
  withdraw: 'Zurückziehen…',
  form: {
    title: (product) => `Neue Version von ${product}`,
    file: 'Paket (.zip)',
    fileHint: (size) => `Bis zu ${size}. Nach dem Veröffentlichen lässt es sich nicht mehr ändern.`,
    version: 'Version',
    versionHint: 'Leer: wie im Manifest des Pakets.',
    changelog: 'Was ist neu',
    changelogHint:
      'Das lesen Kunden, und Joomla zeigt es. Eine Änderung je Zeile. Mit fix:, add: oder security: am Anfang ordnen Sie sie ein.',
    then: 'Danach',
    now: 'Veröffentlichen: Kunden bekommen sie sofort',
    draft: 'Als Entwurf behalten: Kunden sehen sie nicht',
    submit: 'Veröffentlichen',
    submitDraft: 'Als Entwurf behalten',
    unchecked: 'Trotzdem veröffentlichen',
    uncheckedHint:
      'Ein veröffentlichtes Paket ändert sich nie. Berichtigen lässt es sich nur mit der nächsten Version.',
    newServer: 'Mit dem anderen Update-Server veröffentlichen',
    newServerHint:
      'Joomla merkt sich den Downloadschlüssel zu dieser Adresse. Bis 5.3.0 verliert eine Website, die diese Version installiert, ihren Schlüssel und bekommt kein Update mehr, bis er wieder eingetragen ist.',
    foreignServerHint:
      'Websites, die diese Version installieren, fragen die Adresse im Paket nach der nächsten. Ein veröffentlichtes Paket ändert sich nie.',
  },
  refused: {
    otherVersion: (inside, typed) => `Das Paket hat die Version ${inside}, Sie haben ${typed} eingegeben.`,
    noVersion: (typed) =>
      `Das Manifest des Pakets nennt keine Version, die Joomla kennt${typed === '' ? '' : `, Sie haben ${typed} eingegeben`}. Schreiben Sie <version>${typed || '1.0.0'}</version>, ohne Leerzeichen.`,
    otherElement: (inside, element) =>
      `Das Paket gehört zu ${inside}, das Element des Produkts ist ${element}. Joomla würde das eine nicht durch das andere ersetzen.`,
    otherServer:
      'Das Paket nennt einen anderen Update-Server als die Version davor. Packen Sie es noch einmal mit der früheren Adresse, oder erlauben Sie es unten.',
    foreignServer: (named, url) =>
      `Das Paket schickt Websites für Updates zu ${named}, Ihr Update-XML liegt aber unter ${url}. Schreiben Sie Ihre Adresse ins Manifest und packen Sie das Paket noch einmal, oder erlauben Sie es unten. Ist es eine frühere Adresse von Ihnen, lassen Sie sie auf dem Server eintragen.`,
    malformed: (path, fault) =>
      `Das Manifest des Pakets ist kein wohlgeformtes XML: ${path}: ${fault}. Berichtigen Sie es und packen Sie es noch einmal.`,
    lacks: (paths, joomla) =>
      `Dateien, die das Manifest des Pakets nennt, fehlen oder sind unbrauchbar: ${paths.join(', ')}. ${joomla === undefined ? 'Joomla ließe es weg' : `Joomla würde „${joomla}“ sagen`}. Packen Sie es noch einmal.`,
    withoutLines:
      'Im Manifest des Pakets fehlen die Zeilen, durch die Joomla nach Updates und nach dem Schlüssel fragt: Websites, die diese Version installieren, bekämen nie eine andere angeboten. Fügen Sie die Zeilen ein und packen Sie es noch einmal.',
    noManifest: 'Das Paket hat oben kein Manifest von Joomla (eine XML-Datei mit <extension>).',
    tooLarge: (size) => `Das Paket ist größer als ${size}.`,
    published: (version) =>
      `${version} ist schon veröffentlicht, und ihr Paket lässt sich nicht mehr ändern. Veröffentlichen Sie die nächste Version.`,
    withdrawn: (version) =>
      `${version} wurde zurückgezogen, und Kunden haben vielleicht ihr Paket. Veröffentlichen Sie die nächste Version.`,
    equal: (version) => `Für Joomla ist das dieselbe Version wie ${version}, die es schon gibt.`,
    noFile: 'Bitte wählen Sie das Paket.',
    noZip: {
      empty: 'Diese Datei ist leer. Bitte wählen Sie das Paket.',
      other: 'Diese Datei ist kein ZIP. Bitte wählen Sie das Paket.',
      cut: 'Diesem ZIP fehlt das Ende: Ein Upload oder eine Kopie ist abgebrochen. Laden Sie es noch einmal hoch, oder packen Sie es noch einmal.',
      encrypted: 'Dieses ZIP ist verschlüsselt, Joomla kann es nicht entpacken. Packen Sie es ohne Passwort.',
      damaged: 'Dieses ZIP ist beschädigt, oder Joomla kann es nicht entpacken. Packen Sie es noch einmal.',
    },
  },
  remarks: {
    'package-lacks': (joomla, ...paths) =>
      `Dateien, die das Manifest des Pakets nennt, fehlen oder sind unbrauchbar: ${paths.join(', ')}. ${joomla === '' ? 'Joomla ließe es weg.' : `Joomla würde „${joomla}“ sagen.`}`,
    'without-lines': () =>
      'Im Manifest des Pakets fehlen Zeilen, durch die Joomla nach Updates oder nach dem Schlüssel fragt. Websites, die diese Version installieren, bekommen vielleicht nie eine andere angeboten. Fügen Sie die Zeilen ins nächste Paket ein.',
    'other-update-server': () =>
      'Das Paket nennt einen anderen Update-Server als die Version davor. Bis Joomla 5.3.0 verliert eine Website, die es installiert, ihren Schlüssel.',
    'foreign-server': (named, url) =>
      `Das Paket schickt Websites für Updates zu ${named}, Ihr Update-XML liegt aber unter ${url}. Diese Websites bekommen keine Ihrer Versionen angeboten.`,
    'server-unchecked': () =>
      'Wir konnten nicht prüfen, ob Websites bei diesem Dienst nach Updates fragen, weil die Adresse Ihrer Website nicht eingetragen ist. Tragen Sie sie unter Einstellungen ein, und vergleichen Sie das Paket mit den Zeilen für das Manifest.',
    'before-unread': (version) =>
      `Das Paket von ${version} fehlt oder ist beschädigt. Deshalb konnten wir nicht prüfen, ob der Update-Server derselbe ist.`,
    'no-changelog-address': () =>
      'Das Manifest des Pakets hat kein <changelogurl>. Websites mit Joomla 4.4 zeigen Ihre Änderungen nie.',
    'lock-unread': (...paths) =>
      `Die SBOM wurde ohne ${paths.join(', ')} erzeugt, weil das nicht als Lock-Datei zu lesen ist. Sie können eine eigene SBOM hochladen.`,
    'odd-version': (version) =>
      `Joomla kennt ein Wort in ${version} nicht und ordnet die Version vielleicht falsch ein. Verwenden Sie nur Zahlen, oder danach -dev, -alpha1, -beta1 oder -rc1.`,
    'pre-release': (version) =>
      `${version} ist eine Testversion. Angeboten wird sie nur Websites, deren Mindeststabilität das erlaubt.`,
    'future-date': () => 'Das Datum liegt in der Zukunft. Die Version wird ab jetzt angeboten.',
  },
  publishPage: {
    title: (version) => `${version} veröffentlichen?`,
    download: (version) => `Kunden bekommen ab dann ${version}.`,
    stays: (version, latest) =>
      `Kunden können ${version} herunterladen. Ein Download ohne Version liefert weiter ${latest}.`,
    never: 'Das Paket lässt sich danach nicht mehr ändern.',
    submit: (version) => `${version} veröffentlichen`,
    busy: 'Wird veröffentlicht...',
  },
  rollout: {
    title: (version) => `${version} ausrollen`,
    panel: (version) => `Ausrollen von ${version}`,
    link: 'Ausrollen…',
    badge: (percent) => `an ${percent} %`,
    since: (day) => `veröffentlicht ${day}`,
    all: (version) => `Alle Websites bekommen ${version}.`,
    share: (version, percent) => `${percent} % der Websites bekommen ${version}.`,
    others: (version) => `Die anderen bekommen ${version}.`,
    replaced: (version) => `${version} wird nicht mehr angeboten: Websites bekommen eine neuere Version.`,
    caption: 'Downloads seit der Veröffentlichung',
    downloads: 'Downloads seither',
    refusals: 'Seither abgelehnt',
    to: (percent) => `${percent} %`,
    raise: (percent) => (percent === '100' ? 'Auf alle erhöhen' : `Auf ${percent} % erhöhen`),
    stop: 'Anhalten…',
    hint: 'Der Anteil lässt sich nur erhöhen. „Anhalten“ zieht die Version zurück.',
    field: 'Anbieten für',
    option: (percent) => (percent === '100' ? 'alle Websites' : `${percent} % der Websites`),
    fieldHint: 'Den Anteil können Sie später erhöhen. Das geht nur mit nginx.',
    onlyAll:
      'Alle Websites bekommen sie. Nur nginx mit den jetzigen Dateien kann sie zuerst einem Teil der Websites anbieten.',
    refused: {
      newer: (version) =>
        `Diese Websites bekommen ${version}, und die ist neuer. Es wurde nichts geändert. Erhöhen Sie stattdessen den Anteil von ${version}, oder ziehen Sie sie zurück.`,
      noAddress:
        'Die Adresse des Update-XML ist nicht bekannt, deshalb kann die Version keinem Teil der Websites angeboten werden. Tragen Sie die Adresse Ihrer Website unter Einstellungen ein, und lassen Sie nginx die Update-XMLs ausliefern.',
      silent: (url) =>
        `${url} antwortet nicht, deshalb ist nicht bekannt, ob nginx oder Apache es ausliefert. Nur nginx kann eine Version einem Teil der Websites anbieten.`,
      apache: (url) =>
        `${url} liefert Apache aus, der eine Version nicht einem Teil der Websites anbieten kann. Bieten Sie sie allen an, oder lassen Sie nginx das Update-XML ausliefern.`,
      nginx: (url) =>
        `${url} gäbe jeder Website dasselbe: nginx braucht die jetzigen Dateien. „licensing nginx“ gibt sie aus. Weder Apache noch die statischen Dateien eines Panels können es.`,
    },
  },
  changes,
  preview: {
    title: 'Wie zeigt Joomla es?',
    hint: 'Eine Zeile, die mit security:, fix:, add:, change:, remove:, language: oder note: beginnt, kommt in die Liste dieses Namens.',
    lists: {
      security: 'Sicherheitskorrekturen',
      fix: 'Fehlerkorrekturen',
      addition: 'Neue Funktionen',
      change: 'Änderungen',
      remove: 'Entfernte Funktionen',
      language: 'Sprache',
      note: 'Hinweise',
    },
  },
  security: {
    field: 'Sie schließt eine Sicherheitslücke',
    fieldHint:
      'Zeilen, die mit „security:“ beginnen, sehen Kunden zuerst. Nach dem Veröffentlichen können Sie die Kunden per Mail benachrichtigen.',
    badge: 'Sicherheitsversion',
    title: (version) => `${version} schließt eine Sicherheitslücke.`,
    behindOf: (behind, counted) =>
      `Auf ${behind} von ${counted} Websites, die ihre Version gemeldet haben, läuft noch eine ältere`,
    tell: 'Kunden benachrichtigen…',
    told: (at) => `Die Kunden wurden benachrichtigt: ${at}.`,
  },
  advice: {
    advisory: 'Empfehlung an die Nutzer',
    advisoryHint:
      'Was sie tun sollen, etwa Passwörter ändern. Ein Punkt je Zeile, wie bei den Änderungen. Die Mail, die Kundenseite und Joomla zeigen sie zuerst.',
    cve: 'CVE',
    cveHint: 'Die Namen der Lücken, etwa CVE-2026-12345, mit Kommas dazwischen.',
    sameFixAs: 'Gleiche Korrektur wie',
    sameFixAsHint:
      'Wenn sie diese Korrektur in einen anderen Zweig bringt. Jeder Kunde wird über beide einmal benachrichtigt.',
    noOther: 'keine andere Version',
  },
  notifyPage: {
    title: (version) => `Kunden über ${version} benachrichtigen?`,
    count: (mails, shown) => (mails === 1 ? '1 Mail wird gesendet.' : `${shown} Mails werden gesendet.`),
    whom: (version) =>
      `Die Mail geht an Kunden, deren Lizenz ${version} umfasst und deren Websites eine ältere oder noch keine Version gemeldet haben. Jeder Kunde bekommt eine Mail in seiner Sprache.`,
    once: 'Das geht einmal für diese Version. Gesendete Mails lassen sich nicht zurückholen.',
    pace: 'Es werden höchstens 300 Mails in der Minute gesendet. Im Verlauf jeder Lizenz steht die Mail.',
    off: 'Der Mailversand ist nicht eingerichtet, deshalb kann nichts gesendet werden. Die Systemprüfung zeigt, was fehlt.',
    told: (at, mails) => `Die Kunden wurden benachrichtigt: ${at}. Mails: ${mails}.`,
    already: (version) => `Die Kunden wurden über ${version} schon benachrichtigt.`,
    everybody: 'Alle benachrichtigen…',
    whomAll: (version) =>
      `Die Mail geht an alle Kunden, die noch keine bekommen haben und deren Websites eine ältere oder noch keine Version gemeldet haben, auch wenn ihre Lizenz ${version} nicht umfasst. Ausgesetzte, entzogene und stornierte Lizenzen bekommen keine, erstattete nach ihrem Ende auch nicht.`,
    onceAll:
      'Das geht einmal für diese Version, auch nachdem Sie die Kunden benachrichtigt haben, deren Lizenz sie umfasst.',
    toldAll: (at) => `Alle wurden benachrichtigt: ${at}.`,
    law: 'Ab dem 11. Dezember 2027 verlangt das Gesetz kostenlose Sicherheitsupdates, auch nach dem Ende einer Lizenz (Verordnung (EU) 2024/2847, Anhang I). Diese Tarife halten sie zurück. Ändern Sie das zuerst, dann bekommen diese Kunden das Update selbst:',
    giveFree: (plan) => `${plan} ändern`,
    previewAll: 'Die Mail an Kunden, deren Lizenz die Version nicht umfasst',
    preview: 'Die Mail',
    sites: 'Websites und ihre Versionen',
    submit: (mails, shown) => (mails === 1 ? '1 Mail senden' : `${shown} Mails senden`),
    busy: 'Wird gesendet...',
  },
  editPage: {
    title: (version) => `${version} bearbeiten`,
    about: 'Das Paket und die Nummer ändern sich nie.',
    publish: (version) => `${version} veröffentlichen…`,
    withdraw: (version) => `${version} zurückziehen…`,
  },
  sbom: {
    title: (version) => `SBOM von ${version}`,
    field: 'SBOM (.json)',
    fieldHint:
      'Eine Software-Stückliste: CycloneDX 1.4 oder eine spätere 1.x, oder SPDX 2.3, als JSON mit höchstens 5 MiB.',
    fieldNew: 'Leer: Sie wird aus den Lock-Dateien im Paket erzeugt.',
    given: (format, day) => `SBOM: ${format}, hochgeladen ${day}.`,
    generated: (format, day) => `SBOM: ${format}, aus den Lock-Dateien im Paket erzeugt ${day}.`,
    none: 'Diese Version hat keine SBOM. Als ihr Paket gespeichert wurde, konnte keine SBOM erzeugt werden: Das Paket hat keine lesbare Lock-Datei (composer.lock, vendor/composer/installed.json oder package-lock.json), oder dieser Dienst erzeugte damals noch keine SBOMs.',
    hidden: 'Kunden sehen sie nicht.',
    replaces: 'Eine hochgeladene SBOM ersetzt die jetzige.',
    upload: 'SBOM hochladen...',
    download: 'SBOM herunterladen',
    submit: 'Speichern',
    refused: {
      empty: 'Die SBOM ist eine leere Datei. Wählen Sie eine andere Datei.',
      'too-large': 'Die SBOM ist größer als 5 MiB. Lassen Sie weg, was Ihre Erweiterung nicht enthält.',
      'no-json': 'Die SBOM ist kein JSON in UTF-8. Exportieren Sie sie als JSON von CycloneDX oder SPDX.',
      unknown: 'Dieses JSON ist weder CycloneDX (bomFormat, specVersion) noch SPDX (spdxVersion).',
    },
    refusedVersion: (format) =>
      `Die SBOM ist ${format}. Sie muss CycloneDX 1.4 oder eine spätere 1.x sein, oder SPDX 2.3.`,
  },
  withdrawPage: {
    title: (version) => `${version} zurückziehen?`,
    nobody: 'Sie kann nicht mehr heruntergeladen werden. Websites, die sie haben, behalten sie.',
    draft: 'Sie wurde nie veröffentlicht, also hat sie keine Website.',
    then: (version) => `Kunden bekommen ab dann ${version}.`,
    nothing: 'Kunden bekommen dann nichts, weil keine andere Version veröffentlicht ist.',
    offers: (version) =>
      `Joomla bietet nichts unter ${version} an, solange Sie es nicht erlauben, weil Websites sonst eine ältere Version bekämen.`,
    offersBefore: (version) =>
      `Joomla bietet keine Testversion unter ${version} an. Fertige Versionen bleiben.`,
    same: (latest) => `Joomla bietet weiter ${latest} an.`,
    number: 'Die Nummer kann nicht noch einmal verwendet werden.',
    allow: 'Joomla darf niedrigere Versionen anbieten',
    allowHint:
      'Eine Website, die die zurückgezogene Version noch aufführt, würde eine niedrigere installieren, und Joomla würde Erfolg melden.',
    submit: (version) => `${version} zurückziehen`,
    busy: 'Wird zurückgezogen...',
    back: 'Behalten',
  },
};
