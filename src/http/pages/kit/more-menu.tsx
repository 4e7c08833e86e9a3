import type { Child } from 'hono/jsx';
import { LineIcon } from './icons';

/** The menu of the less used actions of a row. @param label the accessible name, which contains the row's name */
export function MoreMenu({ label, children }: { label: string; children: Child }) {
  return (
    <details class="menu">
      <summary class="btn btn-plain btn-icon btn-sm" aria-label={label}>
        <LineIcon name="ellipsis" />
      </summary>
      <div class="pop">{children}</div>
    </details>
  );
}
