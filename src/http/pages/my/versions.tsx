import { supportMonth } from '../../../licensing/durations';
import type { OfferedProduct, OfferedVersion } from '../../../selfservice/versions';
import { ChangeList } from '../kit/changes';
import { Panel } from '../kit/panel';
import { useView } from '../view';
import { DownloadButton } from './parts';

/**
 * The versions of a product that a licence covers, each with its download or the reason why it cannot be downloaded.
 */
export function Versions({
  product: { id, versions, more, supportUntil },
  title,
  note,
  isEnded,
  isWhole,
}: {
  product: OfferedProduct;
  title: string;
  note: string | undefined;
  /** a security release that an ended licence still covers is free */
  isEnded: boolean;
  /** the older versions are open, because all of them were asked for */
  isWhole: boolean;
}) {
  const { t, to, format } = useView();
  // Show the newest one, and below it the older ones down to the first that can be downloaded.
  const shown = versions.findIndex(({ code }) => code === null) + 1 || 1;
  const older = versions.slice(shown);
  const all = more ? (
    <a href={`${to('/my', { all: id })}#h-versions-${id}`}>{t.my.allVersions}</a>
  ) : undefined;
  return (
    <Panel id={`versions-${id}`} title={title} aside={note}>
      {supportUntil === null ? null : (
        <p class="in small muted">{t.my.supportUntil(supportMonth(supportUntil, format))}</p>
      )}
      <ol class="ver">
        {versions.slice(0, shown).map((version) => (
          <Version productId={id} version={version} isEnded={isEnded} />
        ))}
      </ol>
      {older.length === 0 ? null : (
        <details class="fold" open={isWhole}>
          <summary>{t.my.older}</summary>
          <ol class="ver">
            {older.map((version) => (
              <Version productId={id} version={version} isEnded={isEnded} />
            ))}
          </ol>
          {all === undefined ? null : <footer>{all}</footer>}
        </details>
      )}
    </Panel>
  );
}

function Version({
  productId,
  isEnded,
  version: { version, releasedAt, size, changelog, security, code },
}: {
  productId: number;
  version: OfferedVersion;
  isEnded: boolean;
}) {
  const { t, format } = useView();
  return (
    <li>
      <div>
        <strong>{version}</strong>{' '}
        <span class="muted small">
          {releasedAt === null ? null : `${format.localDay(releasedAt)} · `}
          {format.bytes(size)}
        </span>
        {security ? (
          <p class="strong">{isEnded && code === null ? t.my.securityFree : t.my.security}</p>
        ) : null}
        <ChangeList changelog={changelog} words={t.my.changes} />
      </div>
      <div>
        {code === null ? (
          <DownloadButton productId={productId} version={version}>
            {t.my.download}
            <span class="visually-hidden"> {version}</span>
          </DownloadButton>
        ) : (
          <span class="small muted">{t.sentences.whyNot[code]}</span>
        )}
      </div>
    </li>
  );
}
