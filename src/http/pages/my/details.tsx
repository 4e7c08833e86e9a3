import { readPerson } from '../../../mail/customer-profile';
import { changeCustomer } from '../../../privacy/change-customer';
import { ACTOR } from '../../../selfservice/removals';
import { asCustomerLanguage, CUSTOMERS } from '../../../texts/customers/languages';
import { savePreferences } from '../preference-cookies';
import { Panel } from '../kit/panel';
import { useView } from '../view';
import { mailSessionRoute, redirectToLicenses, type MailCall } from './customer';

/** The customer's own address and language. */

/** Keeps the language for the pages of this browser, and for the mails to the customer. */
export const languageRoute = mailSessionRoute('/my/language', {
  get: redirectToLicenses,
  async post({ ctx, db, email, at: now, view }, sent) {
    const language = asCustomerLanguage(sent.get('language') ?? '');
    if (language === undefined) return redirectToLicenses();
    savePreferences(ctx, new URLSearchParams({ language }), view.to(''));
    await changeCustomer(db, email, { language }, { actor: ACTOR, now, mailing: undefined });
    return { to: '/my/mail#h-details' };
  },
});

/** The language of the mails to a customer, or that of the page if none is known. */
export async function mailLanguageOf({ db, email, view }: Pick<MailCall, 'db' | 'email' | 'view'>) {
  return (await readPerson(db, email)).language ?? view.language;
}

/** @param help the seller's page for questions */
export function Details({
  email,
  language,
  help,
}: {
  email: string;
  language: string;
  help: string | null | undefined;
}) {
  const { t, to } = useView();
  const { details, askSeller } = t.my;
  return (
    <Panel id="details" title={details.title}>
      <dl>
        <div class="set">
          <dt>{details.email}</dt>
          <dd>
            {email}
            <span class="sub">{details.emailHint}</span>
          </dd>
          {help ? (
            <dd>
              <a href={help} aria-label={`${details.email}: ${askSeller}`}>
                {askSeller}
              </a>
            </dd>
          ) : null}
        </div>
        <div class="set">
          <dt>{details.language}</dt>
          <dd>
            <form method="post" action={to('/my/language')}>
              <div class="seg" role="group" aria-label={details.language}>
                {Object.entries(CUSTOMERS).map(([code, { language: one }]) => (
                  <button
                    type="submit"
                    name="language"
                    value={code}
                    lang={code}
                    {...(code === language ? { 'aria-current': 'true' } : {})}
                  >
                    {one.name}
                  </button>
                ))}
              </div>
            </form>
            <span class="sub">{details.languageHint}</span>
          </dd>
        </div>
      </dl>
    </Panel>
  );
}
