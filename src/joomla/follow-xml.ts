import { requireProduct } from '../licensing/find-or-refuse';
import { OperatorError } from '../licensing/operator-error';
import { findRollouts } from '../licensing/updates';
import type { OwnFile } from '../packages/replace-file';
import type { Db } from '../store/engine/database';
import { isAsPlanned, readFiles, versionsIn } from './update-xml/files';
import { readUpdateXmlOptions, type XmlOptions } from './update-xml/options';
import { findXmlPlace, type XmlHome } from './update-xml/place';
import { planUpdateXml, writeUpdateXml, type WrittenXml } from './update-xml/write';

/** Whether Joomla is offered what is published, as answers say it in `update_xml`. */
export interface UpdateXmlState {
  /** `stale`: the file lacks the latest change; `not_set`: no element, or no address to write it for */
  state: 'written' | 'stale' | 'not_set';
  /** where customers' sites ask for it; null: `not_set`, or a file elsewhere whose address is not known */
  url: string | null;
}

/** What the address of an update XML answers; `silent`: nothing, such as no connection or a wrong certificate. */
export type XmlReach = { state: 'answers' } | { state: 'refuses'; status: number } | { state: 'silent' };

/** @returns undefined: it is being asked */
export type AskForXml = (url: string) => Promise<XmlReach | undefined>;

export interface FollowedXml extends UpdateXmlState {
  /** why it is `stale`, in a sentence for the operator; null: it is not */
  reason: string | null;
  /** what was written; undefined unless `written` */
  written: WrittenXml | undefined;
  /** what was thrown, for the log or for other words; undefined: nothing */
  fault: unknown;
}

const NOT_SET: FollowedXml = {
  state: 'not_set',
  url: null,
  reason: null,
  written: undefined,
  fault: undefined,
};

/**
 * Writes a product's update XML after a change of a release, the product or an option. Never throws: the change itself
 * has been made, and a failure here must not read as if it had not. A withdrawn version that holds lower ones back
 * (`update-xml write`) leaves them out, and the XML is `written`; `written.heldBack` names them.
 *
 * @param own files that are never overwritten
 * @param allowDowngrade offer versions below those already withdrawn
 */
export async function followUpdateXml(
  db: Db,
  home: XmlHome,
  productId: number,
  { own = [], allowDowngrade }: { own?: OwnFile[] | undefined; allowDowngrade?: boolean | undefined } = {},
): Promise<FollowedXml> {
  let url: string | null = null;
  try {
    const place = await findXmlPlace(db, await requireProduct(db, productId), home);
    if (place === undefined) return NOT_SET;
    url = place.url;
    const written = await writeUpdateXml(db, productId, { allowDowngrade }, home.xmlDir, own, home);
    return { state: 'written', url, reason: null, written, fault: undefined };
  } catch (error) {
    return { state: 'stale', url, reason: reasonOf(error), written: undefined, fault: error };
  }
}

/** The driver's own words repeat the statement and its values. */
function reasonOf(error: unknown): string {
  return error instanceof OperatorError
    ? error.message
    : 'The update XML could not be written: the database or the disk failed.';
}

export interface ReadUpdateXml extends UpdateXmlState {
  reason: string | null;
  /** why it cannot be made; undefined: it can */
  fault: OperatorError | undefined;
  /** the file's path; null: `not_set` */
  out: string | null;
  /** the versions that the file offers as it lies there; null: it cannot be read */
  offered: string[] | null;
  /** what the file should have, for an operator who puts it there by hand; null: it cannot be made */
  xml: string | null;
  /** what its address may answer: during a rollout, some addresses get another file */
  served: string[];
  /** versions that only a share of the addresses is offered, by the file or by the API, from the highest */
  rollouts: WrittenXml['rollouts'];
  options: XmlOptions;
}

const NOTHING = { xml: null, served: [] };

/** Compares a product's update XML with what is published now. @throws OperatorError when there is no such product */
export async function readUpdateXmlState(db: Db, home: XmlHome, productId: number): Promise<ReadUpdateXml> {
  const place = await findXmlPlace(db, await requireProduct(db, productId), home);
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
    if (isAsPlanned(there, files)) return { ...planned, state: 'written', reason: null };
    return { ...planned, state: 'stale', reason: describeDifference(out, there.xml) };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { ...known, ...NOTHING, state: 'stale', reason: error.message, fault: error };
  }
}

function describeDifference(out: string, there: string | undefined): string {
  return there === undefined
    ? `${out} is not there, or may not be read by this user.`
    : `${out} does not offer what is published now.`;
}
