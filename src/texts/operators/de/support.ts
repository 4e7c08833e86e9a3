import { describeStored, describeWait, type NoMailReason } from '../failures';
import { capitalized } from '../../case';
import { german, states, thing, type Thing } from '../../customers/de/words';
import { orderEvents } from './orders';
import type { LiveStatus, NextPayment } from '../../../licensing/core/states';
import type {
  EndedKey,
  KeyName,
  MeantKey,
  Named,
  RequestFacts,
  SitePlace,
  StateFacts,
  Name,
} from '../../../support/finding-model';
import { isOfDownload, type SupportTexts } from '../support';
import { failures } from './failures';
import { history } from './history';
import { settings } from './settings';
import { countOf } from '../../../base/count-of';

/** The texts for support, in German. Joomla's messages stay in English, as Joomla and cURL write them. */

const TRY_AGAIN = () => 'Der Kunde kann es noch einmal versuchen.';

const OVER_LIMIT =
  'Diese Adresse hat mehr Anfragen gesendet, als das Limit erlaubt (je Zeitfenster wird nur die erste Ablehnung aufgezeichnet)';

export const support: SupportTexts = {
  slotsUsed,
  findings: {
    ACTIVE: ({
      expires_at,
      next_payment,
      payment_failed_at,
      activation_type,
      activation_limit,
      activations_used,
      ...facts
    }) =>
      `${license(facts)} ist ${until(expires_at, next_payment)}${failed(payment_failed_at)}. ${slotsUsed(activations_used, activation_limit)}, gezählt je ${thing(activation_type).one}.`,
    EXPIRED: ({ expires_at, payment_failed_at, still_downloads, security_updates, all_returned, ...facts }) =>
      `${license(facts)} ist${on(expires_at)} abgelaufen${failed(payment_failed_at)}${refusals(facts)}.${still_downloads ? ` Nach ihrem Tarif lädt sie weiterhin, was bis dahin veröffentlicht wurde${security_updates ? ', und Sicherheitsversionen der Zweige, die zur Lizenz gehörten' : ''}.` : ''}${all_returned ? ' Alle Zahlungen wurden erstattet oder zurückgebucht, deshalb lädt sie nichts und bekommt keine Mail.' : ''}`,
    SUSPENDED: (facts) => `${license(facts)} wurde${stopped(facts)} ausgesetzt${end(facts)}`,
    REVOKED: (facts) => `${license(facts)} wurde${stopped(facts)} endgültig entzogen${end(facts)}`,
    CANCELLED: (facts) => `${license(facts)} wurde${stopped(facts)} endgültig storniert${end(facts)}`,
    COVERS: ({ product_id, includes }) =>
      `Die Lizenz gilt auch für alles, was Produkt ${product_id} enthält: ${names(includes)}.`,
    SLOTS_FULL: ({ license_id, activation_limit, activations_used }) =>
      `${allSlots(activation_limit, `der Lizenz ${license_id}`)} belegt (${activations_used}). Was einen Platz hat, behält ihn; weitere sind nicht möglich.`,
    FREE_SITES: ({ sites, more }) =>
      sites.map(freeSites).join(' ') + (more ? ' Weitere Websites zählen ebenfalls nicht.' : ''),
    NOTHING_PUBLISHED: ({ product_id, product, includes }) =>
      `Produkt ${product_id} (${product}) hat keine veröffentlichte Version${includes.length > 0 ? ', und nichts, was es enthält, hat eine' : ''}. Niemand kann etwas herunterladen.`,
    OFFER_WITHDRAWN: ({ version, latest }) =>
      `Version ${version} wurde zurückgezogen. Eine Website, der sie angeboten wurde, meldet „Invalid extension update“, bis sie wieder nach Updates sucht${latest === null ? '' : `; die neueste ist ${latest}`}.`,
    MAIL_NOT_DELIVERED: ({ given_up, queued_at, attempts, reason, status }) =>
      `Die Mail vom ${day(queued_at)} mit dem Schlüssel ${given_up ? 'wurde nicht zugestellt' : 'wurde noch nicht angenommen und wird weiter versucht'}${attempts === 0 ? '' : `, nach ${attempts === 1 ? 'einem Versuch' : `${attempts} Versuchen`}`}: ${notMailed(status === null ? reason : `${reason} ${status}`)}.`,
    SITES_RUN: ({ sites }) =>
      `Installiert, wie von den Websites gemeldet: ${sites.map(({ site, version, told_at }) => `${version} auf ${site} (${day(told_at)})`).join(', ')}.`,
    VALIDATED: ({ last_check_at, last_check_ip, check_count }) =>
      `Der Schlüssel der Lizenz wurde zuletzt am ${moment(last_check_at)} von ${last_check_ip ?? 'einer unbekannten Adresse'} geprüft, insgesamt ${check_count}-mal. Dort ist der richtige Schlüssel eingetragen.`,
    KEY_REPLACED: (facts) => askedKey(facts),
    KEY_ENDED: (facts) => askedKey(facts),
    KEY_MISTYPED: (facts) => askedKey(facts),
    KEY_ENDS: ({ successor, ends_at, license_id, ...facts }) =>
      successor
        ? `${thisKey(facts)} endet am ${day(ends_at)}. An seine Stelle ist ein anderer getreten${endsIn(successor)}.`
        : `${thisKey(facts)} ist ${keyName(facts)} der Lizenz ${license_id} und endet am ${day(ends_at)}.`,
    KEY_SHARED: ({ key_hint, networks, days, slots }) =>
      `Der Schlüssel${key_hint === null ? '' : ` mit dem Ende ${key_hint}`} wird vermutlich geteilt: Er wurde in ${days} Tagen in ${networks} Netzen benutzt und hat ${slots === 1 ? 'einen Platz' : `${slots} Plätze`}.`,
    KEY_SLOTS_FULL: ({ activation_limit, activations_used, ...key }) =>
      `${allSlots(activation_limit, `von ${keyName(key)}`)} belegt (${activations_used}). Mit diesem Schlüssel ist kein weiterer möglich.`,
    KEY_SLOTS: ({ activation_limit, activations_used, ...key }) =>
      `Belegte Plätze von ${keyName(key)}: ${activations_used} von ${activation_limit}.`,
    // The sentence does not repeat the search text, which may be a key.
    UNKNOWN_KEY: () =>
      'Keine Lizenz hat diese Nummer, diesen Schlüssel oder ein solches Ende. Es ist auch nicht die E-Mail eines Kunden, eine Bestellnummer oder eine Website, die aktiviert oder kürzlich abgelehnt wurde.',
    NEAR_EMAIL: ({ license_id, customer, matched }) =>
      `Kein Kunde hat genau diese E-Mail. Lizenz ${license_id} hat sie ${NAMES[matched]}: ${customer}.`,
    SEVERAL_LICENSES: ({ matched, more }) => {
      const found = matched.flatMap(({ license_ids }) => license_ids).length;
      const fit = matched.some(({ by }) => ['beginning', 'near', 'provider'].includes(by))
        ? 'passen ungefähr'
        : 'passen';
      const groups = matched.map(({ by, license_ids }) => `${license_ids.join(', ')} ${NAMES[by]}`);
      return `${more ? `Mehr als ${found} Lizenzen ${fit}. Die ersten` : `${found} Lizenzen ${fit}`}: ${groups.join('; ')}.`;
    },
    ALSO_A_REFERENCE: ({ license_id, reference }) =>
      `Auch eine Bestellung hat die Nummer ${reference}: die der Lizenz ${license_id}.`,
    ORDER: ({ shop, order, issued, renewed, event, event_at }) => {
      const did = [
        ...(issued.length > 0 ? [`${licences(issued)} ausgestellt`] : []),
        ...(renewed.length > 0 ? [`${licences(renewed)} verlängert`] : []),
      ];
      return `Aus Bestellung ${order} des Shops ${shop}: ${did.join(' und ')}. Ihr letztes Ereignis ist „${orderEvents[event] ?? event}“ vom ${day(event_at)}.`;
    },
    ORDER_MAIL: ({ shop, order, state, to, at, reason }) => {
      const keys = `Die Schlüssel der Bestellung ${order} des Shops ${shop}`;
      if (state === 'sent') return `${keys} wurden am ${moment(at ?? '')} an ${to ?? '-'} gesendet.`;
      if (state === 'failed')
        return `${keys} konnten nicht an ${to ?? '-'} gesendet werden (${notMailed(reason)}).`;
      if (state === 'queued')
        return `${keys} sind unterwegs an ${to ?? '-'}${reason === null ? '' : `; der letzte Versuch schlug fehl (${notMailed(reason)})`}.`;
      return `${keys} wurden nicht gesendet: ${failures.keysNotMailed[reason as NoMailReason]}.`;
    },
    ORDER_WAITS: ({ shop, order, line, waits_for, sku, renews }) =>
      `Bestellung ${order} des Shops ${shop} wartet bei Position ${line}: ${describeWait(failures, waits_for, (waits_for === 'unknown_order' ? renews : sku) ?? '')}.`,
    ORDER_LINE_UNUSABLE: ({ shop, order, line, problem }) =>
      `Position ${line} der Bestellung ${order} des Shops ${shop} lässt sich so nicht verarbeiten: ${describeWait(failures, problem)}.`,
    ORDER_TOO_LARGE: ({ shop, order }) =>
      `Bestellung ${order} des Shops ${shop} wartet: Sie nennt mehr als 100 Positionen.`,
    ORDER_FAILED: ({ shop, order, reason, failed_at, retry_at }) =>
      `Bestellung ${order} des Shops ${shop} ließ sich seit dem ${moment(failed_at ?? '')} nicht verarbeiten (${reason}). Der nächste Versuch ist am ${moment(retry_at ?? '')}.`,
    ORDER_ISSUED_NOTHING: ({ shop, order, event, reason }) =>
      `Bestellung ${order} des Shops ${shop} hat keine Lizenz: ${NOT_ISSUED[reason] ?? `ihr letztes Ereignis ist „${orderEvents[event] ?? event}“`}.`,
    IN_ACCESS_LOG: ({ last_at, access }, tell) =>
      `Dies ist auf keiner Lizenz aktiviert, steht aber im Zugriffsprotokoll, zuletzt am ${moment(last_at)}: ${tell(access.code, access.facts)}`,
    ONLY_NEARBY: ({ license_id, log_days }) =>
      `Mit dem Schlüssel der Lizenz ${license_id} ist kein Download und keine Ablehnung aufgezeichnet (Einträge werden ${countOf(log_days, 'Tag', 'Tage')} aufbewahrt). Was folgt, kam mit einem ähnlichen Schlüssel oder aus einem Netz, in dem sie benutzt wird.`,
    NOTHING_RECORDED: ({ about, license_id, ip, log_days }) => {
      const what = {
        license: `Zu Lizenz ${license_id ?? ''}`,
        key: 'Zu diesem Schlüssel',
        hint: 'Zu einem Schlüssel mit diesem Ende',
        ip: `Von ${ip ?? ''}`,
      };
      return `${what[about]} ist kein Download und keine Ablehnung aufgezeichnet (Einträge werden ${countOf(log_days, 'Tag', 'Tage')} aufbewahrt). Wenn ein Update fehlschlug, kam seine Anfrage nicht bis zu diesem Dienst, oder es scheiterte nach dem Download.`;
    },
    CHECKED: ({ request }) =>
      `Eine Abfrage durch ${who(request)} ergab, dass Version ${request.version ?? '?'}${request.license_id === null ? '' : ` mit Lizenz ${request.license_id}`} heruntergeladen werden darf.`,
    GRANTED: ({ request }) => `${granted(request)}.`,
    GRANTED_REPEATEDLY: ({ request, count: times }) =>
      `${granted(request)}, und zwar ${times}-mal. Joomla fragt bei jedem Klick auf „Aktualisieren“ einmal: Entweder teilen sich mehrere Websites diese Adresse, oder das Paket kam an und wurde nicht installiert.`,
  },
  refused: (request, because) =>
    `${attempt(request)}${request.other_key ? ' mit einem anderen Schlüssel' : ''} wurde für ${who(request)} ${request.endpoint === 'check' ? 'verneint' : 'abgelehnt'}: ${because}.`,
  causes: {
    RATE_LIMITED: () => OVER_LIMIT,
    RATE_LIMITED_PROXY: ({ loopback }) =>
      `${OVER_LIMIT}. Die Adresse ist ${loopback ? 'die dieses Rechners' : 'in Ihrem eigenen Netz'}. Entweder läuft die anfragende Website oder das Programm ebenfalls ${loopback ? 'auf diesem Rechner' : 'in diesem Netz'}, oder nginx oder ein CDN davor gibt die Adressen der Kunden nicht an den Dienst weiter, sodass sich alle ein Limit teilen`,
    BAD_IDENTIFIER: ({ activation_type: type }) =>
      `${notValid(type)}, und der Tarif zählt ${thing(type).many}`,
    MALFORMED: () =>
      'Der Schlüssel oder die Kennung fehlt, ein Feld hat einen unzulässigen Wert, oder der Inhalt ist nicht lesbar',
    BAD_PRODUCT_ID: () => 'Am Ende der Download-Adresse fehlt die Nummer des Produkts',
    NO_KEY: ({ request: { joomla_version } }) =>
      `Es wurde kein Schlüssel gesendet${joomla_version === null ? '' : '. Joomla lässt ihn weg, wenn downloadurl ein „#“ enthält, wenn die Anfrage umgeleitet wurde (zum Beispiel von http auf https) und wenn die Erweiterung kein Feld für den Schlüssel hat'}`,
    KEY_REPLACED: (facts) => keyCause(facts),
    KEY_ENDED: (facts) => keyCause(facts),
    KEY_MISTYPED: (facts) => keyCause(facts),
    UNKNOWN_KEY: ({ request: { key_hint } }) =>
      `Der Schlüssel ist unbekannt${key_hint === null ? ' und hat nicht die Form der Schlüssel dieses Dienstes, daher ist nichts davon aufgezeichnet (Joomla schneidet einen Schlüssel bei „&“ und „#“ ab)' : ''}`,
    EXPIRED: ({ was, still, expires_at, older_versions, request: { version } }) => {
      if (!still) return `${usedToBe(was)} und ist jetzt abgelaufen`;
      const expired = `Die Lizenz ist${on(expires_at)} abgelaufen`;
      return older_versions
        ? `${expired}, und ${version ? `Version ${version}` : 'jede Version'} wurde danach veröffentlicht. Frühere Versionen lädt sie weiterhin`
        : expired;
    },
    SUSPENDED: ({ was, still }) =>
      still ? 'Die Lizenz ist ausgesetzt' : `${usedToBe(was)} und ist jetzt ausgesetzt`,
    REVOKED: ({ was, still }) =>
      still ? 'Die Lizenz ist endgültig entzogen' : `${usedToBe(was)} und ist jetzt entzogen`,
    CANCELLED: ({ was, still }) =>
      still ? 'Die Lizenz ist endgültig storniert' : `${usedToBe(was)} und ist jetzt storniert`,
    ACTIVE_AGAIN: ({ was }) => `${usedToBe(was)} und ist jetzt wieder aktiv`,
    COVERED_SINCE: ({ product }) =>
      `Die Lizenz galt nicht für Produkt ${product.id} (${product.name}), inzwischen gilt sie dafür`,
    WRONG_PRODUCT: ({ product, includes, asked, request: { product_id } }) =>
      `Die Lizenz gilt für Produkt ${product.id} (${product.name})${includes.length > 0 ? `, das ${names(includes)} enthält` : ''}, angefragt wurde ${asked ? `Produkt ${asked.id} (${asked.name})` : `Produkt ${product_id ?? '?'}`}`,
    OTHER_KEY: ({ activation_type, activated_by, ...key }) =>
      `${activation_type === 'domain' ? 'Diese Website' : 'Dieser Platz'} wurde mit einem anderen Schlüssel aktiviert (${activated_by === null ? 'dem Hauptschlüssel' : `Schlüssel ${activated_by}`}), und ${keyName(key)} gibt nur Plätze frei, die mit ihm belegt wurden`,
    SLOTS_FULL: ({ license_status, activation_limit, key, place }) =>
      license_status === 'active'
        ? `${allSlots(activation_limit)} belegt${key ? `; belegte Plätze von ${keyName(key)}: ${key.activations_used} von ${key.activation_limit}` : ''}${why(place)}`
        : `Alle Plätze waren belegt. Die Lizenz ist jetzt ${states[license_status]}`,
    KEY_SLOTS_FULL: ({ license: all, place, activation_limit, activations_used, ...key }) =>
      `${allSlots(activation_limit, `von ${keyName(key)}`)} belegt (${activations_used}). Belegte Plätze der Lizenz: ${all.activations_used}${all.activation_limit === 0 ? ', unbegrenzt' : ` von ${all.activation_limit}`}${why(place)}`,
    SLOT_FREE: ({ free_site, request }) =>
      `${slotThen(request)}. ${free_site ? 'Diese Website zählt jetzt nicht' : 'Jetzt ist ein Platz frei'}`,
    HELD: () =>
      'Eine Datei für den Betrieb ohne Netz hält dies fest, oder eine Testsite, die mit entfernt würde',
    NOT_ACTIVATED: ({ license_status, request }) => {
      if (license_status !== 'active')
        return `${slotThen(request)}. Die Lizenz ist jetzt ${states[license_status]}`;
      return (
        slotThen(request) + (request.endpoint === 'deactivate' ? ', es gab also nichts freizugeben' : '')
      );
    },
    ACTIVATED_SINCE: ({ request }) =>
      `${slotThen(request)}. Jetzt ist ${request.identifier ?? 'dies'} aktiviert`,
    NOTHING_PUBLISHED: ({ includes }) =>
      `Das Produkt hat keine veröffentlichte Version${includes.length > 0 ? `; die Lizenz gilt auch für ${names(includes)}, jedes unter seiner eigenen Nummer` : ''}`,
    PUBLISHED_SINCE: ({ version, request }) =>
      request.version === version
        ? `Version ${version} war nicht veröffentlicht, jetzt ist sie es`
        : `Das Produkt hatte keine veröffentlichte Version, jetzt ist Version ${version} veröffentlicht`,
    VERSION_NOT_PUBLISHED: ({ latest, draft, request: { version } }) =>
      draft
        ? `Version ${version ?? '?'} ist ein Entwurf, ${others(latest)}`
        : `Version ${version ?? '?'} war nicht veröffentlicht, ${others(latest)}`,
    VERSION_WITHDRAWN: ({ latest, withdrawn_then, request: { version } }) =>
      `Version ${version ?? '?'} war ${withdrawn_then ? 'zurückgezogen' : 'nicht veröffentlicht und ist jetzt zurückgezogen'}, ${others(latest)}`,
    PACKAGE_MISSING: () => 'Die Datei des Pakets fehlte im Paketordner, oder der Dienst darf sie nicht lesen',
    OMITTED: () =>
      'Von dieser Adresse wurden in einer Minute viele verschiedene Anfragen abgelehnt, und nur die ersten werden einzeln aufgezeichnet',
    REFUSED: ({ request: { outcome } }) => `Der Dienst antwortete mit ${outcome}`,
  },
  advice: {
    RATE_LIMITED: ({ request: { endpoint } }) =>
      `Eine Minute warten, dann noch einmal versuchen. Wenn sich viele Kunden diese Adresse teilen, erhöhen Sie „${isOfDownload(endpoint) ? settings.names.download_rate_limit : settings.names.rate_limit}“ unter Einstellungen.`,
    BAD_IDENTIFIER: ({ activation_type }) =>
      `Die Software des Kunden muss ${sent(activation_type)} senden. Informieren Sie deren Entwickler.`,
    MALFORMED: () =>
      'Die Software des Kunden sendet nicht, was die API verlangt. Informieren Sie deren Entwickler.',
    BAD_PRODUCT_ID: () =>
      'downloadurl im Update-XML ist falsch (meist fehlt ein „?“ vor dem, was auf die Nummer folgt).',
    NO_KEY: ({ request: { joomla_version } }) =>
      joomla_version === null
        ? 'Die Adresse braucht den Schlüssel an ihrem Ende, nach „?dlid=“.'
        : 'Prüfen Sie das Update-XML. Die Erweiterung braucht <dlid prefix="dlid=" suffix=""/> in ihrem Manifest.',
    KEY_MISTYPED: ({ license_status, key_ended, request }) =>
      license_status !== 'active' || key_ended || request?.other_key
        ? null
        : 'Der Kunde sollte den ganzen Schlüssel noch einmal einfügen, in Joomla unter System > Aktualisieren > Aktualisierungsquellen, Feld Downloadschlüssel.',
    UNKNOWN_KEY: () =>
      'Fragen Sie den Kunden nach dem ganzen Schlüssel oder nach seiner E-Mail. Von einem Schlüssel mit weniger als 16 Zeichen ist kein Ende bekannt.',
    WRONG_PRODUCT: ({ request: { endpoint } }) =>
      isOfDownload(endpoint)
        ? 'Der Kunde hat den Schlüssel bei der Aktualisierungsquelle einer anderen Erweiterung eingefügt, oder downloadurl im Update-XML nennt das falsche Produkt.'
        : 'Der Kunde hat den Schlüssel einer anderen Erweiterung eingegeben, oder die Erweiterung sendet die falsche product_id.',
    ORDER_TOO_LARGE: () =>
      'Wenn das stimmt, bestätigen Sie es: „Bestätigen und verarbeiten“ auf der Seite der Bestellung.',
    ORDER_LINE_UNUSABLE: () =>
      'Ordnen Sie sie einer Lizenz zu, stellen Sie eine dafür aus, oder ignorieren Sie sie: Die Seite „Nicht zugeordnete Zahlungen“ bietet alles drei an.',
    COVERED_SINCE: TRY_AGAIN,
    ACTIVE_AGAIN: TRY_AGAIN,
    SLOT_FREE: TRY_AGAIN,
    PUBLISHED_SINCE: TRY_AGAIN,
    NOT_ACTIVATED: ({ license_status, request: { endpoint } }) =>
      license_status !== 'active' || endpoint === 'deactivate'
        ? null
        : 'Die Software des Kunden muss dies zuerst aktivieren.',
    VERSION_NOT_PUBLISHED: ({ draft }) =>
      draft ? null : 'Das Update-XML nennt eine Version, die nicht heruntergeladen werden kann.',
    VERSION_WITHDRAWN: () => 'Eine Website führt sie auf, bis sie wieder nach Updates sucht.',
    NOTHING_RECORDED: () =>
      'Fragen Sie den Kunden, was Joomla gemeldet hat, und suchen Sie es in der Liste unten.',
    GRANTED_REPEATEDLY: () =>
      'Fragen Sie den Kunden, was Joomla gemeldet hat, und lesen Sie unten CHECKSUM, NO_PACKAGE und OUT_OF_MEMORY.',
  },
  now: {
    updates: ({ version }) => `Updates funktionieren: Version ${version ?? '?'} wird gesendet.`,
    newSite: ({ activation_limit, activations_used, activation_type }) =>
      `Neue ${thing(activation_type).many} sind möglich: ${
        activation_limit === 0
          ? 'Die Zahl der Plätze ist unbegrenzt'
          : `${activation_limit - activations_used} von ${count(activation_limit)} ${activation_limit - activations_used === 1 ? 'ist' : 'sind'} frei`
      }.`,
    updatesRefused: (because) => `Updates werden abgelehnt: ${because}.`,
    newSiteRefused: (because, { activation_type }) =>
      `Neue ${thing(activation_type).many} werden abgelehnt: ${because}.`,
    because: {
      LICENSE_NOT_FOUND: () => 'Der Schlüssel gilt nicht mehr',
      LICENSE_INACTIVE: ({ license_status }) => `Die Lizenz ist ${states[license_status]}`,
      LICENSE_EXPIRED: ({ expires_at }) => `Die Lizenz ist${on(expires_at)} abgelaufen`,
      ACTIVATION_LIMIT_REACHED: ({ activation_limit }) => `${allSlots(activation_limit)} belegt`,
      DOWNLOAD_NOT_FOUND: () => 'Das Produkt hat keine veröffentlichte Version',
      FILE_NOT_FOUND: () => 'Die Datei des Pakets fehlt oder ist nicht lesbar',
    },
  },
  untraced: ({ says, means, todo }) => `Joomla zeigt: ${says}. ${means} ${todo}`,
  validate:
    'Aufrufe von validate werden nicht einzeln aufgezeichnet. Je Lizenz werden die Zeit des letzten Aufrufs und die Zahl der Aufrufe gespeichert.',
};

const NAMES: Record<Name, string> = {
  customer: 'als Kunde',
  reference: 'als Bestellnummer',
  order: 'als Bestellung',
  hint: 'als Ende ihres Schlüssels',
  identifier: 'als Aktivierung',
  access: 'nur im Zugriffsprotokoll',
  beginning: 'als Anfang der E-Mail ihres Kunden',
  near: 'bis auf einen Tippfehler als E-Mail ihres Kunden',
  provider: 'als Namen in der E-Mail ihres Kunden, bei einem anderen Anbieter',
};

const NOT_ISSUED: Record<string, string> = {
  test: 'sie ist ein Test, und der Shop hat keinen Tarif für Tests',
  not_paid: 'hier ist keine Zahlung dafür bekannt',
  refunded: 'sie wurde erstattet',
  charged_back: 'ihre Zahlung wurde zurückgebucht',
  cancelled: 'sie wurde storniert',
  rule: 'nach den Regeln des Shops bewirken ihre Ereignisse nichts',
};

/** @param reason such as `ADDRESS_REFUSED 550` */
function notMailed(reason: string | null): string {
  return describeStored(failures.mail, reason ?? '');
}

function licences(ids: number[]): string {
  return `${ids.length === 1 ? 'Lizenz' : 'die Lizenzen'} ${ids.join(', ')}`;
}

/** Clauses after "whose" with a verb; `whose` is the subject. */
const SLIPS: Record<MeantKey['slip'], (id: number, whose: string) => string> = {
  'one-character': (id, whose) => `${whose} unterscheidet sich in einem Zeichen von dem der Lizenz ${id}`,
  transposed: (id, whose) =>
    `${whose} gleicht dem der Lizenz ${id}, aber zwei benachbarte Zeichen sind vertauscht`,
  missing: (id, whose) => `${whose} gleicht dem der Lizenz ${id}, aber ein Zeichen fehlt`,
  extra: (id, whose) => `${whose} gleicht dem der Lizenz ${id}, aber ein Zeichen ist zu viel`,
  confused: (id, whose) =>
    `${whose} gleicht dem der Lizenz ${id}, aber ein Buchstabe steht für eine ähnliche Ziffer (O für 0, I oder l für 1) oder umgekehrt`,
  spelling: (id, whose) =>
    `${whose} gleicht dem der Lizenz ${id} in anderer Schreibweise (Groß- und Kleinschreibung oder Bindestriche)`,
  elsewhere: (id) => `er endet wie der Schlüssel der Lizenz ${id}, der Fehler liegt dann weiter vorn`,
  shape: (id) =>
    `er endet wie der Schlüssel der Lizenz ${id}, ist aber kein ganzer Schlüssel: Weiter vorn fehlt ein Zeichen, ist eines zu viel oder keines von 0-9 und A-F`,
  replaced: (id) => `er endet wie der frühere Schlüssel der Lizenz ${id}`,
  ended: (id) => `er endet wie ein Schlüssel der Lizenz ${id}, der nicht mehr gilt`,
};

const COMPARED: Record<MeantKey['compared'], string> = {
  key: 'er',
  end: 'sein Ende',
  last_group: 'sein letzter Block',
  end_asked_about: 'dieses Ende',
  key_asked_about: 'der gesuchte Schlüssel',
};

/** Returns a time as a day, unless it is a day already, as pages write it (`withDays`). */
function day(time: string): string {
  return time.includes('T') ? german.day(new Date(time)) : time;
}

function moment(time: string): string {
  return `${day(time)} um ${time.slice(11, 19)} UTC`;
}

function until(time: string | null, next: NextPayment): string {
  if (next === 'awaited' && time !== null)
    return `aktiv und bis ${day(time)} bezahlt, die Verlängerung wird erwartet`;
  if (next === 'by_itself')
    return `aktiv, ${time === null ? 'unbefristet bezahlt' : `bis ${day(time)} bezahlt`} und verlängert sich von selbst`;
  return time === null ? 'unbefristet aktiv' : `bis ${day(time)} aktiv`;
}

function failed(time: string | null): string {
  return time === null ? '' : `, eine Zahlung ist${on(time)} fehlgeschlagen`;
}

function on(time: string | null): string {
  return time === null ? '' : ` am ${day(time)}`;
}

function license({
  license_id,
  product,
  plan,
}: {
  license_id: number;
  product: string;
  plan: string;
}): string {
  return `Lizenz ${license_id} (${product}, ${plan})`;
}

function refusals({
  refused_since: times,
  refused_more,
}: Pick<StateFacts['SUSPENDED'], 'refused_since' | 'refused_more'>): string {
  return times === 0
    ? ''
    : `, seitdem ${times === 1 ? 'wurde ein Download' : `wurden ${refused_more ? 'mindestens ' : ''}${times} Downloads`} abgelehnt`;
}

function stopped({ stopped_at, actor, reason }: StateFacts['SUSPENDED']): string {
  return stopped_at === null
    ? ''
    : ` am ${day(stopped_at)} von ${actor === history.byService ? 'dem Dienst' : (actor ?? '')}${reason === null ? '' : ` („${reason}“)`}`;
}

function end({ expired_at, ...facts }: StateFacts['SUSPENDED']): string {
  return `${refusals(facts)}.${expired_at === null ? '' : ` Sie ist außerdem am ${day(expired_at)} abgelaufen.`}`;
}

function names(products: Named[]): string {
  return products.map(({ id, name }) => `${name} (${id})`).join(', ');
}

function slotsUsed(used: number, limit: number): string {
  return limit === 0
    ? `${countOf(used, 'Platz', 'Plätze')} ${used === 1 ? 'ist' : 'sind'} belegt, ihre Zahl ist unbegrenzt`
    : `${used} von ${count(limit)} ${used === 1 ? 'ist' : 'sind'} belegt`;
}

function count(limit: number): string {
  return limit === 1 ? '1 Platz' : `${limit} Plätzen`;
}

function allSlots(limit: number, of?: string): string {
  const whose = of === undefined ? '' : ` ${of}`;
  return limit === 1 ? `Der einzige Platz${whose} ist` : `Alle ${limit} Plätze${whose} sind`;
}

function keyName({ key_id, label }: KeyName): string {
  return `Schlüssel ${key_id}${label === null ? '' : ` („${label}“)`}`;
}

function thisKey({ named_by }: { named_by: 'key' | 'hint' }): string {
  return named_by === 'key' ? 'Dieser Schlüssel' : 'Der Schlüssel mit diesem Ende';
}

function endsIn({ key_hint }: { key_hint: string | null }): string {
  return key_hint === null ? '' : `, der auf ${key_hint} endet`;
}

function endOf({ ended_at, successor, is_known }: EndedKey): string {
  const since = is_known && ended_at !== null ? `gilt seit ${day(ended_at)} nicht mehr` : 'gilt nicht mehr';
  if (!is_known) return since;
  return successor === null
    ? `${since} und wurde nicht ersetzt`
    : `${since}. An seine Stelle ist ein anderer getreten${endsIn(successor)}${successor.ended ? '. Auch dieser gilt nicht mehr' : ''}`;
}

function meantFor({
  license_id: id,
  license_status,
  slip,
  certain,
  compared,
  also,
  key_ended,
}: MeantKey): string {
  const possible = certain ? '' : `Vielleicht ist Lizenz ${id} gemeint: `;
  const others = also.length === 0 ? '' : ` (auch möglich: ${also.join(', ')})`;
  const useless = license_status === 'active' ? '' : `. Lizenz ${id} ist jetzt ${states[license_status]}`;
  const what = capitalized(SLIPS[slip](id, COMPARED[compared]));
  return `Der Schlüssel ist unbekannt. ${possible}${what}${others}${key_ended ? '. Dieser Schlüssel gilt nicht mehr' : ''}${useless}`;
}

function askedKey(facts: StateFacts['KEY_ENDED']): string {
  return 'slip' in facts
    ? `Keine Lizenz hat ${facts.named_by === 'key' ? 'diesen Schlüssel' : 'einen Schlüssel mit diesem Ende'}. ${meantFor(facts)}.`
    : `${thisKey(facts)} ${endOf(facts)}.`;
}

function keyCause(facts: (EndedKey | MeantKey) & { request: RequestFacts }): string {
  if ('slip' in facts) return meantFor(facts);
  const { license_status, request } = facts;
  const full = request.outcome === 'ACTIVATION_LIMIT_REACHED' ? `${slotThen(request)}. ` : '';
  return `${full}Der Schlüssel ${endOf(facts)}${license_status === 'active' ? '' : `. Die Lizenz ist jetzt ${states[license_status]}`}`;
}

function usedToBe(was: LiveStatus | null): string {
  return `Die Lizenz war ${was === null ? 'nicht aktiv' : states[was]}`;
}

function slotThen({ outcome, identifier }: RequestFacts): string {
  return outcome === 'ACTIVATION_LIMIT_REACHED'
    ? 'Alle Plätze waren belegt'
    : `${identifier ?? 'Dies'} war nicht aktiviert`;
}

function why(place: SitePlace | null): string {
  if (place === null) return '';
  return 'site' in place
    ? `. Es ist eine Testsite. Sie zählt nicht, sobald eine andere Website von ${place.site} aktiviert ist`
    : `. Es ist eine ${place.kind === 'staging' ? 'Testsite' : 'lokale Website'}, aber ${place.free_sites} Websites zählen schon nicht, mehr erlaubt diese Lizenz nicht`;
}

function freeSites({ site, free, holders }: StateFacts['FREE_SITES']['sites'][number]): string {
  const they = `${inWords(free, 'und')} ${free.length === 1 ? 'zählt' : 'zählen'} nicht`;
  if (site === null)
    return `${they}, da nur der eigene Rechner oder das eigene Netz ${free.length === 1 ? 'sie' : 'sie alle'} erreicht.`;
  const carriers = holders.length > MANY ? '' : inWords(holders, 'oder');
  return `${they}, solange ${carriers || `eine Website von ${site}`} aktiviert ist.`;
}

/** The maximum of holders that are named. */
const MANY = 10;

function inWords(words: string[], word: 'und' | 'oder'): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} ${word} ${last}`;
}

function others(latest: string | null): string {
  return latest === null ? 'eine andere ist nicht veröffentlicht' : `die neueste ist ${latest}`;
}

function attempt({ endpoint, version, product_id, identifier, license_id }: RequestFacts): string {
  const of = license_id === null ? '' : ` mit Lizenz ${license_id}`;
  const verb = endpoint === 'activate' ? 'Aktivieren' : 'Deaktivieren';
  switch (endpoint) {
    case 'check':
    case 'download':
      return `${endpoint === 'check' ? 'Die Abfrage eines Downloads' : 'Ein Download'} ${product_id === null ? 'ohne Produktnummer' : `von Produkt ${product_id}`}${version === null ? '' : `, Version ${version},`}${of}`;
    case 'activate':
    case 'deactivate':
      return `${identifier === null ? `Das ${verb} ohne Kennung` : `Das ${verb} von ${identifier}`}${of}`;
    case 'token':
      return `Eine Datei für den Betrieb ohne Netz ${identifier === null ? 'ohne Kennung' : `für ${identifier}`}${of}`;
    case 'updates':
      return 'Eine Suche nach Updates';
    case 'validate':
      return 'Ein Aufruf von validate';
  }
}

function granted({ version, license_id, ...request }: RequestFacts): string {
  return `Version ${version ?? '?'} wurde an ${who(request)}${license_id === null ? '' : ` mit Lizenz ${license_id}`} gesendet`;
}

function who({
  client,
  joomla_version,
  user_agent,
  ip,
  site,
  installed_version,
}: Pick<
  RequestFacts,
  'client' | 'joomla_version' | 'user_agent' | 'ip' | 'site' | 'installed_version'
>): string {
  const clients = {
    unnamed: 'ein Programm ohne Namen',
    trial: `Ihren eigenen Test (als Joomla ${joomla_version ?? '?'})`,
    joomla: `Joomla ${joomla_version ?? '?'}`,
    browser: 'einen Browser',
    other: `„${user_agent?.slice(0, 60) ?? ''}“`,
  };
  const told = site === null ? '' : `, nach eigener Angabe ${site}`;
  const installed = installed_version === null ? '' : `, mit installierter Version ${installed_version}`;
  return `${clients[client]} (${ip ?? 'Adresse unbekannt'}${told}${installed})`;
}

/** Returns the noun for an activation's identifier: for a site, its domain. */
function identifier(type: string): Thing {
  return type === 'domain' ? { ...thing(type), one: 'Domain' } : thing(type);
}

function notValid(type: string): string {
  const { ein, er, one } = identifier(type);
  return `Das ist k${ein} gültig${er} ${one}`;
}

function sent(type: string): string {
  const { einen, one } = identifier(type);
  return `${einen} ${one}`;
}
