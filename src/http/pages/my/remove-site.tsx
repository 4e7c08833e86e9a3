import { inBothForms } from '../../../licensing/core/identifiers';
import { readCatalogue } from '../../../licensing/bundles';
import { readMySite } from '../../../selfservice/by-mail';
import { freeMySite } from '../../../selfservice/changes';
import { quotaAfterRemoval } from '../../../selfservice/removals';
import { toId } from '../../../operations/kit/request-params';
import { CustomerPage } from '../kit/customer-page';
import { ButtonLink, Submit } from '../kit/fields';
import { Panel } from '../kit/panel';
import { redirectWithFlash, type PageResponse } from '../page';
import { mailSessionRoute, orNotFound, mailQueueOf, type MailCall } from './customer';
import { SupportLink, SignOut } from './parts';
import { LicensesLink } from './sites';

/** Removes a site after a confirmation, because the customer may remove only a few within 30 days. */

export const removeSiteRoute = mailSessionRoute('/my/licenses/:id/sites/:site/remove', {
  get: ask,
  post: remove,
});

async function ask(call: MailCall): Promise<PageResponse> {
  const { db, email, path, at, view } = call;
  const { t, now } = view;
  const { sites } = t.my;
  const id = toId(path.id);
  const { license, site, removals, followers } = orNotFound(
    await readMySite(db, email, id, toId(path.site), at),
  );
  const { activationType } = license.plan;
  if (site.heldUntil !== null && site.heldUntil > at) return showHeld(call, site.heldUntil);
  const sentences = t.sentences;
  if (removals.left === 0 && !site.free)
    return notRemoved(call, { license, site }, sentences.noMovesLeft({ ...removals, activationType }), 409);
  const left = { ...quotaAfterRemoval(removals, now), activationType };
  const written = (identifier: string) => inBothForms(identifier, activationType);
  const name = written(site.identifier);
  const title = sites.ask(name);
  return {
    page: (
      <CustomerPage title={title} action={<SignOut />}>
        <Panel id="remove" inside>
          <ul>
            <li>{site.free ? sites.takesNoSlot : `${sites.freeAtOnce} ${sentences.removalsLeft(left)}`}</li>
            {followers.length === 0 ? null : (
              <li>{sites.goWithIt(followers.length, followers.map(written).join(', '))}</li>
            )}
            <li>{sites.stays}</li>
          </ul>
          <form method="post" action={view.to(`/my/licenses/${id}/sites/${site.id}/remove`)}>
            <p class="acts">
              <Submit kind="danger" busy={sites.removing} label={sites.removeThe(name)} />
              <ButtonLink path="/my/mail" label={sites.back} />
            </p>
          </form>
        </Panel>
      </CustomerPage>
    ),
  };
}

/** Shows that the site, or a staging site that would be removed with it, has an offline licence file. */
async function showHeld(call: MailCall, heldUntil: Date): Promise<PageResponse> {
  const { db, email, path, at, view } = call;
  const { license, site } = orNotFound(await readMySite(db, email, toId(path.id), toId(path.site), at));
  const { activationType } = license.plan;
  return notRemoved(call, { license, site }, view.t.sentences.siteHeld({ heldUntil, activationType }), 403);
}

/** Shows the page of a refused removal. @param sentence the reason */
async function notRemoved(
  { db, view }: MailCall,
  { license, site }: Pick<NonNullable<Awaited<ReturnType<typeof readMySite>>>, 'license' | 'site'>,
  sentence: string,
  status: number,
): Promise<PageResponse> {
  const supportUrl = (await readCatalogue(db)).get(license.product.id)?.supportUrl ?? null;
  const title = view.t.my.sites.ask(inBothForms(site.identifier, license.plan.activationType));
  return {
    page: (
      <CustomerPage title={title} action={<SignOut />} help={supportUrl} sub={<LicensesLink />}>
        <p role="alert">{sentence}</p>
        <p class="acts">
          <SupportLink url={supportUrl} kind="btn" />
        </p>
      </CustomerPage>
    ),
    status,
  };
}

async function remove(call: MailCall): Promise<PageResponse> {
  const { db, email, path, at: now, view } = call;
  const changing = { now, queue: mailQueueOf(call) };
  const freed = orNotFound(await freeMySite(db, email, toId(path.id), toId(path.site), changing));
  if ('refused' in freed)
    return freed.refused === 'ACTIVATION_HELD' ? showHeld(call, freed.heldUntil) : ask(call);
  return redirectWithFlash(
    '/my/mail',
    'mySiteRemoved',
    view.t.sentences.siteRemoved({ site: inBothForms(freed.freed, freed.activationType) }),
  );
}
