import type { Child } from 'hono/jsx';
import { LineIcon } from './icons';

/**
 * The menu of the less used actions of a row, or of a page.
 * @param label the accessible name, which contains the row's name
 */
export function MoreMenu({
  label,
  ofPage = false,
  children,
}: {
  label: string;
  /** true for the menu next to the buttons of a page's title, which has an edge like them */
  ofPage?: boolean;
  children: Child;
}) {
  return (
    <details class="menu">
      <summary class={ofPage ? 'btn btn-icon' : 'btn btn-plain btn-icon btn-sm'} aria-label={label}>
        <LineIcon name="ellipsis" />
      </summary>
      <div class="pop">{children}</div>
    </details>
  );
}
