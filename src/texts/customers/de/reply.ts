import { joomlaError, type ReplyFacts, type ReplyTexts, type StoppingEvent } from '../reply';
import { german, thing } from './words';

export const reply: ReplyTexts = {
  greeting: 'Guten Tag,',
  closing: 'Mit freundlichen Grüßen',
  subject: (product) => (product === null ? 'Ihr Lizenzschlüssel' : `Ihre Lizenz für ${product}`),
  page: (url) => `Ihre Lizenzen mit Websites und Schlüsseln finden Sie auf Ihrer Seite:\n${url}`,
  ask: (supportUrl) => `Bei Fragen:\n${supportUrl}`,
  cases: {
    fine: (facts) => [
      `${valid(facts)}, und Updates funktionieren.`,
      'Falls Joomla trotzdem einen Fehler anzeigt, senden Sie mir bitte den genauen Wortlaut und die Uhrzeit des Versuchs.',
    ],
    works_again: (facts) => [
      `${valid(facts)}. Ein Update wurde zuvor abgelehnt; die Ursache ist behoben${facts.worksSince ? ', und seitdem ist ein Update gelungen' : ''}.`,
      'Bitte versuchen Sie es in Joomla noch einmal, unter System > Aktualisieren > Erweiterungen. Vorher muss nichts geändert werden.',
    ],
    expired: (facts) => [
      `${your(facts)} ist${on(facts.endedOn)} abgelaufen. Seitdem meldet Joomla beim Update „${joomlaError(403)}“. Die Websites selbst laufen weiter wie bisher.`,
      facts.renewUrl
        ? `Nach der Verlängerung funktioniert das Update sofort, mit demselben Schlüssel:\n${facts.renewUrl}`
        : 'Nach einer Verlängerung funktioniert das Update sofort, mit demselben Schlüssel. Wenn Sie verlängern möchten, antworten Sie einfach auf diese Mail.',
    ],
    older_versions: (facts) => [
      `${your(facts)} ist${on(facts.endedOn)} abgelaufen. Alle bis dahin veröffentlichten Versionen können Sie weiterhin herunterladen. Eine neuere wird abgelehnt, und Joomla meldet „${joomlaError(403)}“.`,
      facts.renewUrl
        ? `Nach der Verlängerung erhalten Sie sofort die neueste Version, mit demselben Schlüssel:\n${facts.renewUrl}`
        : 'Nach einer Verlängerung erhalten Sie sofort die neueste Version, mit demselben Schlüssel. Wenn Sie verlängern möchten, antworten Sie einfach auf diese Mail.',
    ],
    suspended: (facts) => [
      `${your(facts)} ist${facts.stoppedOn ? ` seit dem ${german.longDay(facts.stoppedOn)}` : ''} ausgesetzt${facts.stoppedBy === null ? '' : `, weil ${BECAUSE[facts.stoppedBy]}`}. Bis sie wieder freigegeben ist, meldet Joomla beim Update „${joomlaError(403)}“. Die Websites selbst laufen weiter wie bisher.`,
      facts.stoppedBy === null || facts.stoppedBy === 'charged_back'
        ? 'Bitte antworten Sie auf diese Mail, damit wir den offenen Punkt klären können. Danach funktioniert das Update sofort, mit demselben Schlüssel.'
        : NEW_ORDER,
    ],
    revoked: (facts) => [
      `${your(facts)} wurde${on(facts.stoppedOn)} entzogen. Joomla meldet beim Update „${joomlaError(403)}“. Die installierte Erweiterung bleibt, wie sie ist.`,
      'Falls Sie das für einen Irrtum halten, antworten Sie bitte auf diese Mail.',
    ],
    cancelled: (facts) => [
      `${your(facts)} wurde${on(facts.stoppedOn)} storniert. Joomla meldet beim Update „${joomlaError(403)}“. Die installierte Erweiterung bleibt, wie sie ist.`,
      NEW_ORDER,
    ],
    full: (facts) => [
      `${your(facts)} ist gültig, und Updates funktionieren. Allerdings ${all(facts)} belegt. Neues wird abgelehnt, bis ein Platz frei ist. Alle aktivierten ${thing(facts.activationType).many} laufen weiter.`,
      `Bitte teilen Sie mir mit, ${which(facts)} entfernt werden darf. Der Platz ist sofort frei.${facts.upgradeUrl ? '' : ' Wenn Sie mehr Plätze brauchen, nenne ich Ihnen gern den Preis einer größeren Lizenz.'}`,
      ...larger(facts, 'Eine größere Lizenz hat mehr Plätze und behält den Schlüssel:'),
    ],
    not_published: (facts) => [
      `${your(facts)} ist in Ordnung. Zurzeit gibt es keine Version zum Herunterladen, daher meldet Joomla beim Update „${joomlaError(404)}“. Das ist unser Fehler, nicht Ihrer.`,
      'Wir beheben das. Bitte versuchen Sie es später noch einmal; auf Ihrer Website muss nichts geändert werden.',
    ],
    package_missing: (facts) => [
      `${your(facts)} ist in Ordnung. Die Datei des Updates kann zurzeit nicht gesendet werden, daher meldet Joomla „${joomlaError(404)}“. Das ist unser Fehler, nicht Ihrer.`,
      'Wir beheben das. Bitte versuchen Sie es später noch einmal; auf Ihrer Website muss nichts geändert werden.',
    ],
    key_ended: (facts) => [
      `Der Schlüssel, den Ihre Website${forProduct(facts)} sendet, gilt nicht mehr, daher meldet Joomla beim Update „${joomlaError(403)}“. Ihre Lizenz selbst ist nicht betroffen.`,
      `${facts.hint ? `Der jetzt gültige Schlüssel endet auf ${facts.hint}. ` : ''}${PASTE} Falls Sie den neuen Schlüssel nicht haben, antworten Sie bitte auf diese Mail.`,
    ],
    mistyped: (facts) => [
      `Der Schlüssel, den Ihre Website${forProduct(facts)} sendet, enthält einen Tippfehler, daher meldet Joomla beim Update „${joomlaError(403)}“.${ends(facts)}`,
      `${PASTE} Danach funktioniert das Update sofort.`,
    ],
    unknown_key: (facts) => [
      `Der Schlüssel, den Ihre Website${forProduct(facts)} sendet, ist uns nicht bekannt, daher meldet Joomla beim Update „${joomlaError(403)}“.`,
      `${PASTE} Hilft das nicht, antworten Sie bitte mit der E-Mail-Adresse, mit der Sie gekauft haben.`,
    ],
    wrong_product: (facts) => [
      `${your(facts)} ist gültig, aber der Schlüssel ist in Joomla bei einer anderen Erweiterung eingetragen. Dort meldet Joomla beim Update „${joomlaError(403)}“.`,
      `In Joomla hat unter System > Aktualisieren > Aktualisierungsquellen jede Erweiterung ihren eigenen Downloadschlüssel. Bitte tragen Sie diesen Schlüssel nur bei ${facts.entries ?? 'der Erweiterung ein, für die er gekauft wurde'}${facts.entries === null ? '' : ' ein'}.`,
      ...larger(facts, 'Eine Lizenz, die auch für die andere Erweiterung gilt, mit demselben Schlüssel:'),
    ],
    no_key: (facts) => [
      `${facts.product === null ? 'Ihre' : `${your(facts)} ist gültig, aber Ihre`} Website hat keinen Schlüssel mitgesendet, daher meldet Joomla beim Update „${joomlaError(400)}“.`,
      PASTE,
    ],
    too_many_requests: (facts) => [
      `${facts.product === null ? '' : `${your(facts)} ist gültig. `}Ihr Server hat in kurzer Zeit zu viele Anfragen gesendet, daher meldete Joomla „${joomlaError(429)}“.`,
      'Bitte warten Sie eine Minute und versuchen Sie es noch einmal. Es muss nichts geändert werden.',
    ],
    unknown_address: () => [
      'Mit der E-Mail-Adresse, von der Sie schreiben, wurde hier nichts gekauft.',
      'Bitte antworten Sie mit der Adresse, mit der Sie gekauft haben, oder mit der Bestellnummer oder dem Ende Ihres Schlüssels. Dann kann ich nachsehen.',
    ],
    version_gone: (facts) => [
      `${your(facts)} ist gültig, aber ${facts.version === null ? 'diese Version' : `Version ${facts.version}`} kann nicht (mehr) heruntergeladen werden, daher meldet Joomla „${joomlaError(404)}“.`,
      'Bitte lassen Sie Joomla unter System > Aktualisieren > Erweiterungen erneut nach Updates suchen. Dann bietet es die richtige Version an.',
    ],
  },
};

const BECAUSE: Record<StoppingEvent, string> = {
  refunded: 'ihre Zahlung erstattet wurde',
  charged_back: 'ihre Zahlung zurückgebucht wurde',
  subscription_ended: 'ihr Abonnement beendet ist',
  cancelled: 'ihre Bestellung storniert wurde',
};

const NEW_ORDER =
  'Eine neue Bestellung bekommt einen neuen Schlüssel. Falls Sie das für einen Irrtum halten, antworten Sie bitte auf diese Mail.';

const PASTE =
  'Bitte öffnen Sie in Joomla System > Aktualisieren > Aktualisierungsquellen, wählen Sie die Erweiterung und fügen Sie den ganzen Schlüssel noch einmal in das Feld Downloadschlüssel ein, ohne Leerzeichen davor oder dahinter.';

function larger({ upgradeUrl }: ReplyFacts, says: string): string[] {
  return upgradeUrl === null ? [] : [`${says}\n${upgradeUrl}`];
}

function on(date: Date | null): string {
  return date === null ? '' : ` am ${german.longDay(date)}`;
}

/** Returns the beginning of a sentence. */
function valid(facts: ReplyFacts): string {
  const { endedOn, nextPayment } = facts;
  if (endedOn === null) return `${your(facts)} ist gültig`;
  const until = german.longDay(endedOn);
  if (nextPayment === 'awaited')
    return `${your(facts)} ist bis ${until} bezahlt, die Verlängerung wird erwartet`;
  return nextPayment === 'by_itself'
    ? `${your(facts)} ist bis ${until} bezahlt und verlängert sich von selbst`
    : `${your(facts)} ist bis ${until} gültig`;
}

function your({ product, hint }: ReplyFacts): string {
  return `Ihre Lizenz${product === null ? '' : ` für ${product}`}${hint === null ? '' : ` (Schlüssel endet auf ${hint})`}`;
}

function forProduct({ product }: ReplyFacts): string {
  return product === null ? '' : ` für ${product}`;
}

function ends({ hint, seenHint }: ReplyFacts): string {
  return hint === null || seenHint === null || hint === seenHint
    ? ''
    : ` Er endet auf ${seenHint}, Ihrer endet auf ${hint}.`;
}

function all({ slots, activationType }: ReplyFacts): string {
  const { der, one, many } = thing(activationType);
  return slots === 1 ? `ist ${der} einzige ${one}` : `sind alle ${german.number(slots)} ${many}`;
}

function which({ activationType }: ReplyFacts): string {
  const { er, one } = thing(activationType);
  return `welch${er} ${one}`;
}
