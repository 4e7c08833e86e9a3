import type { worksNow as en } from '../en/works-now';
import { counted, endsSentence } from '../../case';
import { states, thing } from '../../customers/de/words';
import type { Translated } from '../../translated';

/** The texts that state whether a licence works now, in German. */
export const worksNow: Translated<typeof en> = {
  summary: (state, code, status) => {
    if (state === 'fine') return 'alles in Ordnung';
    if (state === 'again') return 'funktioniert wieder';
    return status === null ? (SUMMARY[code ?? ''] ?? 'abgelehnt') : states[status];
  },
  sameReason: (activationType, used) =>
    `Neue ${thing(activationType).many} werden aus demselben Grund abgelehnt.${used === null ? '' : ` ${used}`}`,
  used: (used, limit) =>
    `${used} von ${counted(limit, 'Platz', 'Plätzen')} ${used === '1' ? 'ist' : 'sind'} belegt.`,
  joomlaSays: {
    403: 'Joomla zeigt dem Kunden nur „Error connecting to the server: 403“.',
    404: 'Joomla zeigt dem Kunden nur „Error connecting to the server: 404“.',
  },
  refusedSince: (count, written, isMore) =>
    count === 0
      ? 'Seitdem wurde kein Update abgelehnt.'
      : `Seitdem ${count === 1 ? 'wurde 1 Update' : `wurden ${isMore ? 'mindestens ' : ''}${written} Updates`} abgelehnt.`,
  stopped: (day, actor, reason) =>
    `Seit dem ${day}${actor === null ? '' : ` (${actor})`}${reason === null ? '' : `: „${reason}“`}${endsSentence(reason) ? '' : '.'}`,
  updatesAgain: (since) => `Updates funktionieren seit ${since} wieder.`,
  refusedBefore: (count, written, last) =>
    count === 1
      ? `Davor 1 Ablehnung, ${last}. Der Kunde kann es noch einmal versuchen.`
      : `Davor ${written} Ablehnungen, die letzte ${last}. Der Kunde kann es noch einmal versuchen.`,
  lastRefused: (identifier, at, count, written) =>
    `Zuletzt abgelehnt: ${identifier}, ${at}${count === 1 ? '' : `, ${written}-mal`}. Was belegt ist, läuft weiter.`,
  keepsWorking: 'Was belegt ist, läuft weiter.',
  onlySlotUsed: 'Der einzige Platz ist belegt.',
  quiet: (days, day) =>
    `Keine Ablehnung in ${counted(days, 'Tag', 'Tagen')}.${day === null ? '' : ` Das letzte Update wurde am ${day} gesendet.`}`,
};

const SUMMARY: Record<string, string> = {
  ACTIVATION_LIMIT_REACHED: 'voll belegt',
  DOWNLOAD_NOT_FOUND: 'nichts veröffentlicht',
  FILE_NOT_FOUND: 'Paket fehlt',
  LICENSE_NOT_FOUND: 'dieser Schlüssel gilt nicht mehr',
};
