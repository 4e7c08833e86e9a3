import { formatLongDay, formatNumber, type LanguageCode } from '../dates';
import type { ReplyCase } from '../../support/reply';

/** The words of the mail that answers a customer. Each paragraph is a text of its own; a link stands on a line of its own. */

export interface ReplyFacts {
  /** null: no licence is known */
  product: string | null;
  /** the update sites that its key belongs to; null: no licence is known */
  entries: string | null;
  /** the end of the customer's key */
  hint: string | null;
  /** the end of the mistyped key that arrived */
  seenHint: string | null;
  /** the licence's end; null: none */
  endedOn: Date | null;
  /** when it was suspended, revoked or cancelled */
  stoppedOn: Date | null;
  slots: number;
  activationType: string;
  /** the version that was asked for last */
  version: string | null;
  worksSince: Date | null;
  renewUrl: string | null;
  supportUrl: string | null;
}

const ON_403 = 'Error connecting to the server: 403';
const ON_404 = 'Error connecting to the server: 404';
const ON_400 = 'Error connecting to the server: 400';
const ON_429 = 'Error connecting to the server: 429';

const english = {
  greeting: 'Hello,',
  closing: 'Kind regards',
  subject: (product: string | null) =>
    product === null ? 'Your licence key' : `Your licence for ${product}`,
  cases: {
    fine: (facts) => [
      `${enYour(facts)} is valid${facts.endedOn ? ` until ${enDay(facts.endedOn)}` : ''}, and updates work.`,
      'If Joomla still shows an error, please send me its exact words and the time of the attempt.',
      ...enAsk(facts),
    ],
    works_again: (facts) => [
      `${enYour(facts)} is valid${facts.endedOn ? ` until ${enDay(facts.endedOn)}` : ''}. An update was refused earlier; the cause is gone${facts.worksSince ? `, and an update has succeeded since` : ''}.`,
      'Please try again in Joomla, under System > Update > Extensions. Nothing has to be changed before.',
      ...enAsk(facts),
    ],
    expired: (facts) => [
      `${enYour(facts)} ended${enOn(facts.endedOn)}. Since then Joomla answers an update with "${ON_403}". The sites themselves are as before.`,
      facts.renewUrl
        ? `After the renewal the update works at once, with the same key:\n${facts.renewUrl}`
        : 'After a renewal the update works at once, with the same key. If you want to renew, just answer this mail.',
      ...enAsk(facts),
    ],
    older_versions: (facts) => [
      `${enYour(facts)} ended${enOn(facts.endedOn)}. You may go on downloading every version published until then. A newer version is refused, and Joomla shows "${ON_403}".`,
      facts.renewUrl
        ? `After the renewal you get the newest version at once, with the same key:\n${facts.renewUrl}`
        : 'After a renewal you get the newest version at once, with the same key. If you want to renew, just answer this mail.',
      ...enAsk(facts),
    ],
    suspended: (facts) => [
      `${enYour(facts)} has been paused${facts.stoppedOn ? ` since ${enDay(facts.stoppedOn)}` : ''}. Until it is active again, Joomla answers an update with "${ON_403}". The sites themselves are as before.`,
      'Please answer this mail, so that we can settle what is open. Afterwards the update works at once, with the same key.',
      ...enAsk(facts),
    ],
    revoked: (facts) => [
      `${enYour(facts)} was withdrawn${enOn(facts.stoppedOn)}. Joomla answers an update with "${ON_403}". What is installed stays as it is.`,
      'If you think this is a mistake, please answer this mail.',
      ...enAsk(facts),
    ],
    cancelled: (facts) => [
      `${enYour(facts)} was cancelled${enOn(facts.stoppedOn)}. Joomla answers an update with "${ON_403}". What is installed stays as it is.`,
      'A new order gets a new key. If you think this is a mistake, please answer this mail.',
      ...enAsk(facts),
    ],
    full: (facts) => [
      `${enYour(facts)} is valid and updates work, but ${enAll(facts)} in use. A new one is refused until another is removed. What is in use goes on working.`,
      `Please tell me which ${enOne(facts)} may be removed. Its place is free at once. If you need more places, I can tell you what a larger licence costs.`,
      ...enAsk(facts),
    ],
    not_published: (facts) => [
      `${enYour(facts)} is in order. At the moment there is no version to download, so Joomla answers an update with "${ON_404}". This is our mistake, not yours.`,
      'We are putting it right. Please try again later; nothing has to be changed on your site.',
      ...enAsk(facts),
    ],
    package_missing: (facts) => [
      `${enYour(facts)} is in order. The file of the update cannot be sent at the moment, so Joomla answers with "${ON_404}". This is our mistake, not yours.`,
      'We are putting it right. Please try again later; nothing has to be changed on your site.',
      ...enAsk(facts),
    ],
    key_ended: (facts) => [
      `The key that your site sends${enFor(facts)} is no longer valid, so Joomla answers an update with "${ON_403}". Your licence itself is not affected.`,
      `${facts.hint ? `The key that is valid now ends in ${facts.hint}. ` : ''}${EN_PASTE} If you do not have the new key, please answer this mail.`,
      ...enAsk(facts),
    ],
    mistyped: (facts) => [
      `The key that your site sends${enFor(facts)} has a typing mistake, so Joomla answers an update with "${ON_403}".${enEnds(facts)}`,
      `${EN_PASTE} Afterwards the update works at once.`,
      ...enAsk(facts),
    ],
    unknown_key: (facts) => [
      `The key that your site sends${enFor(facts)} is not known to us, so Joomla answers an update with "${ON_403}".`,
      `${EN_PASTE} If that does not help, please answer with the e-mail address that you bought with.`,
      ...enAsk(facts),
    ],
    wrong_product: (facts) => [
      `${enYour(facts)} is valid, but its key stands at another extension in Joomla. There Joomla answers an update with "${ON_403}".`,
      `In Joomla, under System > Update > Update Sites, every extension has a Download Key of its own. Please enter this key only at ${facts.entries ?? 'the extension that it was bought for'}.`,
      ...enAsk(facts),
    ],
    no_key: (facts) => [
      `${enYour(facts)} is valid, but your site sent no key with its request, so Joomla answers the update with "${ON_400}".`,
      EN_PASTE,
      ...enAsk(facts),
    ],
    too_many_requests: (facts) => [
      `${enYour(facts)} is valid. Your server sent too many requests in a short time, so Joomla answered with "${ON_429}".`,
      'Please wait a minute and try again. Nothing has to be changed.',
      ...enAsk(facts),
    ],
    version_gone: (facts) => [
      `${enYour(facts)} is valid, but version ${facts.version ?? ''} cannot be downloaded (any more), so Joomla answers with "${ON_404}".`,
      'In Joomla, under System > Update > Extensions, please select Check for Updates. Then Joomla offers the right version.',
      ...enAsk(facts),
    ],
  } satisfies Record<ReplyCase, (facts: ReplyFacts) => string[]>,
};

const EN_PASTE =
  'In Joomla, please open System > Update > Update Sites, select the extension and paste the whole key again into Download Key, without a space before or after it.';

function enDay(date: Date): string {
  return formatLongDay(date, 'en');
}

function enOn(date: Date | null): string {
  return date === null ? '' : ` on ${enDay(date)}`;
}

/** As the beginning of a sentence. */
function enYour({ product, hint }: ReplyFacts): string {
  return `Your licence${product === null ? '' : ` for ${product}`}${hint === null ? '' : ` (key ending in ${hint})`}`;
}

function enFor({ product }: ReplyFacts): string {
  return product === null ? '' : ` for ${product}`;
}

function enEnds({ hint, seenHint }: ReplyFacts): string {
  return hint === null || seenHint === null || hint === seenHint
    ? ''
    : ` It ends in ${seenHint}, and yours ends in ${hint}.`;
}

function enAll({ slots, activationType }: ReplyFacts): string {
  const [one, several] = EN_NAMES[activationType] ?? EN_SITES;
  return slots === 1 ? `its only ${one} is` : `all ${formatNumber(slots, 'en')} ${several} are`;
}

function enOne({ activationType }: ReplyFacts): string {
  return (EN_NAMES[activationType] ?? EN_SITES)[0];
}

const EN_SITES: [string, string] = ['site', 'sites'];
const EN_NAMES: Record<string, [one: string, several: string]> = {
  device: ['device', 'devices'],
  seat: ['seat', 'seats'],
  instance: ['instance', 'instances'],
};

function enAsk({ supportUrl }: ReplyFacts): string[] {
  return supportUrl === null ? [] : [`If you have questions:\n${supportUrl}`];
}

export type ReplyTexts = typeof english;

const german: ReplyTexts = {
  greeting: 'Guten Tag,',
  closing: 'Mit freundlichen Grüßen',
  subject: (product) => (product === null ? 'Ihr Lizenzschlüssel' : `Ihre Lizenz für ${product}`),
  cases: {
    fine: (facts) => [
      `${deYour(facts)} ist ${facts.endedOn ? `bis ${deDay(facts.endedOn)} ` : ''}gültig, und Updates funktionieren.`,
      'Falls Joomla trotzdem einen Fehler anzeigt, senden Sie mir bitte den genauen Wortlaut und die Uhrzeit des Versuchs.',
      ...deAsk(facts),
    ],
    works_again: (facts) => [
      `${deYour(facts)} ist ${facts.endedOn ? `bis ${deDay(facts.endedOn)} ` : ''}gültig. Ein Update wurde zuvor abgelehnt; die Ursache ist behoben${facts.worksSince ? ', und seitdem ist ein Update gelungen' : ''}.`,
      'Bitte versuchen Sie es in Joomla noch einmal, unter System > Aktualisieren > Erweiterungen. Vorher muss nichts geändert werden.',
      ...deAsk(facts),
    ],
    expired: (facts) => [
      `${deYour(facts)} ist${deOn(facts.endedOn)} abgelaufen. Seitdem meldet Joomla beim Update „${ON_403}“. Die Websites selbst laufen weiter wie bisher.`,
      facts.renewUrl
        ? `Nach der Verlängerung funktioniert das Update sofort, mit demselben Schlüssel:\n${facts.renewUrl}`
        : 'Nach einer Verlängerung funktioniert das Update sofort, mit demselben Schlüssel. Wenn Sie verlängern möchten, antworten Sie einfach auf diese Mail.',
      ...deAsk(facts),
    ],
    older_versions: (facts) => [
      `${deYour(facts)} ist${deOn(facts.endedOn)} abgelaufen. Alle bis dahin veröffentlichten Versionen können Sie weiterhin herunterladen. Eine neuere wird abgelehnt, und Joomla meldet „${ON_403}“.`,
      facts.renewUrl
        ? `Nach der Verlängerung erhalten Sie sofort die neueste Version, mit demselben Schlüssel:\n${facts.renewUrl}`
        : 'Nach einer Verlängerung erhalten Sie sofort die neueste Version, mit demselben Schlüssel. Wenn Sie verlängern möchten, antworten Sie einfach auf diese Mail.',
      ...deAsk(facts),
    ],
    suspended: (facts) => [
      `${deYour(facts)} ist${facts.stoppedOn ? ` seit dem ${deDay(facts.stoppedOn)}` : ''} ausgesetzt. Bis sie wieder freigegeben ist, meldet Joomla beim Update „${ON_403}“. Die Websites selbst laufen weiter wie bisher.`,
      'Bitte antworten Sie auf diese Mail, damit wir den offenen Punkt klären können. Danach funktioniert das Update sofort, mit demselben Schlüssel.',
      ...deAsk(facts),
    ],
    revoked: (facts) => [
      `${deYour(facts)} wurde${deOn(facts.stoppedOn)} entzogen. Joomla meldet beim Update „${ON_403}“. Was installiert ist, bleibt, wie es ist.`,
      'Falls Sie das für einen Irrtum halten, antworten Sie bitte auf diese Mail.',
      ...deAsk(facts),
    ],
    cancelled: (facts) => [
      `${deYour(facts)} wurde${deOn(facts.stoppedOn)} storniert. Joomla meldet beim Update „${ON_403}“. Was installiert ist, bleibt, wie es ist.`,
      'Eine neue Bestellung bekommt einen neuen Schlüssel. Falls Sie das für einen Irrtum halten, antworten Sie bitte auf diese Mail.',
      ...deAsk(facts),
    ],
    full: (facts) => [
      `${deYour(facts)} ist gültig, und Updates funktionieren. Allerdings ${deAll(facts)} belegt. Neues wird abgelehnt, bis ein Platz frei ist. Was belegt ist, läuft weiter.`,
      `Bitte teilen Sie mir mit, ${deWhich(facts)} entfernt werden darf. Der Platz ist sofort frei. Wenn Sie mehr Plätze brauchen, nenne ich Ihnen gern den Preis einer größeren Lizenz.`,
      ...deAsk(facts),
    ],
    not_published: (facts) => [
      `${deYour(facts)} ist in Ordnung. Zurzeit gibt es keine Version zum Herunterladen, daher meldet Joomla beim Update „${ON_404}“. Das ist unser Fehler, nicht Ihrer.`,
      'Wir beheben das. Bitte versuchen Sie es später noch einmal; auf Ihrer Website muss nichts geändert werden.',
      ...deAsk(facts),
    ],
    package_missing: (facts) => [
      `${deYour(facts)} ist in Ordnung. Die Datei des Updates kann zurzeit nicht gesendet werden, daher meldet Joomla „${ON_404}“. Das ist unser Fehler, nicht Ihrer.`,
      'Wir beheben das. Bitte versuchen Sie es später noch einmal; auf Ihrer Website muss nichts geändert werden.',
      ...deAsk(facts),
    ],
    key_ended: (facts) => [
      `Der Schlüssel, den Ihre Website${deFor(facts)} sendet, gilt nicht mehr, daher meldet Joomla beim Update „${ON_403}“. Ihre Lizenz selbst ist nicht betroffen.`,
      `${facts.hint ? `Der jetzt gültige Schlüssel endet auf ${facts.hint}. ` : ''}${DE_PASTE} Falls Sie den neuen Schlüssel nicht haben, antworten Sie bitte auf diese Mail.`,
      ...deAsk(facts),
    ],
    mistyped: (facts) => [
      `Der Schlüssel, den Ihre Website${deFor(facts)} sendet, enthält einen Tippfehler, daher meldet Joomla beim Update „${ON_403}“.${deEnds(facts)}`,
      `${DE_PASTE} Danach funktioniert das Update sofort.`,
      ...deAsk(facts),
    ],
    unknown_key: (facts) => [
      `Der Schlüssel, den Ihre Website${deFor(facts)} sendet, ist uns nicht bekannt, daher meldet Joomla beim Update „${ON_403}“.`,
      `${DE_PASTE} Hilft das nicht, antworten Sie bitte mit der E-Mail-Adresse, mit der Sie gekauft haben.`,
      ...deAsk(facts),
    ],
    wrong_product: (facts) => [
      `${deYour(facts)} ist gültig, aber der Schlüssel ist in Joomla bei einer anderen Erweiterung eingetragen. Dort meldet Joomla beim Update „${ON_403}“.`,
      `In Joomla hat unter System > Aktualisieren > Aktualisierungsquellen jede Erweiterung ihren eigenen Downloadschlüssel. Bitte tragen Sie diesen Schlüssel nur bei ${facts.entries ?? 'der Erweiterung ein, für die er gekauft wurde'}${facts.entries === null ? '' : ' ein'}.`,
      ...deAsk(facts),
    ],
    no_key: (facts) => [
      `${deYour(facts)} ist gültig, aber Ihre Website hat keinen Schlüssel mitgesendet, daher meldet Joomla beim Update „${ON_400}“.`,
      DE_PASTE,
      ...deAsk(facts),
    ],
    too_many_requests: (facts) => [
      `${deYour(facts)} ist gültig. Ihr Server hat in kurzer Zeit zu viele Anfragen gesendet, daher meldete Joomla „${ON_429}“.`,
      'Bitte warten Sie eine Minute und versuchen Sie es noch einmal. Es muss nichts geändert werden.',
      ...deAsk(facts),
    ],
    version_gone: (facts) => [
      `${deYour(facts)} ist gültig, aber Version ${facts.version ?? ''} kann nicht (mehr) heruntergeladen werden, daher meldet Joomla „${ON_404}“.`,
      'Bitte lassen Sie Joomla unter System > Aktualisieren > Erweiterungen erneut nach Updates suchen. Dann bietet es die richtige Version an.',
      ...deAsk(facts),
    ],
  },
};

const DE_PASTE =
  'Bitte öffnen Sie in Joomla System > Aktualisieren > Aktualisierungsquellen, wählen Sie die Erweiterung und fügen Sie den ganzen Schlüssel noch einmal in das Feld Downloadschlüssel ein, ohne Leerzeichen davor oder dahinter.';

function deDay(date: Date): string {
  return formatLongDay(date, 'de');
}

function deOn(date: Date | null): string {
  return date === null ? '' : ` am ${deDay(date)}`;
}

/** As the beginning of a sentence. */
function deYour({ product, hint }: ReplyFacts): string {
  return `Ihre Lizenz${product === null ? '' : ` für ${product}`}${hint === null ? '' : ` (Schlüssel endet auf ${hint})`}`;
}

function deFor({ product }: ReplyFacts): string {
  return product === null ? '' : ` für ${product}`;
}

function deEnds({ hint, seenHint }: ReplyFacts): string {
  return hint === null || seenHint === null || hint === seenHint
    ? ''
    : ` Er endet auf ${seenHint}, Ihrer endet auf ${hint}.`;
}

function deAll({ slots, activationType }: ReplyFacts): string {
  const { only, several } = DE_NAMES[activationType] ?? DE_SITES;
  return slots === 1 ? `ist ${only}` : `sind alle ${formatNumber(slots, 'de')} ${several}`;
}

function deWhich({ activationType }: ReplyFacts): string {
  return (DE_NAMES[activationType] ?? DE_SITES).which;
}

const DE_SITES = { only: 'die einzige Website', several: 'Websites', which: 'welche Website' };
const DE_NAMES: Record<string, typeof DE_SITES> = {
  device: { only: 'das einzige Gerät', several: 'Geräte', which: 'welches Gerät' },
  seat: { only: 'der einzige Nutzerplatz', several: 'Nutzerplätze', which: 'welcher Nutzer' },
  instance: { only: 'die einzige Instanz', several: 'Instanzen', which: 'welche Instanz' },
};

function deAsk({ supportUrl }: ReplyFacts): string[] {
  return supportUrl === null ? [] : [`Bei Fragen:\n${supportUrl}`];
}

export const REPLIES: Record<LanguageCode, ReplyTexts> = { en: english, de: german };
