import type { Child } from 'hono/jsx';

/** A panel (card), the only surface of a page. @param aside a note or link at the right of its heading */
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
  /** true if everything in it has the inner margin */
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
          {aside === undefined ? null : <span>{aside}</span>}
        </header>
      )}
      {inside ? <PanelBody>{children}</PanelBody> : children}
      {footer === undefined ? null : <footer>{footer}</footer>}
    </section>
  );
}

/** The inner margin of a panel, for everything except tables and lists. */
export function PanelBody({ children }: { children: Child }) {
  return <div class="in">{children}</div>;
}

/** The title of a page, with its actions. @param face the name of a person, whose initials precede it */
export function PageHeader({
  title,
  sub,
  actions,
  face,
}: {
  title: Child;
  sub?: Child;
  actions?: Child;
  face?: string | undefined;
}) {
  const text = (
    <div>
      <h1>{title}</h1>
      {sub === undefined ? null : <div class="sub">{sub}</div>}
    </div>
  );
  return (
    <div class="head">
      {face === undefined ? (
        text
      ) : (
        <div class="who">
          <Avatar name={face} />
          {text}
        </div>
      )}
      {actions === undefined ? null : <div class="acts">{actions}</div>}
    </div>
  );
}

/** A description list of labels and their values. Undefined facts are omitted. */
export function DescriptionList({ facts }: { facts: (readonly [term: string, value: Child] | undefined)[] }) {
  return (
    <dl class="facts">
      {facts
        .filter((fact) => fact !== undefined)
        .map(([term, value]) => (
          <div>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** An avatar with the initials of a name: those of its first and last word that begins with a capital letter. */
export function Avatar({ name }: { name: string }) {
  const words = name.split(/[^\p{L}\p{M}]+/u).filter(Boolean);
  const capitalized = words.filter((word) => /^\p{Lu}/u.test(word));
  const [first, ...others] = capitalized.length > 0 ? capitalized : words.slice(0, 1);
  return (
    <span class="face" aria-hidden="true">
      {[first, others.at(-1)].map((word) => Array.from(word ?? '')[0]?.toUpperCase())}
    </span>
  );
}
