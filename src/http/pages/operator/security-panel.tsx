import { readSecurityAdoption, type SecurityAdoption } from '../../../licensing/reported-sites';
import { ButtonLink } from '../kit/fields';
import { NoteLine } from '../kit/note';
import type { OperatorCall } from '../page';
import { useView } from '../view';
import { LONG_TIMEOUT_MS, loadOptional } from '../load-optional';

/**
 * Returns the adoption of the newest security release; undefined if none exists, or if it was not loaded within the
 * timeout.
 */
export function loadSecurityAdoption(
  call: OperatorCall,
  productId: number,
): Promise<SecurityAdoption | undefined> {
  return loadOptional(call, (on) => readSecurityAdoption(on, productId), LONG_TIMEOUT_MS);
}

/** The product's newest security release, with the number of sites that still run an older version. */
export function SecurityPanel({ standing }: { standing: SecurityAdoption | undefined }) {
  const { t, to, format, mayWrite } = useView();
  if (standing === undefined) return null;
  const { release, counted, behind } = standing;
  const { id, productId, version, notifiedAt } = release;
  const texts = t.releases.security;
  return (
    <NoteLine
      kind={behind > 0 ? 'bad' : 'warn'}
      action={
        notifiedAt === null && mayWrite ? (
          <ButtonLink path={`/releases/${id}/notify`} label={texts.tell} />
        ) : null
      }
    >
      <strong>{texts.title(version)}</strong>{' '}
      <a href={to(`/products/${productId}/sites`)}>
        {texts.behindOf(format.number(behind), format.number(counted))}
      </a>
      . <a href={to(`/releases/${id}/exposure`)}>{t.told.exposure.link}</a>{' '}
      {notifiedAt === null ? null : texts.told(format.moment(notifiedAt))}
    </NoteLine>
  );
}
