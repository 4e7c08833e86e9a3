import type { LoggedAccess } from '../../../store/access-log';
import type { ToldRequest } from '../../../support/requests';
import type { Entry } from '../../../support/what-happened';
import { Icon, type IconName } from '../kit/icons';
import { Table, type Column } from '../kit/table';
import { useView } from '../view';

/** Recorded requests in words: as a table, and as the lines of "What happened". */

/** Names of products by id. */
export type ProductNames = ReadonlyMap<number, string>;

const ICONS: Record<Entry['kind'], IconName> = { refused: 'no', granted: 'yes', checked: 'info' };
const CLASSES: Record<Entry['kind'], string> = { refused: 'no', granted: 'yes', checked: 'muted' };

/** @param ofLicense all of them belong to the licence of the page */
export function RequestTable({
  requests,
  products,
  caption,
  empty,
  ofLicense = false,
}: {
  requests: ToldRequest[];
  products: ProductNames;
  caption: string;
  empty: Parameters<typeof Table>[0]['empty'];
  ofLicense?: boolean;
}) {
  const { t, to, format } = useView();
  const { columns, outcomes } = t.requests;
  const { none } = t.common;
  const license: Column<ToldRequest> = {
    title: columns.license,
    kind: 'number',
    cell: ({ access: { licenseId } }) =>
      licenseId === null ? none : <a href={to(`/licenses/${licenseId}`)}>{String(licenseId)}</a>,
  };
  return (
    <Table
      caption={caption}
      rows={requests}
      empty={empty}
      columns={[
        {
          title: columns.result,
          cell: ({ told: { kind } }) => (
            <span class={`st ${CLASSES[kind]}`}>
              <Icon name={ICONS[kind]} />
              {outcomes[kind]}
            </span>
          ),
        },
        { title: columns.when, phone: 'beside', cell: ({ told }) => <When entry={told} /> },
        { title: columns.what, kind: 'name', cell: ({ told }) => <Sentence entry={told} /> },
        {
          title: columns.times,
          kind: 'number',
          cell: ({ access: { times } }) => format.number(times),
        },
        {
          title: columns.version,
          cell: ({ told }) => <Wanted entry={told} products={products} />,
        },
        { title: columns.ip, kind: 'long', cell: ({ told: { client } }) => client.ip ?? none },
        { title: columns.joomla, cell: ({ told: { client } }) => client.joomla ?? none },
        ...(ofLicense ? [] : [license]),
      ]}
    />
  );
}

function When({ entry: { at } }: { entry: Entry }) {
  const { format } = useView();
  return <time datetime={at.toISOString()}>{format.moment(at)}</time>;
}

/** A refusal with its cause stressed. */
function Sentence({ entry: { parts, sentence } }: { entry: Entry }) {
  if (parts === null) return <span class="fw-normal">{sentence}</span>;
  return (
    <span class="fw-normal">
      {parts.what}: <strong>{parts.because}</strong>
    </span>
  );
}

function Wanted({ entry: { productId, client }, products }: { entry: Entry; products: ProductNames }) {
  const { t } = useView();
  const product =
    productId === null ? null : (products.get(productId) ?? t.requests.unknownProduct(String(productId)));
  return <>{[product, client.version].filter((one) => one !== null).join(' ') || t.common.none}</>;
}

/** The lines of "What happened". */
export function EntryLog({ entries, products }: { entries: Entry[]; products: ProductNames }) {
  const { t, to } = useView();
  const texts = t.search;
  return (
    <ol class="log">
      {entries.map((entry) => {
        const { kind, repeated, worksAgainSentence, advice, client, licenseId } = entry;
        const wanted = entry.productId !== null || client.version !== null;
        const about = [
          wanted ? <Wanted entry={entry} products={products} /> : null,
          client.joomla === null ? null : texts.joomla(client.joomla),
          client.ip,
          licenseId === null ? null : (
            <a href={to(`/licenses/${licenseId}`)}>{texts.licence(String(licenseId))}</a>
          ),
        ].filter((one) => one !== null);
        return (
          <li>
            <When entry={entry} />
            <span class={CLASSES[kind]}>
              <Icon name={ICONS[kind]} />
            </span>
            <div>
              <Sentence entry={entry} /> {repeated} {worksAgainSentence}
              <div class="sub">
                {about.map((one, i) => (
                  <>
                    {i === 0 ? '' : ' · '}
                    {one}
                  </>
                ))}
              </div>
              {advice === null ? null : <div class="sub">{advice}</div>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

/** A row of a list of requests as CSV; without the client's own words. */
export function requestCells(
  { at, lastAt, times, licenseId, endpoint, outcome, productId, version, identifier, ip }: LoggedAccess,
  { sentence, client }: Entry,
) {
  return {
    at: at.toISOString(),
    times,
    last_at: lastAt?.toISOString() ?? null,
    license_id: licenseId,
    endpoint,
    outcome,
    sentence,
    product_id: productId,
    version,
    identifier,
    ip,
    joomla_version: client.joomla,
  };
}
