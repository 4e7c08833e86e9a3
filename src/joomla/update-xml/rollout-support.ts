import { isCoded } from '../../base/errors';
import { requireProduct } from '../../licensing/find-or-throw';
import { OperatorError } from '../../licensing/operator-error';
import type { Db } from '../../store/engine/database';
import { releaseForShare } from '../../licensing/updates';
import { setRollout } from '../../packages/releases';
import { inTransaction } from '../../store/engine/transaction';
import { listReleases, FULL_ROLLOUT, type Release } from '../../store/releases';
import { readUpdateXmlState } from '../regenerate-update-xml';
import { fetchAsJoomla } from '../updater/fetch';
import { remedyForChallenge } from '../updater/remedies';
import { ASSUMED_JOOMLA } from '../updater/try';
import { locateUpdateXml, type XmlLocation } from './location';

/** Staged rollouts: checks whether the web server can offer a version to a share of the addresses. */

/** The header in which nginx returns the address's bucket (nginx/licensing.conf). */
export const BUCKET_HEADER = 'x-licensing-bucket';
const ANSWER_MS = 3_000;

/**
 * Refuses a share that the web server would ignore: then all sites would get the earlier version, or all the new one.
 * @param percent undefined or 100 needs no check
 * @throws OperatorError with the missing part
 */
export async function requireRolloutSupport(
  db: Db,
  home: XmlLocation,
  productId: number,
  percent: number | undefined,
): Promise<void> {
  if (percent === undefined || percent === FULL_ROLLOUT) return;
  const product = await requireProduct(db, productId);
  // Only Joomla reads the file; the API's update check applies the share itself.
  if (product.element === null) return;
  const url = (await locateUpdateXml(db, product, home))?.url ?? null;
  if (url === null)
    throw refused(
      'rollout-no-address',
      '',
      'The address of the update XML is not known, so the version cannot be offered to a share of the sites. Enter the address of the site (licensing settings set public_url), and let nginx serve LICENSING_XML_DIR: licensing nginx prints the lines.',
    );
  const answer = await fetchAsJoomla(url, { joomla: ASSUMED_JOOMLA, timeout: ANSWER_MS }).catch(
    (error: unknown) => {
      if (!isCoded(error, 'NO_ANSWER')) throw error;
      throw refused(
        'rollout-silent',
        url,
        `${url} does not answer (${error.message}), so it is not known whether nginx serves it, which can offer a version to a share of the sites, or Apache, which cannot. Nothing was changed.`,
      );
    },
  );
  if (answer.headers.has(BUCKET_HEADER)) return;
  const challenge = remedyForChallenge(answer, url);
  if (challenge !== undefined) throw refused('rollout-silent', url, `${challenge} Nothing was changed.`);
  const isApache = /apache|litespeed/i.test(answer.headers.get('server') ?? '');
  throw isApache
    ? refused(
        'rollout-apache',
        url,
        `${url} is served by Apache, which cannot offer a version to a share of the sites: it answers without X-Licensing-Bucket. Publish to all sites, or serve the update XML with nginx. Nothing was changed.`,
      )
    : refused(
        'rollout-nginx',
        url,
        `${url} answers without X-Licensing-Bucket, so every site would be offered the same version. Install the current files for nginx (licensing nginx prints them) and reload it. Neither Apache nor a hosting panel's static files can offer a version to a share. Nothing was changed.`,
      );
}

/**
 * Offers a published version to another share of the addresses.
 * @throws OperatorError if the web server would ignore the share, or these addresses are offered a newer version
 */
export async function stageRelease(
  db: Db,
  home: XmlLocation,
  { productId, version, state }: Release,
  percent: number,
): Promise<Release> {
  if (state === 'published') await requireRolloutSupport(db, home, productId, percent);
  return inTransaction(db, async (trx) => {
    const release = await setRollout(trx, productId, version, percent);
    if (percent === FULL_ROLLOUT) return release;
    const { rollouts } = await readUpdateXmlState(trx, home, productId);
    if (rollouts.some((one) => one.version === version)) return release;
    const published = (await listReleases(trx, productId)).filter((one) => one.state === 'published');
    const newer = releaseForShare(published, percent)?.version ?? '';
    throw new OperatorError(
      `Version ${newer} is already offered to these addresses, so none of them would be offered ${version}. Nothing was changed. Offer ${newer} to more addresses instead, or withdraw it.`,
      { code: 'CONFLICT', field: 'rollout', facts: { reason: 'rollout-replaced', version: newer } },
    );
  });
}

type Reason = 'rollout-no-address' | 'rollout-silent' | 'rollout-apache' | 'rollout-nginx';

function refused(reason: Reason, url: string, message: string): OperatorError {
  return new OperatorError(message, { code: 'CONFLICT', field: 'rollout', facts: { reason, url } });
}
