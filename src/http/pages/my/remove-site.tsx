import { asWritten } from '../../../licensing/core/identifiers';
import { readCatalogue } from '../../../licensing/bundles';
import { readMySite, type MySite } from '../../../selfservice/by-mail';
import { freeMySite } from '../../../selfservice/changes';
import { removalsAfterOne, type Removals } from '../../../selfservice/removals';
import { toId } from '../../../operations/reading';
import { CustomerPage } from '../kit/customer-page';
import { Submit } from '../kit/fields';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer } from '../page';
import { useView } from '../view';
import { byMail, found, queueOf, sentencesOf, type MailCall } from './customer';
import { AskLink, SignOut } from './parts';
import { ToLicenses } from './sites';

/** Removes a site, which asks first: the customer may remove only a few within 30 days. */

export const removeSiteRoute = byMail('/my/licenses/:id/sites/:site/remove', { get: ask, post: remove });

async function ask(call: MailCall): Promise<Answer> {
  const { db, email, path, at } = call;
  const id = toId(path.id);
  const read = found(await readMySite(db, email, id, toId(path.site), at));
  const { license, site, removals } = read;
  const { activationType } = license.plan;
  if (site.heldUntil !== null && site.heldUntil > at) return showHeld(call, site.heldUntil);
  if (removals.left > 0 || site.free)
    return { page: <AskRemoval {...{ id, site, removals, activationType }} /> };
  const supportUrl = (await readCatalogue(db)).get(license.product.id)?.supportUrl ?? null;
  return {
    page: (
      <NotRemoved
        site={site}
        supportUrl={supportUrl}
        sentence={sentencesOf(call.view).noMovesLeft({ ...removals, activationType })}
      />
    ),
    status: 409,
  };
}

/** It, or a staging site that would go with it, has a file for use without network. */
async function showHeld({ db, email, path, at, view }: MailCall, heldUntil: Date): Promise<Answer> {
  const { license, site } = found(await readMySite(db, email, toId(path.id), toId(path.site), at));
  const supportUrl = (await readCatalogue(db)).get(license.product.id)?.supportUrl ?? null;
  const { activationType } = license.plan;
  const sentence = sentencesOf(view).siteHeld({ heldUntil, activationType });
  return { page: <NotRemoved {...{ site, supportUrl, sentence }} />, status: 403 };
}

async function remove(call: MailCall): Promise<Answer> {
  const { db, email, path, at: now, view } = call;
  const changing = { now, queue: queueOf(call) };
  const freed = found(await freeMySite(db, email, toId(path.id), toId(path.site), changing));
  if ('refused' in freed)
    return freed.refused === 'ACTIVATION_HELD' ? showHeld(call, freed.heldUntil) : ask(call);
  return done('/my/mail', 'mySiteRemoved', sentencesOf(view).siteRemoved({ site: asWritten(freed.freed) }));
}

function AskRemoval({
  id,
  site,
  removals,
  activationType,
}: {
  id: number;
  site: MySite;
  removals: Removals;
  activationType: string;
}) {
  const { t, to, language, now } = useView();
  const { sites } = t.my;
  const title = sites.ask(asWritten(site.identifier));
  const left = { ...removalsAfterOne(removals, now), activationType };
  return (
    <CustomerPage title={title} action={<SignOut />}>
      <Head title={title} />
      <Panel id="remove">
        <Inside>
          <ul>
            <li>
              {site.free
                ? sites.takesNoSlot
                : `${sites.freeAtOnce} ${sentencesOf({ language }).removalsLeft(left)}`}
            </li>
            <li>{sites.stays}</li>
          </ul>
          <form method="post" action={to(`/my/licenses/${id}/sites/${site.id}/remove`)}>
            <p class="acts mb-0">
              <Submit kind="danger" busy={sites.removing}>
                {sites.removeThe(asWritten(site.identifier))}
              </Submit>
              <a class="btn btn-quiet" href={to('/my/mail')}>
                {sites.back}
              </a>
            </p>
          </form>
        </Inside>
      </Panel>
    </CustomerPage>
  );
}

/** @param sentence why not */
function NotRemoved({
  site,
  supportUrl,
  sentence,
}: {
  site: MySite;
  supportUrl: string | null;
  sentence: string;
}) {
  const { t } = useView();
  const title = t.my.sites.ask(asWritten(site.identifier));
  return (
    <CustomerPage title={title} action={<SignOut />} help={supportUrl}>
      <Head title={title} sub={<ToLicenses />} />
      <p role="alert">{sentence}</p>
      <p class="acts">
        <AskLink url={supportUrl} kind="btn btn-quiet" />
      </p>
    </CustomerPage>
  );
}
