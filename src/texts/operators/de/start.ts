import type { start as en } from '../en/start';
import type { Translated } from '../../translated';

/** The first steps. In German. */
export const start: Translated<typeof en> = {
  title: 'Drei Schritte bis zur ersten Lizenz',
  sub: 'Etwa fünf Minuten. Sie können nach jedem Schritt aufhören; diese Seite wartet auf Sie.',
  doneTitle: 'Sie können verkaufen',
  doneSub:
    'Produkt, Tarif und Version sind angelegt. Probieren Sie es selbst aus, bevor der erste Kunde kauft.',
  go: 'Erste Schritte zeigen',
  about: 'Produkt, Tarif und Version, eine Lizenz zum Ausprobieren, und was noch fehlt.',
  gaps: {
    pageTitle: 'Fast fertig zum Verkaufen',
    title: 'Was noch fehlt',
    sentences: {
      address: 'Die Adresse Ihrer Website ist nicht eingetragen. Mails und Updates brauchen sie.',
      mail: 'Der Mailversand ist nicht eingerichtet. Kunden bekommen keine Schlüssel per Mail.',
      shop: 'Kein Shop ist verbunden. Aus Bestellungen werden noch keine Lizenzen.',
      renewal_page: (count, written, product) =>
        count === 1
          ? `Kunden von ${product} erfahren nicht, wo sie verlängern.`
          : `Kunden von ${written} Produkten, zum Beispiel ${product}, erfahren nicht, wo sie verlängern.`,
      reminders: (count, written, product) =>
        count === 1
          ? `Kunden von ${product} werden vor dem Ende ihrer Lizenz nicht erinnert.`
          : `Kunden von ${written} Produkten, zum Beispiel ${product}, werden vor dem Ende ihrer Lizenz nicht erinnert.`,
    },
    go: {
      address: 'Adresse eintragen',
      mail: 'Mail einrichten',
      shop: 'Shop verbinden',
      renewal_page: 'Seite eintragen',
      reminders: 'Erinnerungen einschalten',
    },
  },
  steps: 'Erste Schritte',
  done: '(erledigt)',
  change: 'Ändern',
  readOnly: 'Diesen Schritt macht ein Betreiber, der Änderungen vornehmen darf.',
  import: 'Lizenzen aus einem anderen System?',
  importLink: 'Umziehen',
  importRest: '',
  saving: 'Wird gespeichert...',
  product: {
    title: 'Produkt: was Sie verkaufen',
    doneTitle: (name) => `Produkt: ${name}`,
    doneSub: (id, element) => (element === '' ? `ID ${id}.` : `Element ${element}, ID ${id}.`),
    name: 'Name',
    nameHint: 'Kunden sehen ihn.',
    element: 'Element',
    elementHint:
      'Joomlas Name der Erweiterung, zum Beispiel pkg_example. Leer: Das Produkt ist nicht für Joomla.',
    submit: 'Produkt speichern',
    file: 'Paket Ihrer Erweiterung (.zip)',
    fileHint: (size) =>
      `Bis ${size}. Name, Element und Version kommen daraus. Es bleibt ein Entwurf: Kunden bekommen es noch nicht.`,
    begin: 'Mit diesem Paket beginnen',
    without: 'Oder ohne Paket:',
  },
  plan: {
    title: 'Tarif: was ein Kunde kauft',
    hint: 'Die meisten beginnen mit einem Tarif für eine Website und ein Jahr. Weitere können folgen.',
    doneTitle: (name) => `Tarif: ${name}`,
    doneSub: (slots, written, duration) =>
      `${slots === 0 ? 'Plätze unbegrenzt' : slots === 1 ? '1 Platz' : `${written} Plätze`}, ${duration}.`,
    submit: 'Tarif speichern',
  },
  release: {
    title: 'Erste Version: was ein Kunde herunterlädt',
    hint: 'Laden Sie die .zip-Datei der Erweiterung hoch. Der Dienst liest Name und Version.',
    doneTitle: (what) => `Erste Version: ${what}`,
    doneSub: (day) => `Veröffentlicht am ${day}.`,
    before: 'Vor dem Packen: Zeilen für das Manifest',
    file: 'Paket (.zip)',
    fileHint: (size) => `Bis ${size}. Nach dem Veröffentlichen lässt es sich nicht mehr ändern.`,
    version: 'Version',
    versionHint: 'Zum Beispiel 1.0.0.',
    changelog: 'Was ist neu',
    changelogHint: 'Kunden lesen das. Eine Änderung je Zeile.',
    submit: 'Veröffentlichen',
    busy: 'Wird veröffentlicht...',
    publish: (version) => `${version} veröffentlichen…`,
    another: 'Oder laden Sie ein anderes Paket hoch:',
  },
  joomla: {
    title: 'Was Joomla braucht',
    manifest: 'Zeilen für das Manifest',
    manifestHint:
      'Fügen Sie diese Zeilen ins Manifest der Erweiterung ein, in das oberste Element. Joomla fragt dann nach Updates und hat ein Feld für den Schlüssel.',
    address: 'Das Update-XML',
    states: {
      written: 'Joomla wird angeboten, was hier veröffentlicht ist:',
      stale:
        'Joomla bietet diese Version noch nicht an. Laden Sie das Update-XML herunter, und legen Sie es unter dieser Adresse ab:',
    },
    download: 'Update-XML herunterladen',
    noElement: 'Das Produkt hat kein Element und deshalb kein Update-XML. Nur Joomla braucht eines.',
    setElement: 'Element eintragen',
    noAddress: 'Dieser Dienst kennt die Adresse Ihrer Website noch nicht.',
    setAddress: 'Adresse eintragen',
  },
  licence: {
    title: 'Eine Lizenz für Sie selbst',
    hint: 'Tragen Sie den Schlüssel in Ihrem eigenen Joomla ein und sehen Sie das Update ankommen.',
    customer: 'Ihre E-Mail',
    customerHint: 'Damit finden Sie die Lizenz.',
    submit: 'Lizenz ausstellen',
    busy: 'Wird ausgestellt...',
  },
  key: {
    title: 'Ihre Lizenz',
    key: 'Lizenzschlüssel',
    paste: 'Wo er in Joomla einzutragen ist',
    install: (product) => `Installieren Sie ${product} in Ihrem Joomla.`,
    choose: (product) =>
      `Öffnen Sie System > Aktualisieren > Aktualisierungsquellen und wählen Sie ${product}.`,
    enter: 'Fügen Sie den Schlüssel in das Feld „Downloadschlüssel“ ein, dann Speichern & Schließen.',
    check: 'Öffnen Sie System > Aktualisieren > Erweiterungen und lassen Sie nach Aktualisierungen suchen.',
    toLicense: 'Lizenz öffnen',
    toOverview: 'Zur Übersicht',
  },
};
