import type { Child } from 'hono/jsx';
import { THEMES, useView } from '../view';
import type { Language } from '../../../texts/language';
import { OPERATORS } from '../../../texts/operators/languages';
import { Document } from './document';
import { Head } from './panel';

const NAV = {
  overview: '/',
  licenses: '/licenses',
  customers: '/customers',
  orders: '/orders',
  releases: '/releases',
  products: '/products',
  system: '/system',
} as const;
export type NavName = keyof typeof NAV;

/** The page of docs that helps with each. */
export const GUIDES: Record<NavName, string> = {
  overview: 'pages',
  licenses: 'support',
  customers: 'customers',
  orders: 'shop',
  releases: 'releases',
  products: 'operator',
  system: 'doctor',
};

export interface OperatorPageProps {
  title: string;
  nav: NavName | undefined;
  /** links to the pages it lies below */
  crumbs?: [title: string, path: string][];
  /** what stands in the search field */
  about?: string;
  children: Child;
}

/** A page of the operator with its title on top, and its actions beside that. */
export function TitledPage({
  heading,
  sub,
  actions,
  children,
  ...page
}: OperatorPageProps & {
  /** on the page itself, where it is not the title of the window */
  heading?: Child;
  sub?: Child;
  actions?: Child;
}) {
  return (
    <OperatorPage {...page}>
      <Head title={heading ?? page.title} sub={sub} actions={actions} />
      {children}
    </OperatorPage>
  );
}

/** A page of the operator: what stands above and below each of them. */
export function OperatorPage({ title, nav, crumbs = [], about, children }: OperatorPageProps) {
  const { t, to, operator, shopName } = useView();
  const { common } = t;
  return (
    <Document title={`${title} · ${common.brand}`}>
      <a class="visually-hidden-focusable skip" href="#main">
        {common.skip}
      </a>
      <header class="top">
        <div class="wrap top-1">
          <a class="brand" href={to('/')}>
            {common.brand}
            {shopName === '' ? null : <span class="lg">{shopName}</span>}
          </a>
          {operator && (
            <>
              <details class="menu nav-menu only-sm">
                <summary>{common.menu}</summary>
                <nav aria-label={common.pages}>
                  <NavLinks nav={nav} />
                </nav>
              </details>
              {/* By POST: a pasted key must not stand in an address or a log. */}
              <form class="find" role="search" method="post" action={to('/find')}>
                <label class="visually-hidden" for="find">
                  {common.findLabel}
                </label>
                <input
                  class="form-control form-control-sm"
                  id="find"
                  name="about"
                  type="search"
                  autocomplete="off"
                  data-search
                  maxlength={500}
                  value={about ?? ''}
                  placeholder={common.findHint}
                />
                <button type="submit">{common.find}</button>
              </form>
              <form class="who" method="post" action={to('/sign-out')}>
                {operator.name} <button type="submit">{common.signOut}</button>
              </form>
            </>
          )}
        </div>
        {operator && (
          <nav class="wrap nav-row" aria-label={common.pages}>
            <NavLinks nav={nav} />
          </nav>
        )}
      </header>
      <main id="main" class="wrap" tabindex={-1}>
        <SaidLine />
        {operator?.scope === 'read' ? <p class="small muted mt-3 mb-0">{common.mayRead}</p> : null}
        {crumbs.length === 0 ? null : (
          <p class="crumb plain">
            {crumbs.map(([name, path]) => (
              <>
                <a href={to(path)}>{name}</a> /{' '}
              </>
            ))}
            {title}
          </p>
        )}
        {children}
      </main>
      <Footer
        keys={operator !== undefined}
        preferences="/preferences"
        languages={OPERATORS}
        help={operator && <Guide page={nav === undefined ? 'index' : GUIDES[nav]} />}
      />
      {operator && <Keys />}
    </Document>
  );
}

function NavLinks({ nav }: { nav: NavName | undefined }) {
  const { t, to } = useView();
  return (
    <>
      {(Object.keys(NAV) as NavName[]).map((name) => (
        <a href={to(NAV[name])} {...(name === nav ? { 'aria-current': 'page' } : {})}>
          {t.common.nav[name]}
        </a>
      ))}
    </>
  );
}

/** The result of the action that led to this page; it stays until the next page. */
export function SaidLine() {
  const { t, to, path, said } = useView();
  if (said === undefined) return null;
  const say: (...values: string[]) => string = { ...t.said, ...t.kit.said }[said.code];
  const words: Record<string, (...facts: string[]) => string> = t.releases.remarks;
  const remarks = (said.remarks ?? []).flatMap(([code = '', ...facts]) =>
    Object.hasOwn(words, code) ? (words[code]?.(...facts) ?? []) : [],
  );
  return (
    <>
      <div class="alert alert-success said mt-3 mb-0">
        <span role="status">{say(...said.values)}</span>
        {/* The page without it; the script takes it away at once. */}
        <a class="close" href={to(path)} data-close>
          {t.kit.close}
        </a>
      </div>
      {remarks.map((remark) => (
        <p class="alert alert-warning mt-3 mb-0">{remark}</p>
      ))}
    </>
  );
}

/** Time zone, theme and language. @param preferences where the choice is sent to */
export function Footer({
  keys,
  preferences,
  languages,
  narrow = false,
  help,
}: {
  keys: boolean;
  preferences: string;
  /** those that the page can be read in, by code */
  languages: Record<string, { language: Language }>;
  /** as wide as a customer's page */
  narrow?: boolean;
  help?: Child;
}) {
  const { t, to, format, theme, language, path } = useView();
  const { common, kit } = t;
  return (
    <footer class={narrow ? 'wrap narrow foot' : 'wrap foot'}>
      <span>{kit.times(format.zone)}</span>
      <form method="post" action={to(preferences)}>
        <input type="hidden" name="back" value={path} />
        {help}
        {keys ? (
          <button type="button" class="btn-text" data-open="#keys" hidden>
            {common.keyboard}
          </button>
        ) : null}
        <span>
          {kit.theme}:{' '}
          {THEMES.map((one) => (
            <>
              <button
                type="submit"
                class="btn-text"
                name="theme"
                value={one}
                {...(one === theme ? { 'aria-current': 'true' } : {})}
              >
                {kit.themes[one]}
              </button>{' '}
            </>
          ))}
        </span>
        {Object.entries(languages)
          .filter(([code]) => code !== language)
          .map(
            ([
              code,
              {
                language: { name },
              },
            ]) => (
              <button type="submit" class="btn-text" name="language" value={code} lang={code}>
                {name}
              </button>
            ),
          )}
      </form>
    </footer>
  );
}

/** The keys of the script, opened by `?`. */
function Keys() {
  const { common } = useView().t;
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">{common.keys.title}</h2>
      <dl class="facts">
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>{common.keys.search}</dd>
        <dt>
          <kbd>?</kbd>
        </dt>
        <dd>{common.keys.list}</dd>
      </dl>
      <form method="dialog">
        <p class="form-check">
          <input class="form-check-input" type="checkbox" id="keys-on" data-keys checked />
          <label class="form-check-label" for="keys-on">
            {common.keys.on}
          </label>
        </p>
        <button class="btn btn-quiet" type="submit">
          {common.keys.close}
        </button>
      </form>
    </dialog>
  );
}

/** Leads to the documentation, where it was built. */
function Guide({ page }: { page: string }) {
  const { t, guide } = useView();
  const address = guide(page);
  return address === undefined ? null : (
    <>
      <a href={address}>{t.common.guide}</a>{' '}
    </>
  );
}
