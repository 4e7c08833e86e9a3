import { manifestSnippets } from '../../../joomla/manifest';
import {
  readUpdateXmlState,
  type ReadUpdateXml,
  type XmlProbeResult,
} from '../../../joomla/regenerate-update-xml';
import { includedProducts, readCatalogue } from '../../../licensing/bundles';
import type { Product } from '../../../licensing/catalogue';
import { findOffered } from '../../../licensing/updates';
import { requireProduct } from '../../../licensing/find-or-throw';
import { OperationError } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formState, toFormFailure } from '../form-state';
import { CopyText } from '../kit/copy';
import { Form, Submit } from '../kit/fields';
import { Icon } from '../kit/icons';
import { Panel } from '../kit/panel';
import { redirectWithFlash, type OperatorCall, type Route } from '../page';
import type { Texts } from '../../../texts/operators/texts';
import { useView } from '../view';
import { updateXmlOperations } from '../../../operations/update-xml';

/** The versions that sites are offered: the product's update XML, as it is and as it should be. */

export const updateXmlRoutes: Route<OperatorCall>[] = [
  {
    path: '/products/:id/update-xml.xml',
    async get(call) {
      const id = readId(call);
      const { element } = await requireProduct(call.db, id);
      const { xml } = await readUpdateXmlState(call.db, call.settings.updateXml, id);
      if (xml === null) throw new OperationError('NOT_FOUND', '');
      return { file: `${element ?? id}.xml`, type: 'application/xml', content: xml };
    },
  },
  {
    path: '/products/:id/update-xml/write',
    async post(call, sent) {
      const id = readId(call);
      const { state } = await submitOperation(call, sent, updateXmlOperations.setProductUpdateXml, {
        path: { id },
      });
      return redirectWithFlash(
        `/releases?product_id=${id}`,
        state === 'written' ? 'xmlWritten' : 'xmlNotWritten',
      );
    },
  },
];

export interface Offer {
  product: Product;
  /** the version that a download returns; undefined if nothing is published */
  latest: string | undefined;
  xml: ReadUpdateXml;
  /** the result of a request to the written XML's address; undefined until the request has ended */
  reach: XmlProbeResult | undefined;
  /** the included products, for a club (bundle) without its own package; undefined for other products */
  club: Included[] | undefined;
}

interface Included {
  id: number;
  name: string;
  /** undefined if nothing is published */
  latest: string | undefined;
}

/** The most included products that are shown. A club can include hundreds, and the page of products lists all. */
const MAX_INCLUDED = 20;

export async function readOffer({ db, settings }: OperatorCall, product: Product): Promise<Offer> {
  const xml = await readUpdateXmlState(db, settings.updateXml, product.id);
  const latest = (await findOffered(db, product.id))?.version;
  const url = xml.state === 'written' && latest !== undefined ? xml.url : null;
  const offer = { product, latest, xml, reach: url === null ? undefined : await settings.askForXml(url) };
  if (latest !== undefined || product.element !== null) return { ...offer, club: undefined };
  const included: Included[] = [];
  for (const { id, name } of includedProducts(await readCatalogue(db), product.id).slice(0, MAX_INCLUDED))
    included.push({ id, name, latest: (await findOffered(db, id))?.version });
  return { ...offer, club: included.length > 0 ? included : undefined };
}

/** Returns the state of the offer: `unheard` until the address has answered. */
function offerState({ xml: { state, url }, reach }: Offer): 'written' | 'unheard' | 'stale' | 'not_set' {
  if (state !== 'written' || url === null) return state;
  if (reach === undefined) return 'unheard';
  return reach.state === 'answers' ? 'written' : 'stale';
}

/** The version that a download returns and the one that Joomla offers, with a remedy if they differ. */
export function OfferPanel({ offer }: { offer: Offer }) {
  const { t, to, format, now } = useView();
  const { product, latest, xml, club } = offer;
  const texts = t.releases.offer;
  if (club !== undefined) return <ClubPanel club={club} />;
  return (
    <Panel id="offer" title={texts.title} aside={texts.lookedAt(format.moment(now))}>
      <ul class="verdicts">
        <li class={latest === undefined ? 'off' : 'yes'}>
          <Icon name={latest === undefined ? 'minus' : 'yes'} />
          <div>{latest === undefined ? texts.noDownload : texts.download(latest)}</div>
        </li>
        <Offered offer={offer} />
      </ul>
      {xml.state === 'stale' && !isNothingYet(offer) ? <Stale productId={product.id} xml={xml} /> : null}
      {xml.state === 'not_set' ? (
        <div class="remedy">
          {product.element === null ? (
            <a href={to(`/products/${product.id}/edit`)}>{texts.setElement}</a>
          ) : (
            <a href={to('/settings/shop')}>{texts.setAddress}</a>
          )}
        </div>
      ) : null}
    </Panel>
  );
}

/** Reports whether nothing is published and no file offers anything, so that nothing needs a remedy. */
function isNothingYet({ latest, xml: { offered } }: Offer): boolean {
  return latest === undefined && (offered === null || offered.length === 0);
}

/** The products that customers of a club can download. */
function ClubPanel({ club }: { club: Included[] }) {
  const { t, to } = useView();
  const texts = t.releases.offer;
  return (
    <Panel id="offer" title={texts.clubTitle}>
      <ul class="verdicts">
        {club.map(({ id, name, latest }) => (
          <li class={latest === undefined ? 'off' : 'yes'}>
            <Icon name={latest === undefined ? 'minus' : 'yes'} />
            <div>
              <a href={to('/releases', { product_id: id })}>{name}</a>: {latest ?? texts.nothingPublished}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Offered({ offer }: { offer: Offer }) {
  const { product, latest, xml, reach } = offer;
  const texts = useView().t.releases.offer;
  const { state, offered, url, out } = xml;
  const versions = offered?.join(', ') ?? '';
  const offers = { answers: texts.offers, silent: texts.offersUnknown, refuses: texts.offersNot };
  const says = {
    written: versions === '' ? texts.offersNothing : offers[reach?.state ?? 'answers'](versions),
    stale: offered === null ? texts.missing : versions === '' ? texts.staleNothing : texts.stale(versions),
    not_set: product.element === null ? texts.noElement : texts.noAddress,
  };
  const isHeldBack = state === 'written' && latest !== undefined && !offered?.includes(latest);
  const isNothing = isNothingYet(offer) || (state === 'written' && versions === '');
  const [kind, icon] =
    state === 'not_set' || isNothing || offerState(offer) === 'unheard'
      ? (['off', 'minus'] as const)
      : offerState(offer) === 'stale'
        ? (['no', 'no'] as const)
        : (['yes', 'yes'] as const);
  return (
    <li class={kind}>
      <Icon name={icon} />
      <div>
        <div class={kind === 'no' ? 'big' : ''}>
          {isNothing && state === 'stale' ? texts.offersNothing : says[state]}
        </div>
        {isHeldBack ? <div class="small">{texts.heldBack}</div> : null}
        {url !== null ? <div class="small muted">{url}</div> : null}
        <ReachNote offer={offer} />
        {url === null && out !== null ? <div class="small muted">{texts.elsewhere(out)}</div> : null}
      </div>
    </li>
  );
}

/** The reason why sites cannot read a correct file. */
function ReachNote({ offer: { latest, xml, reach } }: { offer: Offer }) {
  const { t } = useView();
  const texts = t.releases.offer;
  if (xml.state !== 'written' || xml.url === null || latest === undefined) return null;
  if (reach?.state === 'answers') return null;
  const says =
    reach === undefined
      ? texts.asking
      : reach.state === 'silent'
        ? ((reach.challenge && t.doctor.challenged(reach.challenge).remedy) ?? texts.silent(xml.url))
        : texts.refuses(xml.url, String(reach.status));
  return <div class="small">{says}</div>;
}

/** The remedy for an outdated file: how to put the update XML at the address that sites request. */
function Stale({ productId, xml }: { productId: number; xml: ReadUpdateXml }) {
  const { t, to, mayWrite } = useView();
  const texts = t.releases.offer;
  return (
    <div class="remedy">
      {xml.xml === null ? (
        <>
          <span>{texts.impossible}</span>
          <a href={to(`/products/${productId}/update-xml`)}>{texts.options}</a>
        </>
      ) : (
        <>
          <a class="btn btn-primary" href={to(`/products/${productId}/update-xml.xml`)}>
            {texts.get}
          </a>
          <span class="small">{texts.put}</span>
          {mayWrite ? (
            <Form path={`/products/${productId}/update-xml/write`} form={formState()}>
              <Submit kind="quiet" small busy={texts.writing} label={texts.writeAgain} />
            </Form>
          ) : null}
          <a class="small" href={to('/releases', { product_id: productId })}>
            {texts.lookAgain}
          </a>
        </>
      )}
      <span class="small muted">
        {texts.why} {staleReason(t, xml)}
      </span>
    </div>
  );
}

/** Returns the page's own sentence for a fault. The service's sentence names the command's options, in English. */
function staleReason(t: Texts, { fault, offered, out }: ReadUpdateXml): string {
  if (fault === undefined) return t.releases.offer[offered === null ? 'notThere' : 'differs'](out ?? '');
  const { field, facts } = fault;
  const refused = { field, facts, status: 400 };
  return t.products.xml.refused[field ?? ''] ?? toFormFailure(t, refused).sentence;
}

/** The manifest lines that make Joomla request updates. Empty while the update XML's address is unknown. */
export function ManifestPanel({ offer: { product, xml } }: { offer: Offer }) {
  const texts = useView().t.releases.offer;
  const lines = snippetOf(product, xml.url);
  if (lines === undefined) return null;
  return (
    <Panel id="manifest" title={texts.manifest} inside>
      <p class="small muted" id="manifest-hint">
        {texts.manifestHint}
      </p>
      <CopyText id="manifest-lines" label={texts.manifest} text={lines} rows={8} isCode />
    </Panel>
  );
}

function snippetOf(product: Product, url: string | null): string | undefined {
  if (url === null) return undefined;
  try {
    return manifestSnippets(product, url).xml;
  } catch {
    // The address is not public, such as that of a test installation.
    return undefined;
  }
}
