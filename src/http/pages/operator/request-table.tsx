import type { Child } from 'hono/jsx';
import type { DescribedRequest } from '../../../support/requests';
import type { HistoryEntry } from '../../../support/request-history';
import { Icon, type IconName } from '../kit/icons';
import { Tag, type TagKind } from '../kit/status';
import type { TableProps } from '../kit/table';
import { TimelineItem } from '../kit/timeline';
import { useView, type View } from '../view';

/** Recorded requests in sentences: as a table, and as the timeline "What happened". */

/** Names of products by id. */
export type ProductNames = ReadonlyMap<number, string>;

const LOOKS: Record<HistoryEntry['kind'], { kind: TagKind; icon: IconName }> = {
  refused: { kind: 'bad', icon: 'no' },
  granted: { kind: 'ok', icon: 'yes' },
  checked: { kind: 'off', icon: 'info' },
};

interface Requests extends Pick<TableProps<DescribedRequest>, 'caption' | 'empty'> {
  requests: DescribedRequest[];
  products: ProductNames;
  /** true if all requests belong to the licence of the page */
  ofLicense?: boolean;
}

/** Returns the table of a list of requests. */
export function requestTable(
  { t, to, format }: View,
  { requests, products, ofLicense = false, ...table }: Requests,
): TableProps<DescribedRequest> {
  const texts = t.requests;
  const { columns, outcomes } = texts;
  const { none } = t.common;
  return {
    ...table,
    rows: requests,
    columns: [
      {
        title: columns.result,
        cell: ({ told: { kind } }) => <Tag {...LOOKS[kind]}>{outcomes[kind]}</Tag>,
      },
      { title: columns.when, cell: ({ told }) => <When entry={told} /> },
      {
        title: columns.what,
        kind: 'text',
        cell: ({ access: { times }, told }) => (
          <>
            <Sentence entry={told} /> {times > 1 ? texts.times(format.number(times)) : null}
            <Circumstances entry={told} products={products} />
          </>
        ),
      },
      { title: columns.ip, kind: 'long', cell: ({ told: { client } }) => client.ip ?? none },
      !ofLicense && {
        title: columns.license,
        kind: 'number',
        cell: ({ access: { licenseId } }) =>
          licenseId === null ? none : <a href={to(`/licenses/${licenseId}`)}>{String(licenseId)}</a>,
      },
    ],
  };
}

function When({ entry: { at } }: { entry: HistoryEntry }) {
  const { format } = useView();
  return <time datetime={at.toISOString()}>{format.moment(at)}</time>;
}

/** The sentence about a request. It emphasizes the cause of a refusal. */
function Sentence({ entry: { parts, sentence } }: { entry: HistoryEntry }) {
  if (parts === null) return <>{sentence}</>;
  return (
    <>
      {parts.what}: <strong>{parts.because}</strong>
    </>
  );
}

/**
 * The requested version and the client.
 * @param inLog true to add the IP address and the licence, for which tables have columns
 */
function Circumstances({
  entry: { productId, client, licenseId },
  products,
  inLog = false,
}: {
  entry: HistoryEntry;
  products: ProductNames;
  inLog?: boolean;
}) {
  const { t, to } = useView();
  const { unknownProduct, joomla, license, saysItIs, installed } = t.requests;
  const product = productId === null ? null : (products.get(productId) ?? unknownProduct(String(productId)));
  const wanted = [product, client.version].filter((one) => one !== null).join(' ');
  const parts: Child[] = [
    wanted,
    client.joomla === null ? '' : joomla(client.joomla),
    client.site === null ? '' : saysItIs(client.site),
    client.installed === null ? '' : installed(client.installed),
    (inLog && client.ip) || '',
    inLog && licenseId !== null ? (
      <a href={to(`/licenses/${licenseId}`)}>{license(String(licenseId))}</a>
    ) : (
      ''
    ),
  ].filter((one) => one !== '');
  return parts.length === 0 ? null : (
    <span class="sub">
      {parts.map((one, i) => (
        <>
          {i === 0 ? '' : ' · '}
          {one}
        </>
      ))}
    </span>
  );
}

/** The timeline "What happened". */
export function EntryLog({ entries, products }: { entries: HistoryEntry[]; products: ProductNames }) {
  return (
    <ol class="tl">
      {entries.map((entry) => (
        <EntryItem entry={entry} products={products} />
      ))}
    </ol>
  );
}

/** A request on a line of time. @param times how often it came, if the entry does not say it */
export function EntryItem({
  entry,
  products,
  times = 1,
}: {
  entry: HistoryEntry;
  products: ProductNames;
  times?: number;
}) {
  const { t, format } = useView();
  return (
    <TimelineItem
      kind={LOOKS[entry.kind].kind}
      icon={<Icon name={LOOKS[entry.kind].icon} />}
      when={<When entry={entry} />}
    >
      <Sentence entry={entry} /> {times > 1 ? t.requests.times(format.number(times)) : null} {entry.repeated}{' '}
      {entry.worksAgainSentence}
      <small>
        <Circumstances entry={entry} products={products} inLog />
      </small>
      {entry.advice === null ? null : <small>{entry.advice}</small>}
    </TimelineItem>
  );
}

/** Returns the CSV row of a request, without the client's User-Agent. */
export function requestCells(
  {
    at,
    lastAt,
    times,
    licenseId,
    endpoint,
    outcome,
    productId,
    version,
    identifier,
    ip,
    ...told
  }: DescribedRequest['access'],
  { sentence, client }: HistoryEntry,
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
    site: told.site,
    installed_version: told.installedVersion,
  };
}
