import { useView } from '../view';
import { Icon, type IconName } from './icons';

export type LicenseStatus = 'active' | 'expired' | 'suspended' | 'revoked' | 'cancelled';

/** Told by shape and word, then by colour. */
const ICONS: Record<LicenseStatus, IconName> = {
  active: 'yes',
  expired: 'clock',
  suspended: 'pause',
  revoked: 'slash',
  cancelled: 'minus',
};

/** A licence's status. @param says more than the status, such as its end */
export function Status({ status, says }: { status: string; says?: string }) {
  const { t } = useView();
  const known = status as LicenseStatus;
  return (
    <span class={`st st-${known}`}>
      <Icon name={ICONS[known]} />
      {says ?? t.kit.status[known]}
    </span>
  );
}
