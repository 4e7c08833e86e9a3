import type { LanguageCode } from '../dates';
import type { WorksNow } from '../../support/works-now';

/** The words of `works-now.ts`. */

const english = {
  /** @param status that stops the licence; null: it is active */
  summary: (state: WorksNow['state'], code: string | null, status: string | null): string => {
    if (state === 'fine') return 'all is well';
    if (state === 'again') return 'it failed, and works again';
    return EN_STATUS[status ?? ''] ?? EN_SUMMARY[code ?? ''] ?? 'refused';
  },
  sameReason: (activationType: string, used: string | null) =>
    `New ${EN_THINGS[activationType] ?? 'sites'} are refused for the same reason.${used === null ? '' : ` ${used}`}`,
  used: (used: string, limit: string, count: number) =>
    `${used} of ${limit} ${count === 1 ? 'slot is' : 'slots are'} used.`,
  joomlaSays: {
    403: 'Joomla tells the customer only “Error connecting to the server: 403”.',
    404: 'Joomla tells the customer only “Error connecting to the server: 404”.',
  },
  refusedSince: (count: number, written: string) =>
    count === 0
      ? 'No update refused since.'
      : `${written} ${count === 1 ? 'update' : 'updates'} refused since.`,
  stopped: (day: string, actor: string | null, reason: string | null) =>
    `Since ${day}${actor === null ? '' : `, by ${actor}`}${reason === null ? '' : `: “${reason}”`}${stopAfter(reason)}`,
  updatesAgain: (since: string) => `Updates work again since ${since}.`,
  refusedBefore: (count: number, written: string, last: string) =>
    count === 1
      ? `1 refusal before, ${last}. The customer can try again.`
      : `${written} refusals before, the last ${last}. The customer can try again.`,
  lastRefused: (identifier: string, at: string, count: number, written: string) =>
    `Last refused: ${identifier}, ${at}${count === 1 ? '' : `, ${written} times`}. What is activated keeps working.`,
  keepsWorking: 'What is activated keeps working.',
  quiet: (days: string, last: string | null) =>
    `No refusal in ${days} days.${last === null ? '' : ` Last update sent on ${last}.`}`,
};

/** A reason that ends its own sentence ends this one too. */
function stopAfter(reason: string | null): string {
  return reason !== null && /[.!?]$/.test(reason) ? '' : '.';
}

const EN_THINGS: Record<string, string> = { device: 'devices', seat: 'seats', instance: 'instances' };
const EN_STATUS: Record<string, string> = {
  expired: 'expired',
  suspended: 'suspended',
  revoked: 'revoked',
  cancelled: 'cancelled',
};
const EN_SUMMARY: Record<string, string> = {
  ACTIVATION_LIMIT_REACHED: 'full',
  DOWNLOAD_NOT_FOUND: 'nothing published',
  FILE_NOT_FOUND: 'package missing',
  LICENSE_NOT_FOUND: 'this key has ended',
};

export type WorksNowTexts = typeof english;

const german: WorksNowTexts = {
  summary: (state, code, status) => {
    if (state === 'fine') return 'alles in Ordnung';
    if (state === 'again') return 'es ging nicht und geht wieder';
    return DE_STATUS[status ?? ''] ?? DE_SUMMARY[code ?? ''] ?? 'abgelehnt';
  },
  sameReason: (activationType, used) =>
    `Neue ${DE_THINGS[activationType] ?? 'Websites'} werden aus demselben Grund abgelehnt.${used === null ? '' : ` ${used}`}`,
  used: (used, limit, count) => `${used} von ${limit} ${count === 1 ? 'Platz ist' : 'Plätzen sind'} belegt.`,
  joomlaSays: {
    403: 'Joomla zeigt dem Kunden nur „Error connecting to the server: 403“.',
    404: 'Joomla zeigt dem Kunden nur „Error connecting to the server: 404“.',
  },
  refusedSince: (count, written) =>
    count === 0
      ? 'Seitdem wurde kein Update abgelehnt.'
      : `Seitdem ${count === 1 ? 'wurde 1 Update' : `wurden ${written} Updates`} abgelehnt.`,
  stopped: (day, actor, reason) =>
    `Seit dem ${day}${actor === null ? '' : `, durch ${actor}`}${reason === null ? '' : `: „${reason}“`}${stopAfter(reason)}`,
  updatesAgain: (since) => `Updates funktionieren wieder seit ${since}.`,
  refusedBefore: (count, written, last) =>
    count === 1
      ? `Davor 1 Ablehnung, ${last}. Der Kunde kann es noch einmal versuchen.`
      : `Davor ${written} Ablehnungen, die letzte ${last}. Der Kunde kann es noch einmal versuchen.`,
  lastRefused: (identifier, at, count, written) =>
    `Zuletzt abgelehnt: ${identifier}, ${at}${count === 1 ? '' : `, ${written}-mal`}. Was belegt ist, läuft weiter.`,
  keepsWorking: 'Was belegt ist, läuft weiter.',
  quiet: (days, last) =>
    `Keine Ablehnung in ${days} Tagen.${last === null ? '' : ` Das letzte Update wurde am ${last} gesendet.`}`,
};

const DE_THINGS: Record<string, string> = { device: 'Geräte', seat: 'Nutzer', instance: 'Instanzen' };
const DE_STATUS: Record<string, string> = {
  expired: 'abgelaufen',
  suspended: 'ausgesetzt',
  revoked: 'entzogen',
  cancelled: 'storniert',
};
const DE_SUMMARY: Record<string, string> = {
  ACTIVATION_LIMIT_REACHED: 'voll belegt',
  DOWNLOAD_NOT_FOUND: 'nichts veröffentlicht',
  FILE_NOT_FOUND: 'Paket fehlt',
  LICENSE_NOT_FOUND: 'dieser Schlüssel gilt nicht mehr',
};

export const WORKS_NOW: Record<LanguageCode, WorksNowTexts> = { en: english, de: german };
