import { includedProducts, readCatalogue } from '../licensing/bundles';
import { createReleaseFinder, decideDownload } from '../licensing/download';
import { canonicalKey } from '../licensing/core/keys';
import { lookUp, type LicenseMatch } from '../licensing/core/lookup';
import { OperatorError } from '../licensing/operator-error';
import { liveStatus, paidUntil } from '../licensing/core/states';
import { isRefusal, judgeNewSite, type Refusal } from '../licensing/core/verdict';
import { createPackageFinder } from '../packages/package-files';
import type { Db } from '../store/engine/database';
import type { License } from '../store/licenses/licenses';
import type { Release } from '../store/releases';
import { inSnapshot } from '../store/engine/transaction';
import { hasCause } from './explain-accesses';
import { finding, timeOf } from './findings';
import type { RemedyAction, FindingCode, Finding, Name } from './finding-model';
import { openCase } from './open-case';
import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import type { NowFacts, NowRefusal, SupportTexts } from '../texts/operators/support';
import { adviceOf, sentenceOf, untracedSentences, pageFacts, inWords, type UntracedCode } from './sentences';
import type { CaseOptions, SupportCase } from './support-case';

/** The answer of `licensing why`, as data (docs/operator-api.md). */
export interface WhyAnswer {
  /** the licence of the case; null: none, or several */
  license_id: number | null;
  /** the licences to choose from if several match, with the way in which they were found */
  licenses: { license_id: number; matched: Name }[];
  /** null if no single licence is known */
  now: { updates: WhyVerdict; new_site: WhyVerdict } | null;
  /** findings about the licence or key, then the recorded requests in order of time */
  findings: ExplainedFinding[];
  /** requests from the licence's networks without its key, in order of time: perhaps another person's, so not counted */
  nearby: ExplainedFinding[];
  /** failures that leave no record here; empty if the findings have a cause */
  untraced: { code: UntracedCode; sentence: string }[];
}

/** The answer to a customer's request at this moment. */
interface WhyVerdict {
  allowed: boolean;
  /** the refusal's code for customers; null: allowed */
  code: NowRefusal | null;
  sentence: string;
}

export interface ExplainedFinding {
  code: FindingCode;
  /** JSON; for a recorded request it contains `request` */
  facts: object;
  sentence: string;
  since: string | null;
  count: number | null;
  action: RemedyAction | null;
  /** what to do in addition to the action; null: nothing */
  advice: string | null;
}

export interface WhyOptions extends CaseOptions {
  language: OperatorLanguage;
  packagesDir: string;
  /** writes days and domains as pages do, `12 Nov 2026`; otherwise English days are as in the command, `2026-11-12` */
  pageDays?: boolean;
}

/** @throws OperatorError if the text is empty */
export async function explain(db: Db, about: string, options: WhyOptions): Promise<WhyAnswer> {
  if (canonicalKey(about) === '')
    throw new OperatorError(
      'There is nothing to look for. Give a key, an e-mail address, an order or a site.',
      { code: 'INVALID_REQUEST', field: 'about' },
    );
  const { now, language, packagesDir, pageDays = false } = options;
  const dated = <Facts extends object>(facts: Facts) =>
    pageDays ? pageFacts(facts, language) : inWords(facts, language);
  return inSnapshot(db, async (trx) => {
    const {
      license,
      keyDigest,
      network,
      licenses = [],
      findings,
      accesses,
      nearby = [],
    } = await openKnownCase(trx, about, options);
    const isUntraced = licenses.length === 0 && !hasCause(findings, accesses);
    const tell = (one: Finding) => renderFinding(one, language, dated);
    return {
      license_id: license?.id ?? null,
      licenses: licenses.map((one) => ({ license_id: one.license.id, matched: one.by })),
      now:
        license && keyDigest !== undefined
          ? await judgeNow(trx, license, keyDigest, {
              now,
              network,
              say: OPERATORS[language].support.now,
              packagesDir,
              dated,
            })
          : null,
      findings: [...findings, ...accesses].map(tell),
      nearby: nearby.map(tell),
      untraced: isUntraced ? untracedSentences(language) : [],
    };
  });
}

/** Opens a case. The command refuses a number or marked name without a licence; as data, this is a finding. */
async function openKnownCase(db: Db, about: string, options: CaseOptions): Promise<SupportCase> {
  try {
    return await openCase(db, about, options);
  } catch (error) {
    const isUnknown =
      error instanceof OperatorError &&
      (error.code === 'NOT_FOUND' || error.facts?.reason === 'nothing-found');
    if (!isUnknown) throw error;
    return { license: undefined, findings: [finding('UNKNOWN_KEY', {})], accesses: [] };
  }
}

type Dated = <Facts extends object>(facts: Facts) => Facts;

/** Returns a finding with its sentences. */
export function renderFinding(
  { code, facts, since, count, action }: Finding,
  language: OperatorLanguage,
  dated: Dated = (facts) => inWords(facts, language),
): ExplainedFinding {
  const { support } = OPERATORS[language];
  const sayable = { code, facts: dated(facts) };
  return {
    code,
    facts,
    since,
    count,
    action,
    sentence: sentenceOf(support, sayable),
    advice: adviceOf(support, sayable),
  };
}

/** Decides the next update and the next new site with the functions that decide customers' requests. */
async function judgeNow(
  db: Db,
  license: License,
  keyDigest: string,
  {
    now,
    network,
    say,
    packagesDir,
    dated,
  }: {
    now: Date;
    network: string | undefined;
    say: SupportTexts['now'];
    packagesDir: string;
    dated: Dated;
  },
): Promise<WhyAnswer['now']> {
  const productId = license.product.id;
  const [found] = await lookUp(db, [{ keyDigest, productId }]);
  const update = await judgeUpdate(db, found, license, { now, network, packagesDir });
  const newSite = judgeNewSite(found, now);
  const facts: NowFacts = dated({
    license_status: liveStatus(license, now),
    expires_at: timeOf(paidUntil(license)),
    version: isRefusal(update) ? null : update.version,
    activation_type: license.plan.activationType,
    ...scarcest(license, found?.key.limit),
  });
  const verdict = (
    refusal: Refusal | undefined,
    allowed: (facts: NowFacts) => string,
    refused: (because: string, facts: NowFacts) => string,
  ): WhyVerdict => {
    if (refusal === undefined) return { allowed: true, code: null, sentence: allowed(facts) };
    const code = refusal.refused as NowRefusal;
    return { allowed: false, code, sentence: refused(say.because[code](facts), facts) };
  };
  return {
    updates: verdict(isRefusal(update) ? update : undefined, say.updates, say.updatesRefused),
    new_site: verdict(newSite, say.newSite, say.newSiteRefused),
  };
}

/** Returns the version that an update would get now. For a bundle without its own version: one of an included product. */
async function judgeUpdate(
  db: Db,
  found: LicenseMatch | undefined,
  { product }: License,
  { now, network, packagesDir }: { now: Date; network: string | undefined; packagesDir: string },
): Promise<Release | Refusal> {
  const finders = { releases: createReleaseFinder(db), findPackage: createPackageFinder(packagesDir) };
  const decide = async (productId: number): Promise<Release | Refusal> => {
    const request = { productId, network, identifierGiven: false, version: undefined };
    const { refusal, release } = await decideDownload(
      found && { ...found, covered: true },
      finders,
      request,
      now,
    );
    return refusal ?? (release as Release);
  };
  const own = await decide(product.id);
  if (!isRefusal(own) || own.refused !== 'DOWNLOAD_NOT_FOUND') return own;
  for (const { id } of includedProducts(await readCatalogue(db), product.id)) {
    const included = await decide(id);
    if (!isRefusal(included)) return included;
  }
  return own;
}

/** Returns the slots of the licence, or of its key if these are fewer. */
function scarcest(
  { activationLimit, activationsUsed }: License,
  ofKey: { slots: number; used: number } | undefined,
): Pick<NowFacts, 'activation_limit' | 'activations_used'> {
  return ofKey && (activationLimit === 0 || ofKey.slots - ofKey.used < activationLimit - activationsUsed)
    ? { activation_limit: ofKey.slots, activations_used: ofKey.used }
    : { activation_limit: activationLimit, activations_used: activationsUsed };
}
