import type { Child } from 'hono/jsx';
import { Icon } from './icons';

/** A line that asks for one thing, or says what went wrong. */
export function NoteLine({
  kind = 'warn',
  role,
  action,
  children,
}: {
  kind?: 'warn' | 'bad';
  role?: 'status' | 'alert';
  /** its button */
  action?: Child;
  children: Child;
}) {
  return (
    <div class={`note note-${kind}`} {...(role === undefined ? {} : { role })}>
      <Icon name={kind === 'warn' ? 'warning' : 'no'} />
      <div>{children}</div>
      {action}
    </div>
  );
}
