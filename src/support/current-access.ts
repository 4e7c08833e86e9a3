import type { WorksNowState } from './finding-model';
import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import { isFineWhenFull, type LiveStatus } from '../licensing/core/states';
import type { License } from '../store/licenses/licenses';
import { slotsOf } from './reply';
import type { HistoryEntry } from './request-history';
import { inWords } from './sentences';
import type { GroupedFindings } from './grouped-findings';
import type { WhyAnswer } from './why';

/** The answer to "Does it work now?": the same two lines on every licence's page. The functions are pure. */

export interface CurrentAccess {
  state: WorksNowState;
  /** the state in a word or two: "all is well", "suspended" */
  summary: string;
  updates: Line;
  newSite: Line;
  /** "No refusal in 90 days. Last update sent on 2 Nov 2026."; null: a request was refused */
  quiet: string | null;
}

export interface Line {
  allowed: boolean;
  sentence: string;
  /** the customer's message, and how often; null: no note */
  note: string | null;
}

interface WorksNowOptions {
  license: License;
  language: OperatorLanguage;
  now: Date;
  /** the zone of written times */
  zone: string;
  /** the days for which requests are kept */
  logDays: number;
}

/** @param happened all entries of the answer (`whatHappened`). @returns null if no single licence is known */
export function currentAccess(
  answer: GroupedFindings,
  happened: HistoryEntry[],
  options: WorksNowOptions,
): CurrentAccess | null {
  const { now } = answer;
  if (now === null) return null;
  const { language, license, logDays } = options;
  const { worksNow: texts, language: written } = OPERATORS[language];
  const refused = happened.filter(({ kind }) => kind === 'refused');
  const again = now.updates.allowed ? refused.filter((one) => isOver(one)) : [];
  const isFull = now.new_site.code === 'ACTIVATION_LIMIT_REACHED';
  const isUsed = isFull && !refused.some(isOfFullSlots) && isFineWhenFull(slotsOf(answer, license));
  const state = !now.updates.allowed
    ? 'refused'
    : !now.new_site.allowed && !isUsed
      ? 'no_new_site'
      : again.length > 0
        ? 'again'
        : 'fine';
  const updates = updatesLine(answer, again, options);
  const isSame = !now.updates.allowed && now.updates.code === now.new_site.code;
  const newSite = isSame
    ? {
        allowed: false,
        sentence: texts.sameReason(license.plan.activationType, slots(license, language)),
        note: null,
      }
    : {
        allowed: now.new_site.allowed,
        sentence: isUsed ? texts.onlySlotUsed : now.new_site.sentence,
        note: isUsed ? null : fullNote(now, refused, options),
      };
  const sent = happened.find(({ kind }) => kind === 'granted');
  return {
    state,
    summary: texts.summary(state, now.updates.code ?? now.new_site.code, statusOf(answer)),
    updates,
    newSite,
    quiet:
      refused.length > 0
        ? null
        : texts.quiet(written.number(logDays), sent ? written.day(sent.at, options.zone) : null),
  };
}

function isOfFullSlots({ code }: HistoryEntry): boolean {
  return code === 'SLOTS_FULL' || code === 'KEY_SLOTS_FULL';
}

/** Reports whether the licence's own state has ended this refusal. */
function isOver({ code, worksAgain }: HistoryEntry): boolean {
  return (
    code === 'ACTIVE_AGAIN' || code === 'PUBLISHED_SINCE' || code === 'COVERED_SINCE' || worksAgain !== null
  );
}

function updatesLine(
  answer: GroupedFindings,
  again: HistoryEntry[],
  { language, now, zone }: WorksNowOptions,
): Line {
  const { allowed, code, sentence } = (answer.now as NonNullable<WhyAnswer['now']>).updates;
  const { worksNow: texts, language: written } = OPERATORS[language];
  if (!allowed) {
    const facts = answer.stop && inWords(answer.stop.facts, language);
    const notes = [
      facts?.stopped_at
        ? texts.stopped(
            written.day(new Date(facts.stopped_at), zone),
            facts.actor ?? null,
            facts.reason ?? null,
          )
        : null,
      texts.joomlaSays[code === 'DOWNLOAD_NOT_FOUND' || code === 'FILE_NOT_FOUND' ? 404 : 403],
      facts?.refused_since === undefined || (facts.refused_since === 0 && facts.refused_more)
        ? null
        : texts.refusedSince(
            facts.refused_since,
            written.number(facts.refused_since),
            facts.refused_more ?? false,
          ),
    ];
    return { allowed, sentence, note: notes.filter((note) => note !== null).join(' ') };
  }
  const [last] = again;
  if (last === undefined) return { allowed, sentence, note: null };
  const count = again.reduce((sum, one) => sum + one.count, 0);
  const since = again.find(({ worksAgain }) => worksAgain)?.worksAgain;
  return {
    allowed,
    sentence: since ? texts.updatesAgain(written.moment(since, zone, now)) : sentence,
    note: texts.refusedBefore(count, written.number(count), written.moment(last.at, zone, now)),
  };
}

/** Returns the live status that stops it; null if it is active. */
function statusOf({ stop }: GroupedFindings): LiveStatus | null {
  return (stop?.code.toLowerCase() as LiveStatus | undefined) ?? null;
}

function fullNote(
  now: NonNullable<WhyAnswer['now']>,
  refused: HistoryEntry[],
  { language, now: at, zone }: WorksNowOptions,
): string | null {
  if (now.new_site.code !== 'ACTIVATION_LIMIT_REACHED') return null;
  const { worksNow: texts, language: written } = OPERATORS[language];
  const last = refused.find((one) => isOfFullSlots(one) && one.identifier !== null);
  return last?.identifier
    ? texts.lastRefused(
        last.identifier,
        written.moment(last.at, zone, at),
        last.count,
        written.number(last.count),
      )
    : texts.keepsWorking;
}

function slots({ activationLimit, activationsUsed }: License, language: OperatorLanguage): string | null {
  if (activationLimit === 0) return null;
  const { worksNow, language: written } = OPERATORS[language];
  return worksNow.used(written.number(activationsUsed), written.number(activationLimit));
}
