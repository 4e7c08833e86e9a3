import { listOf } from '../../../orders/catch-up/list';
import { catchUpState } from '../../../orders/catch-up/standing';
import type { Shop } from '../../../orders/shops';
import { describeStored } from '../../../texts/operators/failures';
import { formState } from '../form-state';
import { Form, Submit, TextField } from '../kit/fields';
import { DescriptionList, PanelBody, Panel } from '../kit/panel';
import { useView } from '../view';

/** The backfill of a shop's messages that were missed: its state, and the access that it needs. */

/**
 * The fields for access to the provider's API, which lists past messages. Empty for a kind of shop without such a list.
 */
export function ApiAccessFields({ shop }: { shop: Shop }) {
  const { catchUp: texts, secretStays } = useView().t.orders.shops;
  const list = listOf(shop.kind);
  if (list === undefined) return null;
  return (
    <>
      <TextField
        name="api_key"
        type="password"
        label={texts.key}
        hint={shop.apiKeySealed === null ? texts.keyNeeds[shop.kind] : secretStays}
        autocomplete="new-password"
      />
      {list.isOnSite ? (
        <TextField
          name="site_url"
          type="url"
          label={texts.site}
          hint={texts.siteHint}
          value={shop.siteUrl ?? ''}
        />
      ) : null}
    </>
  );
}

/** The panel of the backfill. Empty for a shop that posts its orders itself. */
export function CatchUpPanel({ shop }: { shop: Shop }) {
  const { t, to, format } = useView();
  const { catchUp: texts } = t.orders.shops;
  const state = catchUpState(shop);
  if (state === null) return null;
  const { caughtUpAt, caughtUpUntil, catchUpFailure } = shop;
  return (
    <Panel id="catch-up" title={texts.title}>
      <PanelBody>
        {state === 'ready' ? (
          <>
            <DescriptionList
              facts={[
                [texts.at, caughtUpAt === null ? texts.never : format.moment(caughtUpAt)],
                caughtUpUntil === null ? undefined : [texts.until, format.moment(caughtUpUntil)],
                catchUpFailure === null
                  ? undefined
                  : [texts.failed, describeStored(t.failures.catchUp, catchUpFailure)],
              ]}
            />
            <p class="sub">{texts.nightly}</p>
            <Form path={`/shops/${shop.name}/catch-up`} form={formState()}>
              <Submit kind="quiet" small busy={texts.busy} label={texts.submit} />
            </Form>
          </>
        ) : state === 'cannot' ? (
          <p>{texts.cannot}</p>
        ) : (
          <>
            <p>{texts.would}</p>
            <p class="sub">{texts.keyNeeds[shop.kind]}</p>
            <p class="acts">
              <a class="btn btn-sm" href={to(`/shops/${shop.name}/edit`)}>
                {state === 'no_key' ? texts.giveKey : texts.giveSite}
              </a>
            </p>
          </>
        )}
      </PanelBody>
    </Panel>
  );
}
