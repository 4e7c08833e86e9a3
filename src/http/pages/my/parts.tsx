import type { Child } from 'hono/jsx';
import { Icon, type IconName } from '../kit/icons';
import { useView } from '../view';

/** Small parts of the customer's pages. */

/** The colour of a verdict: `ok` works, `warn` has ended or is full, `bad` is withdrawn, `off` is suspended. */
export type VerdictKind = 'ok' | 'warn' | 'bad' | 'off';

/** The sign-out button, for a shared computer. */
export function SignOut() {
  const { t, to } = useView();
  return (
    <form method="post" action={to('/my/sign-out')}>
      <button class="btn btn-plain" type="submit">
        {t.kit.signOut}
      </button>
    </form>
  );
}

export function RenewLink({ url, kind }: { url: string | null; kind: string }) {
  const { t, shopName } = useView();
  if (url === null) return null;
  return (
    <a class={kind} href={url}>
      {shopName === '' ? t.my.renew : t.my.renewAt(shopName)}
    </a>
  );
}

export function UpgradeLink({ url, kind }: { url: string | null; kind: string }) {
  const { t } = useView();
  if (url === null) return null;
  return (
    <a class={kind} href={url}>
      {t.my.upgrade}
    </a>
  );
}

export function SupportLink({ url, kind }: { url: string | null; kind: string }) {
  const { t } = useView();
  if (url === null) return null;
  return (
    <a class={kind} href={url}>
      {t.my.askSeller}
    </a>
  );
}

/** The verdict at the top of a page, with its explanation. */
export function VerdictPanel({
  kind,
  icon,
  title,
  children,
}: {
  kind: VerdictKind;
  icon: IconName;
  title: Child;
  children?: Child;
}) {
  return (
    <section class={`panel verdict verdict-${kind}`} aria-labelledby="h-state">
      <div class="top">
        <Icon name={icon} />
        <div>
          <h2 id="h-state">{title}</h2>
          {children}
        </div>
      </div>
    </section>
  );
}

/** The used slots as a bar next to their number. */
export function Meter({ used, limit }: { used: number; limit: number }) {
  if (limit === 0) return null;
  const share = Math.min(100, Math.round((used / limit) * 1000) / 10);
  return (
    <svg class="meter" aria-hidden="true" focusable="false">
      <rect class="bg" width="100%" height="6" rx="3" />
      <rect class={used >= limit && limit > 1 ? 'b full' : 'b'} width={`${share}%`} height="6" rx="3" />
    </svg>
  );
}

/**
 * A download button. It is a form with POST, because logs and the browser's history would keep the address of a GET.
 */
export function DownloadButton({
  licenseId,
  productId,
  version,
  isPrimary = false,
  children,
}: {
  /** undefined for the licence of the session's key */
  licenseId?: number;
  productId: number;
  version: string;
  isPrimary?: boolean;
  children: Child;
}) {
  const { to } = useView();
  return (
    <form method="post" action={to('/my/downloads')}>
      {licenseId === undefined ? null : <input type="hidden" name="license_id" value={String(licenseId)} />}
      <input type="hidden" name="product_id" value={String(productId)} />
      <input type="hidden" name="version" value={version} />
      <button class={isPrimary ? 'btn btn-sm btn-primary' : 'btn btn-sm'} type="submit">
        {children}
      </button>
    </form>
  );
}
