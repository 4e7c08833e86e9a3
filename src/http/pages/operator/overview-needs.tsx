import type { Need } from '../../../overview/needs-you';
import { Icon } from '../kit/icons';
import { Inside, Panel } from '../kit/panel';
import { useView, type Query } from '../view';

/** What waits for the seller. @param needs undefined: it was not looked up in time */
export function NeedsYou({ needs }: { needs: Need[] | undefined }) {
  const { t, format } = useView();
  const texts = t.overview.needs;
  const count = needs?.length ?? 0;
  return (
    <Panel
      id="needs"
      kind="mb-3"
      title={texts.title}
      {...(count === 0 ? {} : { aside: texts.count(count, format.number(count)) })}
    >
      {needs === undefined || count === 0 ? (
        <Inside>
          <p class="mb-0">{needs === undefined ? t.overview.late : texts.none}</p>
        </Inside>
      ) : (
        <ul class="todo">
          {needs.map((need) => (
            <NeedLine need={need} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const NEED_LISTS = {
  not_offered: '/releases',
  refused: '/licenses',
  mails: '/mails',
  webhooks: '/webhooks',
  orders: '/orders',
  failed: '/orders',
  without_address: '/orders',
  unmatched: '/unmatched',
  spreading: '/spreading',
} as const satisfies Record<Need['type'], string>;

function NeedLine({ need }: { need: Need }) {
  const { t, to } = useView();
  const { type, sentence } = need;
  const query: Query =
    type === 'not_offered'
      ? { product_id: need.productId }
      : type === 'refused'
        ? { refused: '7d' }
        : ['webhooks', 'unmatched', 'spreading'].includes(type)
          ? {}
          : type === 'without_address'
            ? { without_address: 'true' }
            : { state: type === 'orders' ? 'waiting' : 'failed' };
  return (
    <li>
      <Icon name="warning" />
      <span>
        <strong>{sentence}</strong>
        {type === 'refused' ? ` ${need.byCode.map((one) => one.sentence).join(', ')}.` : ''}
      </span>
      <a class="go btn btn-quiet btn-sm" href={to(NEED_LISTS[type], query)}>
        {t.overview.needs[type]}
      </a>
    </li>
  );
}
