import type { Child } from 'hono/jsx';
import { Icon } from './icons';

/** A line that requests one action or reports one problem. */
export function NoteLine({
  kind = 'warn',
  role,
  action,
  children,
}: {
  kind?: 'warn' | 'bad';
  role?: 'status' | 'alert';
  /** the button or link of the requested action */
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
