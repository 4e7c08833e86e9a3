import { useView } from '../view';
import { Icon, LineIcon } from './icons';
import { NoteLine } from './note';

/** The flash message (toast) with the result of the action that led to this page. It remains until the next page. */
export function Toast() {
  const { t, to, path, flash } = useView();
  if (flash === undefined) return null;
  const sentenceOf: (...values: string[]) => string = { ...t.said, ...t.kit.said }[flash.code];
  const words: Record<string, (...facts: string[]) => string> = t.releases.remarks;
  const remarks = (flash.remarks ?? []).flatMap(([code = '', ...facts]) =>
    Object.hasOwn(words, code) ? (words[code]?.(...facts) ?? []) : [],
  );
  return (
    <>
      <div class="toast">
        <Icon name="yes" />
        <p role="status">{sentenceOf(...flash.values)}</p>
        {/* Without script, the link loads the page without the message. The script only removes the message. */}
        <a href={to(path)} data-close aria-label={t.kit.close}>
          <LineIcon name="x" />
        </a>
      </div>
      {remarks.map((remark) => (
        <NoteLine>{remark}</NoteLine>
      ))}
    </>
  );
}
