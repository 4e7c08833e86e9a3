import type { Child } from 'hono/jsx';

/** A framed part of a page. @param aside a note or link at the right of its heading */
export function Panel({
  id,
  title,
  aside,
  footer,
  kind = '',
  inside = false,
  children,
}: {
  /** unique in the page */
  id: string;
  title?: string | undefined;
  aside?: Child;
  footer?: Child;
  /** further classes */
  kind?: string;
  /** all of it has the inner margin */
  inside?: boolean;
  children: Child;
}) {
  return (
    <section
      class={`panel ${kind}`.trim()}
      {...(title === undefined ? {} : { 'aria-labelledby': `h-${id}` })}
    >
      {title === undefined ? null : (
        <header>
          <h2 id={`h-${id}`}>{title}</h2>
          {aside === undefined ? null : <span class="small muted">{aside}</span>}
        </header>
      )}
      {inside ? <Inside>{children}</Inside> : children}
      {footer === undefined ? null : <footer>{footer}</footer>}
    </section>
  );
}

/** The inner margin of a panel, for what is no table or list. */
export function Inside({ children }: { children: Child }) {
  return <div class="in">{children}</div>;
}

/** The title of a page, with its actions. */
export function Head({ title, sub, actions }: { title: Child; sub?: Child; actions?: Child }) {
  return (
    <div class="head">
      <div>
        <h1>{title}</h1>
        {sub === undefined ? null : <div class="sub mt-1">{sub}</div>}
      </div>
      {actions === undefined ? null : <div class="acts">{actions}</div>}
    </div>
  );
}

/** A list of terms with what they are. A fact without a value is left out. */
export function Facts({ facts }: { facts: (readonly [term: string, value: Child] | undefined)[] }) {
  return (
    <dl class="facts">
      {facts
        .filter((fact) => fact !== undefined)
        .map(([term, value]) => (
          <>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  );
}
