import type { CustomerSentences } from '../sentences';
import { daysUntil } from '../../../selfservice/standing';

/** What the customer's page says, in German. Joomla's messages stay as Joomla writes them in English. */
export const GERMAN: CustomerSentences = {
  day,
  kind: (type) => kindOf(type).many,
  standing: {
    ACTIVE: ({ until }) =>
      until === null
        ? 'Ihre Lizenz gilt unbefristet. Aktualisierungen funktionieren.'
        : `Ihre Lizenz ist gültig bis ${day(until)}. Aktualisierungen funktionieren.`,
    FULL: ({ until, limit, activationType }) => {
      const { many, theOne, aNew } = kindOf(activationType);
      return limit === 1
        ? `Ihre Lizenz ${until === null ? 'gilt unbefristet' : `ist gültig bis ${day(until)}`}. Aktualisierungen funktionieren. ${theOne} ist belegt.`
        : `Alle ${count(limit)} ${many} sind belegt. Aktualisierungen funktionieren; ${aNew} wird abgelehnt, bis ein Platz frei wird.`;
    },
    EXPIRED: ({ endedAt }) =>
      endedAt === null ? 'Ihre Lizenz ist abgelaufen.' : `Ihre Lizenz ist am ${day(endedAt)} abgelaufen.`,
    SUSPENDED: () => 'Ihre Lizenz ist ausgesetzt. Bitte fragen Sie den Anbieter.',
    WITHDRAWN: () => 'Diese Lizenz wurde vom Anbieter entzogen.',
  },
  meaning: {
    ACTIVE: null,
    FULL: ({ limit, activationType }) =>
      limit === 1 ? `Bevor ${kindOf(activationType).aNew} hinzukommt, muss der Platz frei werden.` : null,
    EXPIRED: () =>
      'Deshalb meldet Joomla beim Aktualisieren „Error connecting to the server: 403“. An Ihrer Website hat sich nichts geändert. Nach der Verlängerung funktioniert die Aktualisierung sofort wieder, mit demselben Schlüssel.',
    SUSPENDED: () =>
      'Bis der Anbieter sie wieder freigibt, meldet Joomla beim Aktualisieren „Error connecting to the server: 403“. An Ihrer Website hat sich nichts geändert.',
    WITHDRAWN: () =>
      'Joomla meldet beim Aktualisieren „Error connecting to the server: 403“. Was auf Ihrer Website installiert ist, bleibt.',
  },
  keyEnded: ({ endedAt }) =>
    `Dieser Schlüssel gilt seit dem ${day(endedAt)} nicht mehr. Bitte verwenden Sie den neuen, oder fragen Sie, von wem Sie diesen Schlüssel haben.`,
  endsIn: ({ endsAt, now }) => inDays(daysUntil(endsAt, now)),
  keyEnds: ({ endsAt }) =>
    `Dieser Schlüssel gilt bis ${day(endsAt)}. Bitte wechseln Sie vorher zum neuen Schlüssel.`,
  unknownKey: ({ length }) =>
    length === KEY_LENGTH
      ? 'Keine Lizenz hat diesen Schlüssel. Bitte kopieren Sie ihn noch einmal vollständig.'
      : `Keine Lizenz hat diesen Schlüssel. Bitte kopieren Sie ihn noch einmal vollständig: Dieser hat ${length} Zeichen.`,
  used: ({ limit, used }) =>
    limit === 0 ? `${count(used)} belegt, unbegrenzt` : `${count(used)} von ${count(limit)} belegt`,
  whyNot: {
    LICENSE_EXPIRED: 'Nach Verlängerung',
    LICENSE_INACTIVE: 'Nicht mit dieser Lizenz',
    PRODUCT_MISMATCH: 'Nicht Teil dieser Lizenz',
    DOWNLOAD_NOT_FOUND: 'Wird nicht mehr angeboten',
    FILE_NOT_FOUND: 'Im Moment nicht verfügbar',
    LICENSE_NOT_FOUND: 'Nicht mit diesem Schlüssel',
    ACTIVATION_NOT_FOUND: 'Nicht mit diesem Schlüssel',
    ACTIVATION_HELD: 'Nicht verfügbar',
    ACTIVATION_LIMIT_REACHED: 'Nicht mit diesem Schlüssel',
    INVALID_REQUEST: 'Nicht verfügbar',
  },
  coversUntil: ({ endedAt }) => `Ihre Lizenz umfasst, was bis ${day(endedAt)} erschienen ist.`,
  attention: {
    ENDS_SOON: ({ product, endsAt, now }) => {
      if (endsAt === null) return `${product} läuft bald ab.`;
      return `${product} läuft ${inDays(daysUntil(endsAt, now))} ab, am ${day(endsAt)}. Bis dahin ändert sich nichts.`;
    },
    ENDED: ({ product, endsAt }) =>
      `${product} ist${endsAt === null ? '' : ` am ${day(endsAt)}`} abgelaufen. Aktualisierungen werden abgelehnt, bis die Lizenz verlängert ist.`,
    FULL: ({ product, limit, activationType }) => {
      const { many, theOne } = kindOf(activationType);
      return limit === 1
        ? `${product}: ${theOne} dieser Lizenz ist belegt.`
        : `${product}: Alle ${count(limit)} ${many} sind belegt.`;
    },
  },
  removalsLeft: ({ allowed, left, nextAt, activationType }) => {
    const { many, one } = kindOf(activationType);
    if (allowed === 0) return `${many} kann nur der Anbieter entfernen.`;
    if (nextAt === null)
      return `Sie können innerhalb von 30 Tagen ${count(left)} ${left === 1 ? one : many} entfernen.`;
    return left === 0
      ? `Ab ${day(nextAt)} können Sie wieder entfernen.`
      : `Sie können bis ${day(nextAt)} noch ${count(left)} ${left === 1 ? one : many} entfernen.`;
  },
  noMovesLeft: ({ allowed, nextAt, activationType }) => {
    const { many, one } = kindOf(activationType);
    return allowed === 0 || nextAt === null
      ? `${many} kann nur der Anbieter entfernen. Bitte fragen Sie ihn.`
      : `Sie haben innerhalb von 30 Tagen ${count(allowed)} ${allowed === 1 ? one : many} entfernt. Ab ${day(nextAt)} ist es wieder möglich, oder Sie fragen den Anbieter.`;
  },
  siteHeld: ({ heldUntil, activationType }) =>
    `Für ${kindOf(activationType).one} gibt es eine Datei, mit der die Lizenz bis ${day(heldUntil)} ohne Netz gilt. Das Entfernen ist nach diesem Tag möglich, oder vorher durch den Anbieter.`,
  siteRemoved: ({ site }) => `${site} ist entfernt. Um sie wieder zu nutzen, aktivieren Sie die Lizenz dort.`,
  keyChanged: ({ oldEndsAt }) =>
    oldEndsAt === null
      ? 'Das ist der neue Schlüssel. Der alte gilt nicht mehr: Jede Website braucht für die nächste Aktualisierung den neuen.'
      : `Das ist der neue Schlüssel. Der alte gilt bis ${day(oldEndsAt)}: Jede Website braucht vorher den neuen.`,
  keyNotKept:
    'Dieser Schlüssel wurde nicht aufbewahrt und kann nicht angezeigt werden. Ein neuer kann an seine Stelle treten.',
};

interface Kind {
  one: string;
  many: string;
  /** at the beginning of a sentence */
  theOne: string;
  aNew: string;
}

const KINDS: Partial<Record<string, Kind>> = {
  domain: { one: 'Website', many: 'Websites', theOne: 'Die einzige Website', aNew: 'eine neue Website' },
  device: { one: 'Gerät', many: 'Geräte', theOne: 'Das einzige Gerät', aNew: 'ein neues Gerät' },
  seat: { one: 'Nutzer', many: 'Nutzer', theOne: 'Der einzige Nutzer', aNew: 'ein neuer Nutzer' },
  instance: { one: 'Instanz', many: 'Instanzen', theOne: 'Die einzige Instanz', aNew: 'eine neue Instanz' },
};

/** The length of a key that this service makes. */
const KEY_LENGTH = 35;

function kindOf(type: string): Kind {
  return (
    KINDS[type] ?? { one: 'Platz', many: 'Plätze', theOne: 'Der einzige Platz', aNew: 'ein neuer Platz' }
  );
}

function inDays(days: number): string {
  return `in ${days} ${days === 1 ? 'Tag' : 'Tagen'}`;
}

function day(time: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${two(time.getUTCDate())}.${two(time.getUTCMonth() + 1)}.${time.getUTCFullYear()}`;
}

function count(number: number): string {
  return number.toLocaleString('de-DE');
}
