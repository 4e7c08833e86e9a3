import type { Child } from 'hono/jsx';
import { useView } from '../view';
import { LineIcon } from './icons';

/**
 * A text to copy or change. The button needs the script, and is hidden without it.
 * @param rows above 1 for a text area
 */
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
  /** the form field's name; only for a text area */
  name?: string;
  /** further buttons, next to "Copy" */
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
