import type { Translated } from '../../translated';
import type { moved as en } from '../en/moved';

const FIELDS: Record<string, string> = {
  status: 'den Zustand',
  expiry: 'das Ende',
  customer: 'die Adresse des Kunden',
};

export const moved: Translated<typeof en> = {
  leftOut: {
    'no-subscription': 'eine Download-ID, deren Benutzer kein Abonnement hat, das umzieht',
    'later-row': 'der Benutzer hat eine andere Hauptzeile desselben Tarifs, die später endet',
    renewal: 'eine Verlängerung, die schon in der Hauptzeile ihres Tarifs steht',
    'plan-gone': 'ihren Tarif gibt es dort nicht mehr',
    pending: 'sie wurde nie bezahlt (offen)',
    'cancelled-unpaid': 'sie wurde storniert, bevor sie bezahlt war',
    'nothing-moved': 'eine Download-ID, deren Benutzer nichts hat, das umzieht',
    'level-gone': 'ihr Level gibt es dort nicht mehr',
    'new-or-pending': 'sie wurde nie bezahlt (neu oder offen)',
    'never-paid': 'sie wurde nie bezahlt',
    'product-gone': 'ihr Produkt gibt es dort nicht mehr',
    'no-product': 'das Produkt fehlt',
    'no-key': 'der Schlüssel fehlt',
    stock: 'Vorrat, der nie verkauft wurde',
    encrypted:
      'der Schlüssel ist verschlüsselt: Exportieren Sie die Lizenzen im Plugin, das sie entschlüsselt',
    'no-days': 'valid_for: das ist keine Anzahl von Tagen',
    'days-from-nowhere': 'gültig für eine Anzahl von Tagen, deren erster Tag nicht bekannt ist',
    cells: 'die Zeile hat eine andere Anzahl von Zellen als die erste',
    'other-row': 'eine andere Zeile derselben Lizenz zählt',
    totals: 'die Zeile hat Summen',
    'no-license-key': 'der Verkauf hat keinen Lizenzschlüssel',
    preorder: 'eine Vorbestellung, die noch nicht abgebucht ist',
    recurrence: 'dieser Turnus ist nicht bekannt',
    'empty-serial': 'die Seriennummer ist leer',
    'several-lines': 'die Seriennummer hat mehrere Zeilen: Welche der Schlüssel ist, ist nicht bekannt',
    'bad-reference': 'ihre Nummer dort passt in keine Referenz',
    'bad-end': 'ihr Ende ist kein Datum',
    'same-id': 'ihre Nummer ist die einer früheren Zeile',
    'keys-elsewhere':
      'alle ihre Schlüssel gehören anderen Lizenzen, und entweder gilt sie nicht mehr, oder jene Lizenzen waren schon hier',
    'key-as-number':
      'das ist kein Schlüssel: Es ist eine Zahl, wie eine Tabellenkalkulation sie zeigt. Exportieren Sie die Tabelle noch einmal, mit der Spalte als Text',
    'key-too-short': 'das ist kein Schlüssel: Er hat zu wenige Zeichen',
    'key-of-digits': 'das ist kein Schlüssel: Er hat nur Ziffern, und zu wenige',
    'key-not-typed':
      'das ist kein Schlüssel: Er ist länger als 350 Bytes oder hat Zeichen, die sich nicht tippen lassen',
    'many-sites': (most) => `sie hat mehr als ${most} Websites`,
    'long-plan': (most) => `der Name ihres Tarifs hat mehr als ${most} Zeichen`,
    'no-date': (column) => `${column}: das ist kein Datum`,
    'no-number': (column) => `${column}: das ist keine Anzahl von Websites`,
    'unknown-state': (column) => `${column}: dieser Zustand ist nicht bekannt`,
    'left-out-plan': (plan) => `Tarif ${plan} wird nach Ihrer Wahl ausgelassen`,
    'unsaid-plan': (plan) => `Tarif „${plan}“ ist noch nicht zugeordnet`,
  },
  warnings: {
    'unpublished-key':
      'Eine Download-ID, die nicht veröffentlicht ist, wird importiert und gilt: Auch Membership Pro hat das nicht beachtet',
    'unpublished-ends': 'Eine Download-ID, die nicht veröffentlicht ist, wird als beendet importiert',
    'no-order': 'Sie gehört einem Kunden, aber zu keiner Bestellung',
    'no-state':
      'Der Export hat keinen Zustand für sie, wie bei abgeschalteten Schlüsseln: Sie wird als ausgesetzt importiert',
    'user-gone': 'Der Benutzer wurde gelöscht: Seine Download-IDs galten dort nicht mehr',
    'no-states':
      'Diese Tabelle hat keine Zustände: Erstattete oder entzogene Lizenzen werden als aktiv importiert',
    'renews-elsewhere':
      'Ein Abonnement, das bei Gumroad weiterläuft: Sein Ende ist das der letzten Abbuchung',
    trial:
      'Eine kostenlose Probezeit, die noch nicht bezahlt ist: Sie endet spätestens einen Monat nach ihrem Beginn. Importieren Sie noch einmal, um spätere Zahlungen zu übernehmen',
    'users-cells':
      'Eine Zeile der Benutzer oder Bestellungen hat eine andere Anzahl von Zellen als die erste und wird nicht gelesen',
    'no-end': 'Eine Benutzergruppe hat kein Ende: Die Lizenz ist unbefristet',
    'several-seats':
      'Für mehrere Plätze verkauft, die der Export nicht zählt: Es gilt die Grenze des Tarifs hier',
    'site-twice': 'Eine Website liegt auf zwei Lizenzen eines Produkts: Sie belegt bei jeder einen Platz',
    'key-twice':
      'Eine andere Zeile hat denselben Schlüssel und behält ihn. Eine Lizenz ohne weiteren Schlüssel bekommt einen neuen: Senden Sie ihn dem Kunden',
    'key-taken': 'Der Schlüssel gehört hier zu einer anderen Lizenz und bleibt dort',
    'key-moves': 'Ein Schlüssel kommt von einer Lizenz, die früher importiert wurde',
    'case-twin':
      'Der Schlüssel unterscheidet sich von einem anderen nur in Großschreibung oder Bindestrichen: Jeder gilt nur so, wie er geschrieben ist',
    'own-key': 'Sie bekommt einen neuen Hauptschlüssel: Dort gibt es keinen für die ganze Lizenz',
    'key-not-kept': 'Neue Schlüssel lassen sich nie anzeigen, weil dieser Dienst keine Schlüssel aufbewahrt',
    'ended-key': 'Einer ihrer Schlüssel gilt nicht mehr und wird als beendet importiert',
    'over-limit': 'Mehr Websites als Plätze: Alle bleiben, und neue werden abgelehnt',
    'main-key-ended': 'Ihr Hauptschlüssel gilt dort nicht mehr: Geben Sie ihr hier einen neuen',
    'ends-before-starts': 'Sie endet, bevor sie beginnt. Sie wird als beendet importiert',
    'begins-later':
      'Im Voraus gekauft: Sie beginnt erst später. Sie wird als ausgesetzt importiert, und der erste Import nach diesem Tag gibt sie frei',
    'ended-early': 'Dort heißt sie abgelaufen, mit einem Ende, das erst kommt. Sie endet jetzt',
    'no-customer':
      'Dort steht keine Adresse des Kunden. Ohne sie kann er seine Seite nicht öffnen und bekommt keine Mail',
    'bad-customer': 'Der Text des Kunden ist keine E-Mail-Adresse und bleibt weg',
    'bad-site': 'Eine Website, die keine Adresse ist, bleibt weg',
    'not-sent-whole':
      'Der Schlüssel lässt sich in Joomlas Feld „Downloadschlüssel“ nicht verwenden: Zeichen davon gehen verloren',
    'bad-metadata':
      'Ein Text ist zu lang für die Metadaten, hat einen Zeilenumbruch oder einen Lizenzschlüssel und bleibt weg',
    'no-cover': (plans, first, key) =>
      `Keiner der Tarife ${plans} enthält die anderen: Die Schlüssel des Kunden gehen an ${first}, und jede andere Lizenz bekommt einen neuen Schlüssel. Ein Tarif kann alle enthalten: „${key}=TARIF“`,
  },
  refusals: {
    'no-source': (name, known) =>
      `Ein System „${name}“ gibt es hier nicht, sondern ${known}. csv liest eine Tabelle jedes anderen Systems.`,
    'no-file': (title) => `Die Datei von ${title} fehlt.`,
    'file-not-read': (title) =>
      `${title} wird aus den Tabellen seiner Website gelesen, nicht aus einer Datei. Lassen Sie die Datei weg.`,
    'users-not-read': (title, readers) =>
      `Der Export von ${title} braucht keine zweite Tabelle mit Benutzern oder Bestellungen; nur ${readers} brauchen eine. Lassen Sie sie weg.`,
    'empty-file': 'Die Datei ist leer. Es wurde nichts importiert.',
    'large-file':
      'Die Datei ist größer als 128 MB. Exportieren Sie sie in Teilen. Es wurde nichts importiert.',
    'not-text': (line) =>
      `Die Datei ist weder UTF-8 noch Windows-1252 (ab Zeile ${line} oder etwas danach). Speichern Sie sie noch einmal als „CSV UTF-8“. Es wurde nichts importiert.`,
    'open-quote': (line) =>
      `Zeile ${line}: Eine Zelle beginnt mit einem Anführungszeichen und endet mit keinem. Es wurde nichts importiert.`,
    'text-after-quote': (line) =>
      `Zeile ${line}: Hinter dem Anführungszeichen, das eine Zelle beendet, steht noch Text; innerhalb einer Zelle schreibt man es doppelt. Es wurde nichts importiert.`,
    'quote-inside': (line) =>
      `Zeile ${line}: In einer Zelle, die nicht mit einem Anführungszeichen beginnt, steht eines. Es wurde nichts importiert.`,
    'long-row': (line) =>
      `Zeile ${line}: Die Zeile ist länger als 1 MB. Vielleicht fehlt ein Anführungszeichen. Es wurde nichts importiert.`,
    'many-cells': (line, most) =>
      `Zeile ${line}: Sie hat mehr als ${most} Zellen. Es wurde nichts importiert.`,
    'many-lines': (most) => `Die Datei hat mehr als ${most} Zeilen. Es wurde nichts importiert.`,
    'many-plans': (most) =>
      `Die Datei hat mehr als ${most} Tarife: Vielleicht stehen die Tarife in einer anderen Spalte. Es wurde nichts importiert.`,
    'no-row': (line) =>
      `Zeile ${line}: Das ist keine Zeile mit Werten, die Kommas trennen. Es wurde nichts importiert.`,
    'column-twice': (name) => `Die Datei hat zwei Spalten „${name}“. Es wurde nichts importiert.`,
    'several-columns': (field, ...columns) =>
      `Welche Spalte enthält ${FIELDS[field] ?? field}: ${columns.map((name) => `„${name}“`).join(' oder ')}? Es wurde nichts importiert.`,
    'no-key-column':
      'Welche Spalte der ersten Zeile enthält die Lizenzschlüssel? Es wurde nichts importiert.',
    'no-column': (name, columns) =>
      `In der ersten Zeile, in der die Namen der Spalten stehen müssen, fehlt die Spalte „${name}“ (sie hat ${columns === '1' ? 'eine Spalte' : `${columns} Spalten`}). Es wurde nichts importiert.`,
    'other-table': (title, ...missing) =>
      `Das ist nicht die Tabelle, die ${title} exportiert: In ihrer ersten Zeile fehlt die Spalte ${missing.map((names) => names.replaceAll('|', ' oder ')).join(', ')}. Es wurde nichts importiert.`,
    'foreign-column': (title, column) =>
      `Das ist nicht die Tabelle, die ${title} exportiert: Sie hat eine Spalte „${column}“, wie die eines anderen Systems. Es wurde nichts importiert.`,
    'other-people': (...missing) =>
      `Das ist weder eine Liste von Benutzern noch von Bestellungen: In ihrer ersten Zeile fehlt die Spalte ${missing.map((names) => names.replaceAll('|', ' oder ')).join(', ')}. Es wurde nichts importiert.`,
    'which-dates': (column, day, asDay, month, asMonth) =>
      `Was steht in der Spalte „${column}“ zuerst: der Tag (${day} ist ${asDay}) oder der Monat (${month} ist ${asMonth})? Es wurde nichts importiert.`,
    'no-tables': (title, end) =>
      `Die Tabellen von ${title} sind nicht in dieser Datenbank, oder ihr Benutzer darf sie nicht lesen: Es gibt keine Tabelle, deren Name auf ${end} endet.`,
    'several-sites': (...prefixes) =>
      `In dieser Datenbank sind mehrere Websites: ${prefixes.join(', ')}. Wählen Sie eine.`,
    'bad-prefix': 'Ein Präfix hat Buchstaben, Ziffern und Unterstriche, wie jos_.',
    'missing-columns': (title, missing) =>
      `Die Tabellen von ${title} sind nicht so, wie sie bekannt sind. Es fehlt: ${missing}. Entweder ist seine Version eine andere, oder der Datenbankbenutzer des Dienstes darf sie nicht lesen.`,
    'no-flag': (table) => `Die Tabelle ${table} hat weder eine Spalte „published“ noch „enabled“.`,
    'several-components': (names) =>
      `Die Website hat Abonnements mehrerer Komponenten: ${names}. Ihre Download-IDs lassen sich nicht nacheinander übernehmen: Entfernen Sie die Zeilen derer, die nicht mehr in Gebrauch sind.`,
    'confirm-columns': (title, columns) =>
      `Die Tabellen von ${title} sind nicht sicher bekannt. Gefunden wurden diese Spalten: ${columns}. Sehen Sie sich an, als was sie gelesen werden, und bestätigen Sie sie dann.`,
    'map-form':
      'Schreiben Sie die Tarife als DORT=HIER, mit Kommas dazwischen: 3=7,4=8. 9=- lässt einen aus, 5=new:2:1y legt einen mit 2 Websites für ein Jahr an.',
    'map-twice': (key) => `„${key}“ steht zweimal da.`,
    'no-plan-there': (key, known) =>
      known === ''
        ? `Dort gibt es keinen Tarif „${key}“.`
        : `Dort gibt es keinen Tarif „${key}“, sondern ${known}.`,
    'no-plan-here': (id) => `Hier gibt es keinen Tarif ${id}.`,
    'no-product-here': (id) => `Hier gibt es kein Produkt ${id}.`,
    'bad-rows': (count, ...rows) =>
      `${count === '1' ? 'Eine Zeile passt' : `${count} Zeilen passen`} nicht (${rows.join(', ')}${Number(count) > rows.length ? ', ...' : ''}). Die Vorschau nennt die Gründe. Es wurde nichts importiert.`,
    'unsaid-plans': (_map, ...plans) =>
      `Es wurde nichts importiert: Ordnen Sie diese Tarife zu, die Lizenzen haben: ${plans.join(', ')}.`,
    'no-category': (id) => `Dort gibt es keine Kategorie ${id}.`,
    meanwhile:
      'Inzwischen wurde eine andere Lizenz mit einem dieser Schlüssel oder einer dieser Referenzen ausgestellt. Es wurde nichts importiert. Versuchen Sie es noch einmal.',
    'no-import': (id) => `Einen Umzug ${id} gibt es nicht.`,
    'undone-before': (id) => `Umzug ${id} ist schon zurückgenommen.`,
  },
  stays: {
    activated: 'sie wurde aktiviert',
    downloaded: 'mit ihr wurde etwas heruntergeladen',
    ordered: 'zu ihr gehört eine Bestellung',
    changed: 'sie wurde geändert',
    'older-key': 'sie hat einen Schlüssel, den vorher eine andere Lizenz hatte',
    'later-run': 'ein späterer Umzug hat sie geändert: Nehmen Sie ihn zurück, um sie zu entfernen',
    'earlier-run': 'ein früherer Umzug hat sie importiert, und die Änderungen durch diesen bleiben',
    'in-use': 'etwas anderes benutzt es noch',
    'in-shop': 'ein Shop verkauft es',
    included: 'ein anderes Produkt enthält es',
  },
};
