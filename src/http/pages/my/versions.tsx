import type { OfferedProduct, OfferedVersion } from '../../../selfservice/versions';
import { ChangeList } from '../kit/changes';
import { Panel } from '../kit/panel';
import { useView } from '../view';
import { DownloadButton } from './parts';

/**
 * The versions of a product that a licence covers, each with its download or the reason why it cannot be downloaded.
 */
export function Versions({
  product: { id, versions, more },
  title,
  note,
}: {
  product: OfferedProduct;
  title: string;
  note: string | undefined;
}) {
  const { t, to } = useView();
  return (
    <Panel
      id={`versions-${id}`}
      title={title}
      aside={note}
      footer={
        more ? <a href={`${to('/my', { all: id })}#h-versions-${id}`}>{t.my.allVersions}</a> : undefined
      }
    >
      <ol class="ver">
        {versions.map((version) => (
          <Version productId={id} version={version} />
        ))}
      </ol>
    </Panel>
  );
}

function Version({
  productId,
  version: { version, releasedAt, size, changelog, security, code },
}: {
  productId: number;
  version: OfferedVersion;
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
        {security ? <p class="strong">{t.my.security}</p> : null}
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
