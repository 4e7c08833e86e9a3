import type { Child } from 'hono/jsx';
import type { TagKind } from './status';

/** An event of a timeline, which is a list with the class `tl`. */
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
