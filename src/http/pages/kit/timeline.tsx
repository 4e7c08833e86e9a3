import type { Child } from 'hono/jsx';
import type { TagKind } from './status';

/** An event in a list of the class `tl`, which shows events on a line. */
export function TimelineItem({
  kind = 'off',
  icon,
  when,
  children,
}: {
  kind?: TagKind;
  icon: Child;
  /** the time */
  when: Child;
  children: Child;
}) {
  return (
    <li>
      <span class={`dot dot-${kind}`}>{icon}</span>
      <div class="say">{children}</div>
      {when}
    </li>
  );
}
