import type { Child } from 'hono/jsx';
import { useView } from '../view';
import { OPERATORS } from '../../../texts/operators/languages';
import { Document } from './document';
import { Footer, Preferences } from './footer';
import { LineIcon } from './icons';
import type { LineIconName } from './line-icons';
import { Avatar, PageHeader } from './panel';
import { Toast } from './toast';

interface NavItem {
  path: string;
  icon: LineIconName;
  /** the guide in docs for this part of the navigation */
  guide: string;
}

const item = (path: string, icon: LineIconName, guide: string): NavItem => ({ path, icon, guide });

/** The navigation in groups: the sales, the extensions, and the service. */
const NAV = {
  sales: {
    overview: item('/', 'layout-dashboard', 'pages'),
    licenses: item('/licenses', 'key-round', 'support'),
    customers: item('/customers', 'users', 'customers'),
    orders: item('/orders', 'shopping-bag', 'shop'),
    renewals: item('/renewals', 'refresh-cw', 'renewals'),
  },
  extensions: {
    releases: item('/releases', 'rocket', 'releases'),
    products: item('/products', 'package', 'operator'),
  },
  service: {
    mails: item('/mails', 'mail', 'mail'),
    settings: item('/settings', 'settings', 'pages'),
    system: item('/system', 'server', 'doctor'),
  },
};
const ITEMS = { ...NAV.sales, ...NAV.extensions, ...NAV.service };
export type NavName = keyof typeof ITEMS;

/** The pages of docs that the pages of the navigation link to. */
export const GUIDES = Object.values(ITEMS).map(({ guide }) => guide);

export interface OperatorPageProps {
  title: string;
  nav: NavName | undefined;
  /** the breadcrumbs: links to the pages above this one */
  crumbs?: [title: string, path: string][];
  /** the text in the search field */
  about?: string;
  children: Child;
}

/** A page of the operator with a title and actions. */
export function TitledPage({
  heading,
  sub,
  actions,
  children,
  ...page
}: OperatorPageProps & {
  /** the title on the page itself, if the window has another one */
  heading?: Child;
  sub?: Child;
  actions?: Child;
}) {
  return (
    <OperatorPage {...page}>
      <PageHeader title={heading ?? page.title} sub={sub} actions={actions} />
      {children}
    </OperatorPage>
  );
}

/** A page of the operator: the navigation, the search and the account menu around its parts. */
export function OperatorPage({ title, nav, crumbs = [], about, children }: OperatorPageProps) {
  const { t, to, operator } = useView();
  const { common } = t;
  const help = <GuideLink page={nav === undefined ? 'index' : ITEMS[nav].guide} />;
  return (
    <Document title={`${title} · ${common.brand}`} kind={operator && 'frame'}>
      <a class="skip" href="#main">
        {common.skip}
      </a>
      {operator && <Sidebar nav={nav} />}
      <header class={operator ? 'bar' : 'bar bar-my'}>
        {operator === undefined ? (
          <div class="wrap narrow">
            <Brand />
          </div>
        ) : (
          <>
            <button
              class="btn btn-plain btn-icon only-small"
              type="button"
              popovertarget="side"
              aria-label={common.menu}
            >
              <LineIcon name="menu" />
            </button>
            <Search about={about} />
            <AccountMenu name={operator.name} />
          </>
        )}
      </header>
      <main id="main" tabindex={-1}>
        <div class={operator ? 'wrap' : 'wrap narrow'}>
          <Toast />
          {crumbs.length === 0 ? null : (
            <p class="crumb">
              <LineIcon name="arrow-left" />
              {crumbs.map(([name, path]) => (
                <a href={to(path)}>{name}</a>
              ))}
            </p>
          )}
          {children}
          {operator === undefined ? (
            <Footer preferences="/preferences" languages={OPERATORS} />
          ) : (
            <footer class="foot">
              {operator.scope === 'read' ? <span>{common.mayRead}</span> : null}
              {help}
            </footer>
          )}
        </div>
      </main>
      {operator && <ShortcutDialog />}
    </Document>
  );
}

/** The link to the first page, with the seller's name and the name of the program. */
function Brand() {
  const { t, to, shopName } = useView();
  const { brand } = t.common;
  return (
    <a class="brand" href={to('/')}>
      <Mark name={shopName === '' ? brand : shopName} />
      <span>
        {shopName === '' ? brand : shopName}
        {shopName === '' ? null : <small>{brand}</small>}
      </span>
    </a>
  );
}

/** A logo made from the first letter of a name. */
export function Mark({ name }: { name: string }) {
  return (
    <span class="mark" aria-hidden="true">
      {Array.from(name)[0]?.toUpperCase()}
    </span>
  );
}

/** The navigation at the left. In a small window it is a drawer, which its button opens without script. */
function Sidebar({ nav }: { nav: NavName | undefined }) {
  const { t, to, format, counts } = useView();
  const known: Partial<Record<NavName, number>> = counts ?? {};
  return (
    <nav class="side" id="side" popover="auto" aria-label={t.common.pages}>
      <Brand />
      {Object.values(NAV).map((group) => (
        <div class="nav">
          {(Object.entries(group) as [NavName, NavItem][]).map(([name, { path, icon }]) => (
            <a href={to(path)} {...(name === nav ? { 'aria-current': 'page' } : {})}>
              <LineIcon name={icon} />
              {t.common.nav[name]}
              {known[name] ? <span class="count">{format.number(known[name])}</span> : null}
            </a>
          ))}
        </div>
      ))}
    </nav>
  );
}

function Search({ about }: { about: string | undefined }) {
  const { t, to } = useView();
  const { common } = t;
  // Use POST, because an address or a log must not contain a pasted key.
  return (
    <form class="find" role="search" method="post" action={to('/find')}>
      <label class="visually-hidden" for="find">
        {common.findLabel}
      </label>
      <input
        id="find"
        name="about"
        type="search"
        autocomplete="off"
        data-search
        maxlength={500}
        value={about ?? ''}
        placeholder={common.findHint}
      />
      <kbd aria-hidden="true" data-key-hint hidden>
        /
      </kbd>
      <button type="submit" aria-label={common.find}>
        <LineIcon name="search" />
      </button>
    </form>
  );
}

/** The account menu: theme, language, keys, and the sign-out. */
function AccountMenu({ name }: { name: string }) {
  const { t, to, format } = useView();
  const { common, kit } = t;
  return (
    <details class="menu account">
      <summary class="btn btn-plain btn-icon">
        <Avatar name={name} />
        <span class="visually-hidden">{common.account(name)}</span>
      </summary>
      <div class="pop">
        <p>
          <strong>{name}</strong>
          <br />
          <span class="tiny muted">{kit.times(format.zone)}</span>
        </p>
        <hr />
        <Preferences preferences="/preferences" languages={OPERATORS}>
          <button type="button" data-open="#keys" hidden>
            {common.keyboard}
          </button>
        </Preferences>
        <hr />
        <form method="post" action={to('/sign-out')}>
          <button type="submit">{common.signOut}</button>
        </form>
      </div>
    </details>
  );
}

/** The dialog with the keyboard shortcuts, which `?` opens. */
function ShortcutDialog() {
  const { common } = useView().t;
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">{common.keys.title}</h2>
      <dl>
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
        <label class="opt" for="keys-on">
          <input type="checkbox" id="keys-on" data-keys checked />
          {common.keys.on}
        </label>
        <button class="btn" type="submit">
          {common.keys.close}
        </button>
      </form>
    </dialog>
  );
}

/** The link to the documentation, if it was built. */
function GuideLink({ page }: { page: string }) {
  const { t, guide } = useView();
  const address = guide(page);
  return address === undefined ? null : <a href={address}>{t.common.guide}</a>;
}
