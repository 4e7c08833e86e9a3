import type { Child } from 'hono/jsx';
import { CUSTOMERS } from '../../../texts/customers/languages';
import { useView } from '../view';
import { Document } from './document';
import { Head } from './panel';
import { Footer, SaidLine } from './operator-page';

/** A page of the customer, under the seller's name and picture. */
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
  /** on the page itself, where it is not the title of the window */
  heading?: Child;
  sub?: Child;
  actions?: Child;
  /** beside the seller's name */
  action?: Child;
  /** where the seller helps */
  help?: string | null | undefined;
  /** its parts stand apart */
  stack?: boolean;
  children: Child;
}) {
  const { t, to, shopName, logo } = useView();
  return (
    <Document title={shopName === '' ? title : `${title} · ${shopName}`}>
      <a class="visually-hidden-focusable skip" href="#main">
        {t.kit.skip}
      </a>
      <header class="cust-top">
        <div class="wrap narrow">
          <a class="brand" href={to('/my')}>
            {logo === undefined ? null : <img src={logo} alt="" height="32" />}
            <span>{shopName === '' ? t.my.title : shopName}</span>
          </a>
          {action}
        </div>
      </header>
      <main id="main" class="wrap narrow" tabindex={-1}>
        <SaidLine />
        <div {...(stack ? { class: 'stack mt-3' } : {})}>
          <Head title={heading} sub={sub} actions={actions} />
          {children}
        </div>
      </main>
      <Footer
        keys={false}
        narrow
        preferences="/my/preferences"
        languages={CUSTOMERS}
        help={
          help ? (
            <>
              <a href={help}>{t.my.askSeller}</a>{' '}
            </>
          ) : undefined
        }
      />
    </Document>
  );
}
