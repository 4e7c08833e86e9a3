import type { Child } from 'hono/jsx';
import { CUSTOMERS } from '../../../texts/customers/languages';
import { useView } from '../view';
import { Document } from './document';
import { Footer } from './footer';
import { Mark } from './operator-page';
import { PageHeader } from './panel';
import { Toast } from './toast';

/** The layout of a customer's page, with the seller's name and logo at the top. */
export function CustomerPage({
  title,
  heading = title,
  sub,
  actions,
  action,
  help,
  stack = false,
  children,
}: {
  title: string;
  /** the title on the page itself, if the window has another one */
  heading?: Child;
  sub?: Child;
  actions?: Child;
  /** a button next to the seller's name */
  action?: Child;
  /** the address of the seller's support */
  help?: string | null | undefined;
  /** true to separate the parts of the page with margins */
  stack?: boolean;
  children: Child;
}) {
  const { t, to, shopName, logo } = useView();
  const name = shopName === '' ? t.my.title : shopName;
  return (
    <Document title={shopName === '' ? title : `${title} · ${shopName}`}>
      <a class="skip" href="#main">
        {t.kit.skip}
      </a>
      <header class="bar bar-my">
        <div class="wrap narrow">
          <a class="brand" href={to('/my')}>
            {logo === undefined ? <Mark name={name} /> : <img src={logo} alt="" height="32" />}
            <span>{name}</span>
          </a>
          {action}
        </div>
      </header>
      <main id="main" tabindex={-1}>
        <div class={stack ? 'wrap narrow stack' : 'wrap narrow'}>
          <Toast />
          <PageHeader title={heading} sub={sub} actions={actions} />
          {children}
          <Footer
            preferences="/my/preferences"
            languages={CUSTOMERS}
            help={help ? <a href={help}>{t.my.askSeller}</a> : undefined}
          />
        </div>
      </main>
    </Document>
  );
}
