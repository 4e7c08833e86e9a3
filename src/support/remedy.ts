import { formatDay, formatDuration, formatNumber, type LanguageCode } from '../licensing/dates';
import { prolongedUntil } from '../licensing/lifecycle';
import { liveStatus } from '../licensing/core/states';
import type { License } from '../store/licenses';
import { revival } from './explain-license';
import type { Action } from './findings';
import type { SortedAnswer } from './sorted-answer';

/** What makes a refused licence work again, as the licence's page offers it. Pure functions. */

export type RemedyStep =
  | { type: 'renew'; duration: string; until: Date }
  | { type: 'reinstate'; until: Date | null }
  /** a new licence in the place of one that has ended for good */
  | { type: 'issue'; planId: number; customer: string | null }
  | { type: 'remove_site' }
  | { type: 'raise_limit'; slots: number }
  | { type: 'raise_key_limit'; keyId: number; slots: number }
  | { type: 'change_plan' }
  | { type: 'publish'; productId: number }
  /** the published package's file has gone: the doctor says which */
  | { type: 'restore_package' }
  | { type: 'show_key'; keyId: number | null }
  | { type: 'add_key' };

export type Remedy = RemedyStep & {
  /** "Renew for 1 year: new end 23 Nov 2027" */
  label: string;
  /** the button's own text, "Renew for 1 year" */
  button: string;
  /** what to say beside the button; null: nothing */
  note: string | null;
};

export interface RemedyOptions {
  license: License;
  /** of the licence's plan; null: lifetime */
  planDuration: string | null;
  language: LanguageCode;
  now: Date;
}

/** @returns the one thing to do, null when updates and new sites work or nothing is known, and other ways to it */
export function remedyOf(
  answer: SortedAnswer,
  options: RemedyOptions,
): { remedy: Remedy | null; others: Remedy[] } {
  const { now } = answer;
  const steps = [
    ...(now?.updates.allowed === false ? stepsFor(now.updates.code, answer, options) : []),
    ...(now?.new_site.allowed === false ? stepsFor(now.new_site.code, answer, options) : []),
  ];
  const types = steps.map(({ type }) => type);
  const [remedy = null, ...others] = steps
    .filter(({ type }, i) => types.indexOf(type) === i)
    .map((step) => ({ ...step, ...TEXTS[options.language](step, options.license.plan.activationType) }));
  return { remedy, others };
}

/** What ends a refusal, the best first. */
function stepsFor(
  code: string | null,
  answer: SortedAnswer,
  { license, planDuration, now }: RemedyOptions,
): RemedyStep[] {
  const { expiresAt, plan, customer, product } = license;
  switch (code) {
    case 'LICENSE_EXPIRED':
    case 'LICENSE_INACTIVE': {
      const action = revival(license, now);
      if (action?.type === 'reinstate') return [{ type: 'reinstate', until: expiresAt }];
      if (action?.type !== 'renew') return [{ type: 'issue', planId: plan.id, customer }];
      const duration = planDuration ?? action.for;
      return [{ type: 'renew', duration, until: prolongedUntil(expiresAt, duration, now) }];
    }
    case 'ACTIVATION_LIMIT_REACHED':
      return [{ type: 'remove_site' }, ...moreSlots(answer, license), { type: 'change_plan' }];
    case 'DOWNLOAD_NOT_FOUND': {
      const action = actionOf(answer, 'NOTHING_PUBLISHED');
      return [{ type: 'publish', productId: action?.type === 'publish' ? action.product_id : product.id }];
    }
    case 'FILE_NOT_FOUND':
      return [{ type: 'restore_package' }];
    case 'LICENSE_NOT_FOUND': {
      if (liveStatus(license, now) !== 'active')
        return stepsFor('LICENSE_INACTIVE', answer, { license, planDuration, language: 'en', now });
      const action = actionOf(answer, 'KEY_REPLACED') ?? actionOf(answer, 'KEY_ENDED');
      return action?.type === 'reveal'
        ? [{ type: 'show_key', keyId: action.key_id ?? null }]
        : [{ type: 'add_key' }];
    }
    default:
      return [];
  }
}

/** The licence's limit, the key's, or both, whichever is reached. */
function moreSlots(
  { fullKey: key }: SortedAnswer,
  { activationLimit, activationsUsed }: License,
): RemedyStep[] {
  return [
    ...(activationLimit !== 0 && activationsUsed >= activationLimit
      ? [{ type: 'raise_limit' as const, slots: activationsUsed + 1 }]
      : []),
    ...(key
      ? [{ type: 'raise_key_limit' as const, keyId: key.key_id, slots: key.activations_used + 1 }]
      : []),
  ];
}

/** The action of a finding about the licence or its key. */
function actionOf({ about }: SortedAnswer, code: string): Action | null {
  return about.get(code)?.action ?? null;
}

type Words = Pick<Remedy, 'label' | 'button' | 'note'>;

function words(button: string, note: string | null = null, label = button): Words {
  return { button, note, label };
}

const TEXTS: Record<LanguageCode, (step: RemedyStep, activationType: string) => Words> = {
  en: (step, activationType) => {
    switch (step.type) {
      case 'renew': {
        const button = `Renew for ${formatDuration(step.duration, 'en')}`;
        const end = formatDay(step.until, 'en');
        return words(button, `new end: ${end}, counted from today`, `${button}: new end ${end}`);
      }
      case 'reinstate': {
        const note = step.until
          ? `ends ${formatDay(step.until, 'en')}, as before`
          : 'without an end, as before';
        return words('Reinstate', note, `Reinstate: ${note}`);
      }
      case 'issue':
        return words('Issue a new licence', 'same customer and plan; it gets a key of its own');
      case 'remove_site':
        return words(`Choose ${EN_THINGS[activationType] ?? 'a site'} to remove`);
      case 'raise_limit':
        return words(`Give ${formatNumber(step.slots, 'en')} slots`);
      case 'raise_key_limit':
        return words(`Give this key ${formatNumber(step.slots, 'en')} slots`);
      case 'change_plan':
        return words('Change the plan');
      case 'publish':
        return words('Publish a version', 'until then there is nothing to download for anybody');
      case 'restore_package':
        return words('See what is missing', 'the doctor names the file; publishing a new version helps too');
      case 'show_key':
        return words('Show the key that is valid now', 'send it to the customer');
      case 'add_key':
        return words('Add a key', 'the one that was asked about has ended');
    }
  },
  de: (step, activationType) => {
    switch (step.type) {
      case 'renew': {
        const button = `Um ${formatDuration(step.duration, 'de')} verlängern`;
        const end = formatDay(step.until, 'de');
        return words(button, `neu gültig bis ${end}, ab heute gerechnet`, `${button}: gültig bis ${end}`);
      }
      case 'reinstate': {
        const note = step.until
          ? `gültig bis ${formatDay(step.until, 'de')}, wie zuvor`
          : 'unbefristet, wie zuvor';
        return words('Freigeben', note, `Freigeben: ${note}`);
      }
      case 'issue':
        return words(
          'Neue Lizenz ausstellen',
          'gleicher Kunde und Tarif; sie bekommt einen eigenen Schlüssel',
        );
      case 'remove_site':
        return words(`${DE_THINGS[activationType] ?? 'Website'} zum Entfernen wählen`);
      case 'raise_limit':
        return words(`${formatNumber(step.slots, 'de')} Plätze geben`);
      case 'raise_key_limit':
        return words(`Diesem Schlüssel ${formatNumber(step.slots, 'de')} Plätze geben`);
      case 'change_plan':
        return words('Tarif ändern');
      case 'publish':
        return words('Version veröffentlichen', 'bis dahin kann niemand etwas herunterladen');
      case 'restore_package':
        return words('Nachsehen, was fehlt', 'die Prüfung nennt die Datei; auch eine neue Version hilft');
      case 'show_key':
        return words('Den jetzt gültigen Schlüssel anzeigen', 'senden Sie ihn dem Kunden');
      case 'add_key':
        return words('Schlüssel hinzufügen', 'der gesuchte gilt nicht mehr');
    }
  },
};

const EN_THINGS: Record<string, string> = { device: 'a device', seat: 'a seat', instance: 'an instance' };
const DE_THINGS: Record<string, string> = { device: 'Gerät', seat: 'Nutzer', instance: 'Instanz' };
