import type { Child } from 'hono/jsx';
import type { Gap } from '../../../overview/first-steps';
import type { ActionItem } from '../../../overview/action-items';
import { Icon, LineIcon } from '../kit/icons';
import { PanelBody, Panel } from '../kit/panel';
import { useView, type Query } from '../view';

/**
 * The seller's action items, and the gaps of the set-up.
 * @param needs undefined if they were not loaded within the timeout
 */
export function ActionItemList({ needs, gaps }: { needs: ActionItem[] | undefined; gaps: Gap[] }) {
  const { t, to, format } = useView();
  const texts = t.overview.needs;
  const count = (needs?.length ?? 0) + gaps.length;
  return (
    <Panel
      id="needs"
      title={texts.title}
      {...(count === 0 ? {} : { aside: texts.count(count, format.number(count)) })}
    >
      {needs === undefined || count === 0 ? (
        <PanelBody>
          <p>{needs === undefined ? t.overview.late : texts.none}</p>
        </PanelBody>
      ) : null}
      {count === 0 ? null : (
        <ul class="todo">
          {needs?.map((need) => (
            <ActionItemLine need={need} />
          ))}
          {gaps.map((gap) => (
            <GapLine gap={gap} />
          ))}
        </ul>
      )}
      {gaps.length === 0 ? null : (
        <PanelBody>
          <a href={to('/start')}>{t.start.go}</a>
        </PanelBody>
      )}
    </Panel>
  );
}

/** A missing part of the set-up, with a link to the page that adds it. */
export function GapLine({ gap }: { gap: Gap }) {
  const { t, to, format } = useView();
  const { sentences, go } = t.start.gaps;
  const path =
    'product' in gap
      ? `/products/${gap.product.id}/edit`
      : ({ address: '/settings/shop', mail: '/settings/mail', shop: '/shops' } as const)[gap.type];
  return (
    <TaskLine icon={<Icon name="info" />} href={to(path)} by={go[gap.type]}>
      {'product' in gap
        ? sentences[gap.type](gap.count, format.number(gap.count), gap.product.name)
        : sentences[gap.type]}
    </TaskLine>
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

/** An action item. @param shop the shop whose page shows it; undefined for the overview */
export function ActionItemLine({ need, shop }: { need: ActionItem; shop?: string }) {
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
    <TaskLine
      icon={<Icon name="warning" kind="warn" />}
      href={to(NEED_LISTS[type], query)}
      by={type === 'refused' ? need.byCode.map((one) => one.sentence).join(', ') : t.overview.needs[type]}
    >
      {sentence}
    </TaskLine>
  );
}

/** A list item that is one link. @param by the name of the link's target, or further facts */
export function TaskLine({
  icon,
  href,
  by,
  children,
}: {
  icon?: Child;
  href: string;
  by: string;
  children: string;
}) {
  return (
    <li>
      <a href={href}>
        {icon}
        <span class="say">{children}</span> <span class="by">{by}</span>
        <span class="go">
          <LineIcon name="chevron-right" />
        </span>
      </a>
    </li>
  );
}
