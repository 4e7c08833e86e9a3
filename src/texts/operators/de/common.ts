import type { common as en } from '../en/common';
import { kit } from '../../customers/de/kit';
import { thing } from '../../customers/de/words';
import type { Translated } from '../../translated';

/** The texts of every page. In German. */
export const common: Translated<typeof en> = {
  ...kit,
  brand: 'Lizenzen',
  menu: 'Menü',
  pages: 'Seiten',
  nav: {
    overview: 'Übersicht',
    licenses: 'Lizenzen',
    customers: 'Kunden',
    orders: 'Bestellungen',
    renewals: 'Verlängerungen',
    releases: 'Versionen',
    products: 'Produkte',
    mails: 'Mails',
    settings: 'Einstellungen',
    system: 'System',
  },
  account: (name) => `Konto von ${name}`,
  findLabel: 'Eine Lizenz oder eine Ablehnung suchen',
  findHint: 'Schlüssel, E-Mail, Name, Bestellung, Website oder IP-Adresse',
  guide: 'Hilfe (englisch)',
  keyboard: 'Tastatur',
  keys: {
    title: 'Tastenkürzel',
    search: 'zum Suchfeld',
    list: 'diese Liste zeigen',
    on: 'Tasten eingeschaltet',
    close: 'Schließen',
  },
  mayRead: 'Sie können alles ansehen und nichts ändern.',
  all: 'Alle',
  never: 'nie',
  noEnd: 'unbefristet',
  unlimited: 'unbegrenzt',
  filter: 'Filtern',
  choices: 'Filter und Sortierung',
  clearOne: (name) => `Filter entfernen: ${name}`,
  order: 'Sortierung',
  shown: (count) => `${count} gezeigt.`,
  save: 'Speichern',
  back: 'Zurück',
  upload: {
    label: 'Fortschritt des Hochladens',
    plain: 'Schließen Sie diese Seite nicht, bis die nächste erscheint.',
    stop: 'Anhalten',
    sent: '{sent} von {total}',
    left: '{sent} von {total}, noch etwa {time}',
    saving: 'Die Datei ist hochgeladen und wird geprüft...',
    stopped: 'Angehalten. Es wurde nichts gespeichert.',
    failed:
      'Die Verbindung ist abgebrochen. Es wurde nichts gespeichert. Bitte laden Sie die Datei noch einmal hoch.',
  },
  sayWhat: 'Zahlen zeigen',
  highest: (value, where) =>
    where === undefined ? `am meisten: ${value}` : `am meisten: ${value} (${where})`,
  sites: (activationType) => thing(activationType).many,
  site: (activationType) => thing(activationType).one,
  lifetime: 'unbefristet',
  enterKey: (entries, isOne) =>
    isOne
      ? `Öffnen Sie im Administrator von Joomla „System“, dann „Aktualisierungsquellen“, wählen Sie die Aktualisierungsquelle von ${entries} und fügen Sie den Schlüssel in das Feld „Downloadschlüssel“ ein.`
      : `Öffnen Sie im Administrator von Joomla „System“, dann „Aktualisierungsquellen“. Wählen Sie die Aktualisierungsquelle jeder Erweiterung, die Sie nutzen (${entries}), und fügen Sie den Schlüssel in das Feld „Downloadschlüssel“ ein.`,
  errors: {
    ...kit.errors,
    readOnly: 'Sie können alles ansehen und nichts ändern.',
    underWay:
      'Dasselbe Formular wurde schon gesendet und wird noch verarbeitet. Drücken Sie gleich noch einmal auf den Knopf: Es geschieht nur einmal.',
    onlyOnce: 'Ihre Eingaben sind noch da. Auch wenn Sie noch einmal senden, geschieht es nur einmal.',
    toOverview: 'Zur Übersicht',
    other: 'Das ließ sich nicht speichern, weil etwas darin nicht passt. Bitte prüfen Sie Ihre Eingaben.',
    conflict:
      'Das gibt es schon, oder ein anderer Betreiber hat es inzwischen geändert. Bitte laden Sie die Seite neu.',
    byReason: {
      'no-product': 'Dieses Produkt gibt es nicht.',
      'no-plan': 'Diesen Tarif gibt es nicht.',
      'no-shop': 'Diesen Shop gibt es nicht.',
      'unmatched-done': 'Diese Zahlung ist schon zugeordnet oder wird ignoriert.',
      'pays-nothing':
        'Das ist eine Erstattung, dafür lässt sich keine Lizenz ausstellen. Ordnen Sie sie einer Lizenz zu.',
      'other-order': 'Die Zahlung gehört zu einer Bestellung, die eine Lizenz hat. Wählen Sie diese Lizenz.',
      'no-order': 'Diese Bestellung gibt es nicht.',
      'no-higher-id': 'Für ein weiteres Produkt ist keine höhere Nummer frei.',
      'product-in-use': 'Das Produkt wird noch verwendet.',
      'includes-others': 'Ein Produkt, das andere enthält, kann selbst nicht enthalten sein.',
      'is-included': 'Das Produkt ist in einem anderen enthalten. Nehmen Sie es zuerst dort heraus.',
      'plan-in-use': 'Der Tarif wird noch verwendet.',
      'plan-in-shop': 'Ein Shop verkauft diesen Tarif noch.',
      undecided: 'Bitte wählen Sie, was mit den Lizenzen mit der jetzigen Zahl von Plätzen geschieht.',
      'counts-otherwise':
        'Lizenzen mit diesem Tarif zählen schon etwas anderes. Legen Sie einen neuen Tarif an.',
      'lifetime-license': 'Die Lizenz ist unbefristet.',
      'other-plan':
        'Diese Bestellung hat schon eine Lizenz mit einem anderen Tarif. Geben Sie eine andere Bestellung ein.',
      'other-customer':
        'Diese Bestellung hat schon eine Lizenz für einen anderen Kunden. Geben Sie eine andere Bestellung ein.',
      activated: 'Dieser Tarif zählt etwas anderes, und die Lizenz ist schon aktiviert.',
      'not-activated': 'Diese Website steht nicht mehr in der Liste.',
      'no-customer': 'Die Lizenz hat keine E-Mail-Adresse. Tragen Sie zuerst eine ein.',
      'license-final': 'Die Lizenz ist endgültig beendet. Ihr Schlüssel gilt nicht mehr.',
      'no-key': 'Diesen Schlüssel hat die Lizenz nicht.',
      'main-key': 'Der Hauptschlüssel hat Plätze und Ende der Lizenz. „Neuer Schlüssel“ ersetzt ihn.',
      'key-ended': 'Dieser Schlüssel ist beendet.',
      'key-not-kept': 'Der Schlüssel ist nicht gespeichert und kann nicht angezeigt werden.',
      'no-keys': 'Für diese Bestellung wurde keine Lizenz ausgestellt, deshalb gibt es keinen Schlüssel.',
      'no-address': 'Diese Bestellung hat keine E-Mail-Adresse, an die der Schlüssel gesendet werden kann.',
      'other-product':
        'Dieser Tarif gehört zu einem anderen Produkt. Die Lizenz gilt dann nur für dieses Produkt und die darin enthaltenen. Schlüssel und Websites bleiben. Möchten Sie das Produkt wechseln?',
      'customer-exists': 'Diese Adresse hat schon ein anderer Kunde. Möchten Sie beide zusammenführen?',
      'mail-not-failed': 'Diese Mail ist zugestellt oder wird noch versucht.',
      'mail-only-once': 'Eine Mail dieser Art kann nicht noch einmal gesendet werden.',
      'no-mail': 'Diese Mail gibt es nicht.',
      'mail-off':
        'Der Mailversand ist nicht eingerichtet, deshalb kann nichts gesendet werden. Die Systemprüfung zeigt, was fehlt.',
      'no-version': 'Diese Version hat das Produkt nicht.',
      'no-draft': 'Von dieser Version gibt es keinen Entwurf.',
      'no-draft-package': 'Das Paket dieses Entwurfs fehlt. Laden Sie es noch einmal hoch.',
      'is-published':
        'Diese Version ist schon veröffentlicht, und ihr Paket ändert sich nie. Veröffentlichen Sie die nächste.',
      'is-withdrawn':
        'Diese Version wurde zurückgezogen, und Kunden können ihr Paket haben. Veröffentlichen Sie die nächste.',
      'equal-version': 'Für Joomla ist diese Version dieselbe wie eine, die es schon gibt.',
      'other-update-server': 'Das Paket nennt einen anderen Update-Server als die letzte Version.',
      'foreign-server': 'Das Paket nennt einen fremden Update-Server.',
      'no-zip': 'Diese Datei ist kein lesbares ZIP. Packen Sie es neu.',
      'bad-sbom': 'Die SBOM kann nicht verwendet werden.',
      'no-manifest': 'Das Paket hat kein Manifest.',
      'too-much-xml': 'Das Paket hat zu viel XML, um geprüft zu werden.',
      'disk-full':
        'Der Datenträger des Servers ist voll. Es wurde nichts veröffentlicht. Schaffen Sie Platz im Ordner der Pakete, und laden Sie das Paket noch einmal hoch.',
      'folder-closed':
        'Der Dienst kann nicht in den Ordner der Pakete schreiben. Es wurde nichts veröffentlicht. Unter „System“ steht, was zu tun ist.',
      'no-version-inside': 'Im Paket steht keine Version. Bitte geben Sie sie ein.',
      'xml-of-another': 'Diese Datei ist schon das Update-XML eines anderen Produkts.',
      'webhook-address':
        'An diese Adresse dürfen keine Webhooks gehen: Geben Sie https:// und einen öffentlichen Rechner ein, ohne Benutzer, Passwort und „#“, oder lassen Sie sein Netz auf dem Server erlauben.',
      'no-webhook': 'Diesen Webhook gibt es nicht.',
      'token-name': 'Es gibt schon ein Token mit diesem Namen.',
      'no-token': 'Dieses Token gibt es nicht.',
      'is-operator': 'Diese Adresse ist schon eingetragen.',
      'no-operator': 'Diese Adresse ist nicht eingetragen.',
      'no-key-secret':
        'Geheimnisse lassen sich nicht speichern: Dem Dienst fehlt das Geheimnis, um sie zu verschlüsseln. Die Systemprüfung zeigt, was zu tun ist.',
      'secret-elsewhere':
        'Das gespeicherte Geheimnis gehört zu einer anderen Adresse, einem anderen Port oder Benutzer. Bitte geben Sie es noch einmal ein.',
      'no-signing-key': 'Diesen Signaturschlüssel gibt es nicht.',
      'signing-key-retired': 'Der Signaturschlüssel ist schon ausgemustert.',
      'last-signing-key': 'Nur dieser Signaturschlüssel kann signieren. Legen Sie zuerst den nächsten an.',
    },
    byField: {
      events:
        'Bitte nennen Sie Ereignisse, zum Beispiel license.* oder release.published, mit Kommas dazwischen.',
      customer: 'Bitte geben Sie eine E-Mail-Adresse ein, zum Beispiel jane@example.com.',
      email: 'Bitte geben Sie eine E-Mail-Adresse ein, zum Beispiel jane@example.com.',
      name: 'Bitte geben Sie einen kurzen Namen in einer Zeile ein, der noch nicht vergeben ist, keinen Lizenzschlüssel.',
      expires_at: 'Bitte geben Sie einen Tag in der Zukunft ein, zum Beispiel 2027-06-30.',
      lifetime: 'Bitte geben Sie ein Ende ein oder wählen Sie „unbefristet“, nicht beides.',
      until: 'Bitte geben Sie einen Tag in der Zukunft ein, zum Beispiel 2027-06-30.',
      for: 'Bitte geben Sie eine Dauer ein, zum Beispiel 1y, 6m oder 30d (Jahre, Monate, Tage).',
      duration: 'Bitte geben Sie eine Dauer ein, zum Beispiel 1y, 6m oder 30d (Jahre, Monate, Tage).',
      ends_at: 'Bitte geben Sie einen Tag in der Zukunft ein, zum Beispiel 2027-06-30.',
      label: 'Bitte geben Sie eine kurze Bezeichnung in einer Zeile ein, keinen Lizenzschlüssel.',
      description: 'Bitte geben Sie einen kurzen Text in einer Zeile ein, keinen Lizenzschlüssel.',
      reason: 'Bitte geben Sie einen kurzen Grund in einer Zeile ein, keinen Lizenzschlüssel.',
      metadata:
        'Bitte prüfen Sie die Namen (a-z, 0-9, „_“, „.“, „-“) und Texte; höchstens 20, keine Lizenzschlüssel.',
      activation_limit: 'Bitte geben Sie eine ganze Zahl ein. 0: unbegrenzt.',
      activation_type: 'Bitte wählen Sie, was der Tarif zählt.',
      after_expiry: 'Bitte wählen Sie, was nach dem Ende gilt.',
      free_staging: 'Testsites können nur frei sein, wenn der Tarif Websites zählt.',
      advisory: 'Die Empfehlung ist länger als 2.000 Zeichen oder enthält unlesbare Zeichen.',
      cve: 'Bitte tippen Sie Namen wie CVE-2026-12345 (das Jahr, dann mindestens vier Ziffern), höchstens 50.',
      same_fix_as: 'Bitte wählen Sie eine andere Version desselben Produkts.',
      rollout: 'Bitte wählen Sie einen Anteil von 1 bis 100 Prozent.',
      self_service_moves: 'Bitte geben Sie eine ganze Zahl ein. 0: keine Websites.',
      licenses: 'Bitte wählen Sie, was mit den Lizenzen mit der jetzigen Zahl von Plätzen geschieht.',
      count: 'Bitte geben Sie eine ganze Zahl von 1 bis 10.000 ein.',
      quantity: 'Bitte wählen Sie, was eine Menge bedeutet.',
      send: 'Der Schlüssel kann nur bei einer einzelnen Lizenz gleich gesendet werden.',
      reference:
        'Diese Bestellung passt nicht oder hat schon eine Lizenz. Geben Sie eine kurze Bestellnummer in einer Zeile ein, für eine einzelne Lizenz.',
      key: 'Dieser Schlüssel ist zu kurz, zu lang oder schon vergeben. Er gilt für eine einzelne Lizenz.',
      plan_id: 'Bitte wählen Sie einen Tarif.',
      license_id: 'Diese Lizenz gibt es nicht.',
      test_plan_id: 'Bitte wählen Sie einen Tarif für Testbestellungen.',
      product_id: 'Bitte wählen Sie ein Produkt.',
      includes: 'Bitte wählen Sie andere Produkte, die selbst keine Produkte enthalten.',
      element:
        'Das ist kein Element. Schreiben Sie es, wie Joomla die Erweiterung nennt, zum Beispiel pkg_gallery.',
      version: 'Bitte geben Sie eine Version ein, zum Beispiel 2.1.0.',
      changelog: 'Bitte geben Sie einen Text von höchstens 1 MB ein.',
      file: 'Diese Datei lässt sich nicht verwenden. Bitte prüfen Sie sie oder wählen Sie eine andere.',
      more: 'Bitte schreiben Sie metadata.NAME=Spalte, mit Kommas dazwischen, und jede Spalte so, wie die Tabelle sie nennt.',
      identifier: 'Bitte geben Sie die Adresse der Website ein, zum Beispiel www.example.com.',
      url: 'Bitte geben Sie eine Adresse ein, zum Beispiel https://shop.example/webhooks.',
      kind: 'Bitte wählen Sie, woher die Bestellungen kommen.',
      secret:
        'Dieses Geheimnis passt nicht. Bitte kopieren Sie es noch einmal aus den Einstellungen des Absenders.',
      sku: 'Bitte geben Sie den Artikel in einer Zeile ein, wie der Shop ihn nennt.',
      mail: 'Bitte wählen Sie, wer den Schlüssel sendet.',
      rules: 'Bitte wählen Sie für jedes Ereignis eine der Folgen.',
      scope: 'Bitte wählen Sie, wer es braucht.',
      overlap: 'Bitte wählen Sie, wann der bisherige Schlüssel endet.',
      vendor: 'Bitte geben Sie nur Buchstaben und Ziffern ein, zum Beispiel Acme.',
      type: 'Bitte wählen Sie einen Eintrag der Liste.',
      base_url: 'Tragen Sie unter Einstellungen eine Adresse Ihrer Website ein, die mit https:// beginnt.',
      about: 'Bitte geben Sie ein, wonach gesucht wird, mit höchstens 255 Zeichen.',
    },
  },
};

/** Schreibt eine Zahl vor ein Hauptwort: „unbegrenzt viele“ Plätze. */
export function many(written: string): string {
  return written === common.unlimited ? `${written} viele` : written;
}
