import { requireProduct } from '../licensing/find-or-throw';
import { OperatorError } from '../licensing/operator-error';
import { findRollouts } from '../licensing/updates';
import type { ProtectedFile } from '../packages/replace-file';
import type { Db } from '../store/engine/database';
import type { Challenge } from '../texts/operators/doctor';
import { areFilesCurrent, readFiles, versionsIn } from './update-xml/files';
import { readUpdateXmlOptions, type XmlOptions } from './update-xml/options';
import { locateUpdateXml, type XmlLocation } from './update-xml/location';
import { planUpdateXml, writeUpdateXml, type WrittenXml } from './update-xml/write';

/** The state of a product's update XML, which responses contain as `update_xml`. */
export interface UpdateXmlState {
  /** `stale`: the file lacks the latest change. `not_set`: the product has no element, or the XML no URL. */
  state: 'written' | 'stale' | 'not_set';
  /** the URL that customers' sites read; null if `not_set`, or for a file elsewhere whose URL is unknown */
  url: string | null;
}

/**
 * The response of an update XML's URL. `silent`: no response of the web server, for example no connection, a wrong
 * certificate, or a CDN's response instead.
 */
export type XmlProbeResult =
  /** `isStaged`: the web server can offer a version to a share of the addresses */
  | { state: 'answers'; isStaged: boolean }
  | { state: 'refuses'; status: number; isStaged: boolean }
  | { state: 'silent'; challenge?: Challenge | undefined };

/** Requests an update XML; undefined while the request runs */
export type ProbeUpdateXml = (url: string) => Promise<XmlProbeResult | undefined>;

export interface XmlResult extends UpdateXmlState {
  /** the reason that it is `stale`, as a sentence for the operator; null if it is not */
  reason: string | null;
  /** the XML that was written; undefined unless `written` */
  written: WrittenXml | undefined;
  /** the error, for the log or another message; undefined without one */
  fault: unknown;
}

const NOT_SET: XmlResult = {
  state: 'not_set',
  url: null,
  reason: null,
  written: undefined,
  fault: undefined,
};

/**
 * Writes a product's update XML after a change of a release, the product or an option. It never throws: the change is
 * made, and a failure here must not look as if it were not. If a withdrawn version holds lower ones back (`update-xml
 * write`), they are left out and the XML counts as `written`; `written.heldBack` names them.
 * @param own files that are never overwritten
 * @param allowDowngrade offers versions below withdrawn ones
 */
export async function regenerateUpdateXml(
  db: Db,
  home: XmlLocation,
  productId: number,
  {
    own = [],
    allowDowngrade,
  }: { own?: ProtectedFile[] | undefined; allowDowngrade?: boolean | undefined } = {},
): Promise<XmlResult> {
  let url: string | null = null;
  try {
    const place = await locateUpdateXml(db, await requireProduct(db, productId), home);
    if (place === undefined) return NOT_SET;
    url = place.url;
    const written = await writeUpdateXml(db, productId, { allowDowngrade }, home.xmlDir, own, home);
    return { state: 'written', url, reason: null, written, fault: undefined };
  } catch (error) {
    return { state: 'stale', url, reason: reasonOf(error), written: undefined, fault: error };
  }
}

/** Returns the reason for the operator. A driver's error would repeat the statement and its values. */
function reasonOf(error: unknown): string {
  return error instanceof OperatorError
    ? error.message
    : 'The update XML could not be written: the database or the disk failed.';
}

export interface ReadUpdateXml extends UpdateXmlState {
  reason: string | null;
  /** the reason that the XML cannot be made; undefined if it can */
  fault: OperatorError | undefined;
  /** the file's path; null if `not_set` */
  out: string | null;
  /** the versions in the present file; null if it cannot be read */
  offered: string[] | null;
  /** the right content of the file, for an operator who copies it by hand; null if it cannot be made */
  xml: string | null;
  /** all XMLs that the URL may respond with: during a rollout, some addresses get another file */
  served: string[];
  /** the versions that the file or the API offers to only a share of the addresses, highest first */
  rollouts: WrittenXml['rollouts'];
  options: XmlOptions;
}

const NOTHING = { xml: null, served: [] };

/** Compares a product's update XML with the published versions. @throws OperatorError if the product does not exist */
export async function readUpdateXmlState(
  db: Db,
  home: XmlLocation,
  productId: number,
): Promise<ReadUpdateXml> {
  const place = await locateUpdateXml(db, await requireProduct(db, productId), home);
  const options = await readUpdateXmlOptions(db, productId);
  const rollouts = (await findRollouts(db, productId)).map(({ version, rollout }) => ({
    version,
    percent: rollout,
  }));
  if (place === undefined)
    return { ...NOT_SET, ...NOTHING, rollouts, fault: undefined, out: null, offered: null, options };
  const { out, url } = place;
  const there = await readFiles(out);
  const known = { url, out, offered: versionsIn(there.xml), rollouts, options, fault: undefined };
  try {
    const { xml, files, ...plan } = await planUpdateXml(db, productId, {}, home.xmlDir, home);
    const planned = { ...known, xml, rollouts: plan.rollouts, served: [xml, ...files.buckets.values()] };
    if (areFilesCurrent(there, files)) return { ...planned, state: 'written', reason: null };
    return { ...planned, state: 'stale', reason: describeDifference(out, there.xml) };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { ...known, ...NOTHING, state: 'stale', reason: error.message, fault: error };
  }
}

function describeDifference(out: string, there: string | undefined): string {
  return there === undefined
    ? `${out} does not exist, or cannot be read.`
    : `${out} does not match the versions that are published now.`;
}
