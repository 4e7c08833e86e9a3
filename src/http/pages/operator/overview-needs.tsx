import type { Gap } from '../../../overview/first-steps';
import type { ActionItem } from '../../../overview/action-items';
import { Icon } from '../kit/icons';
import { Inside, Panel } from '../kit/panel';
import { useView, type Query } from '../view';

/** Lists the seller's tasks and the gaps of the set-up. @param needs undefined: it was not looked up in time */
export function NeedsYou({ needs, gaps }: { needs: ActionItem[] | undefined; gaps: Gap[] }) {
  const { t, to, format } = useView();
  const texts = t.overview.needs;
  const count = (needs?.length ?? 0) + gaps.length;
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
      ) : null}
      {count === 0 ? null : (
        <ul class="todo">
          {needs?.map((need) => (
            <NeedLine need={need} />
          ))}
          {gaps.map((gap) => (
            <GapLine gap={gap} />
          ))}
        </ul>
      )}
      {gaps.length === 0 ? null : (
        <Inside>
          <a href={to('/start')}>{t.start.go}</a>
        </Inside>
      )}
    </Panel>
  );
}

/** A part of the set-up that is missing, and the page that has it. */
export function GapLine({ gap }: { gap: Gap }) {
  const { t, to, format } = useView();
  const { sentences, go } = t.start.gaps;
  const path =
    'product' in gap
      ? `/products/${gap.product.id}/edit`
      : ({ address: '/settings/shop', mail: '/settings/mail', shop: '/shops' } as const)[gap.type];
  return (
    <li>
      <Icon name="info" />
      <span>
        {'product' in gap
          ? sentences[gap.type](gap.count, format.number(gap.count), gap.product.name)
          : sentences[gap.type]}
      </span>
      <a class="go btn btn-quiet btn-sm" href={to(path)}>
        {go[gap.type]}
      </a>
    </li>
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
  disputed: '/licenses',
  spreading: '/spreading',
} as const satisfies Record<ActionItem['type'], string>;

/** @param shop the shop whose page it is; undefined: the overview */
export function NeedLine({ need, shop }: { need: ActionItem; shop?: string }) {
  const { t, to } = useView();
  const { type, sentence } = need;
  const query: Query =
    type === 'not_offered'
      ? { product_id: need.productId }
      : type === 'refused'
        ? { refused: '7d' }
        : type === 'disputed'
          ? { suspended_by: 'charged_back' }
          : ['webhooks', 'unmatched', 'spreading'].includes(type)
            ? { shop }
            : type === 'without_address'
              ? { shop, without_address: 'true' }
              : { shop, state: type === 'orders' ? 'waiting' : 'failed' };
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
