import { readProductSites } from '../../../licensing/told-sites';
import { latestRelease } from '../../../licensing/updates';
import type { Release } from '../../../store/releases';
import { ButtonLink } from '../kit/fields';
import { Inside, Panel } from '../kit/panel';
import type { OperatorCall } from '../page';
import { useView } from '../view';
import { within } from '../within';

/** A security release of a product, and how many sites still run an older version. */
interface SecurityStanding {
  release: Release;
  /** undefined: not known in time */
  sites: { counted: number; behind: number } | undefined;
}

/** @returns undefined when the latest version is no security release */
export async function readSecurityStanding(
  { db, at }: OperatorCall,
  productId: number,
): Promise<SecurityStanding | undefined> {
  const release = await latestRelease(db, productId);
  if (release === undefined || !release.security) return undefined;
  const told = await within(db, (on) => readProductSites(on, productId, { limit: 1, after: undefined }, at));
  const behind = told && Math.round(told.counted * (1 - (told.share ?? 1)));
  return { release, sites: told && { counted: told.counted, behind: behind ?? 0 } };
}

export function SecurityPanel({ standing }: { standing: SecurityStanding | undefined }) {
  const { t, to, format, mayWrite } = useView();
  if (standing === undefined) return null;
  const { release, sites } = standing;
  const { id, productId, version, notifiedAt } = release;
  const texts = t.releases.security;
  return (
    <Panel id="security" title={texts.title(version)}>
      <Inside>
        <p>
          <a href={to(`/products/${productId}/sites`)}>
            {sites === undefined
              ? texts.behind
              : texts.behindOf(format.number(sites.behind), format.number(sites.counted))}
          </a>
        </p>
        {notifiedAt !== null ? (
          <p class="mb-0">{texts.told(format.moment(notifiedAt))}</p>
        ) : mayWrite ? (
          <p class="acts mb-0">
            <ButtonLink path={`/releases/${id}/notify`}>{texts.tell}</ButtonLink>
          </p>
        ) : null}
      </Inside>
    </Panel>
  );
}
