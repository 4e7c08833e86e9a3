import type { Child } from 'hono/jsx';
import { useView } from '../view';
import { Icon, type IconName } from './icons';

export type LicenseStatus = 'active' | 'expired' | 'suspended' | 'revoked' | 'cancelled';

export type TagKind = 'ok' | 'warn' | 'bad' | 'off';

/** A badge for a state. Its shape and its word are enough without the colour. */
export function Tag({ kind, icon, children }: { kind: TagKind; icon: IconName; children: Child }) {
  return (
    <span class={kind === 'off' ? 'tag' : `tag tag-${kind}`}>
      <Icon name={icon} />
      {children}
    </span>
  );
}

const LOOKS: Record<LicenseStatus, [TagKind, IconName]> = {
  active: ['ok', 'yes'],
  expired: ['warn', 'clock'],
  suspended: ['off', 'pause'],
  revoked: ['bad', 'slash'],
  cancelled: ['off', 'minus'],
};

/** The shape of a licence's status, next to the licence's name. */
export function StatusIcon({ status }: { status: LicenseStatus }) {
  const [kind, icon] = LOOKS[status];
  return <Icon name={icon} kind={kind} />;
}

/** The badge of a licence's status. @param says a longer text instead of the status, such as one with the end */
export function Status({ status, says }: { status: string; says?: string }) {
  const { t } = useView();
  const known = status as LicenseStatus;
  const [kind, icon] = LOOKS[known];
  return (
    <Tag kind={kind} icon={icon}>
      {says ?? t.kit.status[known]}
    </Tag>
  );
}
