import type { Child } from 'hono/jsx';
import { useView } from '../view';
import { LineIcon } from './icons';

/** A text to be copied or changed. The button needs the script, and is hidden without it. @param rows of more than one line */
export function CopyText({
  id,
  label,
  text,
  rows = 1,
  isCode = false,
  name,
  children,
}: {
  id: string;
  label: string;
  text: string;
  rows?: number;
  isCode?: boolean;
  /** of a field in a form; only of more than one line */
  name?: string;
  /** beside the button */
  children?: Child;
}) {
  const { t } = useView();
  return (
    <>
      {rows === 1 ? (
        <input class="input mono" id={id} aria-label={label} value={text} readonly />
      ) : (
        <textarea
          class={`area reply${isCode ? ' mono' : ''}`}
          id={id}
          aria-label={label}
          rows={rows}
          {...(name === undefined ? {} : { name })}
        >
          {text}
        </textarea>
      )}
      <p class="acts">
        <button
          class="btn"
          type="button"
          data-copy={`#${id}`}
          data-copied={t.kit.copied}
          data-copy-failed={t.kit.copyFailed}
          hidden
        >
          <LineIcon name="copy" />
          {t.kit.copy}
        </button>
        {children}
      </p>
    </>
  );
}
