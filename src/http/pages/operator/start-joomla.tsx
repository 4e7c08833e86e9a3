import type { CatalogueProduct } from '../../../licensing/catalogue';
import type { ReadUpdateXml } from '../../../joomla/regenerate-update-xml';
import { manifestSnippets } from '../../../joomla/manifest';
import type { FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/** The panels after the first steps: connect Joomla, and try a licence. */

export function ManifestLines({ product, url }: { product: CatalogueProduct; url: string }) {
  const { t } = useView();
  const texts = t.start.joomla;
  return (
    <>
      <p class="small muted">{texts.manifestHint}</p>
      <CopyText
        id="manifest"
        label={texts.manifest}
        text={manifestSnippets(product, url).xml}
        rows={5}
        isCode
      />
    </>
  );
}

export function JoomlaPanel({ product, xml }: { product: CatalogueProduct; xml: ReadUpdateXml }) {
  const { t, to } = useView();
  const texts = t.start.joomla;
  const { state, url } = xml;
  return (
    <Panel id="joomla" title={texts.title} inside>
      {product.element === null ? (
        <p>
          {texts.noElement} <a href={to(`/products/${product.id}`)}>{texts.setElement}</a>
        </p>
      ) : state === 'not_set' ? (
        <p>
          {texts.noAddress} <a href={to('/settings/shop')}>{texts.setAddress}</a>
        </p>
      ) : (
        <>
          {url === null ? null : (
            <>
              <h3>{texts.manifest}</h3>
              <ManifestLines product={product} url={url} />
            </>
          )}
          <h3>{texts.address}</h3>
          <p>
            {texts.states[state]} <code>{url ?? xml.out}</code>
          </p>
          {state === 'stale' && xml.xml !== null ? (
            <p>
              <a href={to(`/products/${product.id}/update-xml.xml`)}>{texts.download}</a>
            </p>
          ) : null}
        </>
      )}
    </Panel>
  );
}

/** The panel that issues a licence to try. */
export function LicencePanel({ form }: { form: FormState }) {
  const { t } = useView();
  const texts = t.start.licence;
  return (
    <Panel id="licence" title={texts.title} inside>
      <p class="small muted">{texts.hint}</p>
      <Form path="/start/license" form={form}>
        <FormErrors form={form} />
        <TextField
          name="customer"
          type="email"
          label={texts.customer}
          hint={texts.customerHint}
          autocomplete="email"
        />
        <Submit busy={texts.busy} label={texts.submit} />
      </Form>
    </Panel>
  );
}
