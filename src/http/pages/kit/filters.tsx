import type { Texts } from '../../../texts/operators/texts';
import { useView, type Query } from '../view';
import type { Option } from './fields';
import { LineIcon } from './icons';

/** A filter of a list: a choice of `options`, or a field for text. */
export interface FilterField {
  /** the field's name, which is its parameter in the address too */
  name: string;
  label: string;
  value: string | undefined;
  /** The first option is the one without a value: no filter, or the usual order. */
  options?: readonly Option[] | undefined;
  /** the type of a field for text: `search` has no visible label */
  type?: 'search' | 'text' | 'date';
  /** true for the order of the list, which is not a filter */
  isOrder?: boolean;
}

/**
 * Returns the order of a list as a filter. A table's column titles change the same order, if they are visible.
 * @param orders the names of the orders @param usual the list's own order
 */
export function orderField<Sort extends string>(
  { common }: Texts,
  orders: Record<Sort, string>,
  usual: NoInfer<Sort>,
  by: string | undefined,
): FilterField {
  const others = (Object.keys(orders) as Sort[]).filter((one) => one !== usual);
  return {
    name: 'sort',
    label: common.order,
    value: by,
    isOrder: true,
    options: [
      { value: '', label: orders[usual] },
      ...others.map((value) => ({ value, label: orders[value] })),
    ],
  };
}

/**
 * The filters of a list, which are in its address. A choice is a menu of links, which acts at once and without script;
 * only text is a form. In a small window, the choices are in a sheet that rises from below.
 * @param live the part that is replaced during typing, by its CSS selector; null for none
 * @param hidden further values of the address
 */
export function Filters({
  path,
  label,
  fields,
  live = '#results',
  hidden = {},
}: {
  path: string;
  label: string;
  fields: FilterField[];
  live?: string | null;
  hidden?: Query;
}) {
  const { t, to } = useView();
  const typed = fields.filter(({ options }) => options === undefined);
  const choices = fields.filter(({ options }) => options !== undefined);
  const query: Query = { ...hidden, ...Object.fromEntries(fields.map(({ name, value }) => [name, value])) };
  const kept = Object.entries({
    ...hidden,
    ...Object.fromEntries(choices.map(({ name, value }) => [name, value])),
  });
  const isOne = typed.length === 1 && (typed[0]?.type ?? 'search') === 'search';
  const active = choices.filter(({ value, isOrder }) => value !== undefined && !isOrder).length;
  return (
    <div class="filters">
      {typed.length === 0 ? null : (
        <form
          class={isOne ? 'find' : 'typed'}
          method="get"
          action={to(path)}
          role="search"
          aria-label={label}
          {...(live === null ? {} : { 'data-live': live })}
        >
          {kept.map(([name, value]) =>
            value === undefined ? null : <input type="hidden" name={name} value={String(value)} />,
          )}
          {typed.map(({ name, label: about, value = '', type = 'search' }) => (
            <div {...(isOne ? { class: 'only' } : {})}>
              <label for={name} {...(isOne ? { class: 'visually-hidden' } : {})}>
                {about}
              </label>
              <input
                class="input"
                autocomplete="off"
                id={name}
                name={name}
                type={type}
                value={value}
                {...(isOne ? { placeholder: about } : {})}
              />
            </div>
          ))}
          <button {...(isOne ? { 'aria-label': t.common.filter } : { class: 'btn' })} type="submit">
            {isOne ? <LineIcon name="search" /> : t.common.filter}
          </button>
        </form>
      )}
      {choices.length === 0 ? null : (
        <>
          <button class="btn only-narrow" type="button" popovertarget="choices">
            <LineIcon name="funnel" />
            {t.common.choices}
            {active === 0 ? null : <span class="count">{String(active)}</span>}
          </button>
          <div class="sheet" id="choices" popover="auto" role="group" aria-label={label} data-live-part>
            {choices.map((field) => (
              <FilterMenu field={field} path={path} query={query} />
            ))}
          </div>
        </>
      )}
    </div>
  );
}

/** A choice as a menu of links. A chosen value can be removed by another link next to it. */
function FilterMenu({
  field: { name, label, value = '', options = [], isOrder = false },
  path,
  query,
}: {
  field: FilterField;
  path: string;
  query: Query;
}) {
  const { t, to } = useView();
  const chosen = options.find((one) => String(one.value) === value);
  const isOn = value !== '' && !isOrder;
  const linkOf = (chosenValue: Option['value']) => to(path, { ...query, [name]: chosenValue });
  return (
    <div class={`chip${isOn ? ' chip-on' : ''}${isOrder ? ' chip-order' : ''}`}>
      <details class={isOrder ? 'menu' : 'menu menu-left'}>
        <summary>
          {isOn ? null : <LineIcon name={isOrder ? 'arrow-down-wide-narrow' : 'plus'} />}
          {isOrder ? (
            <>
              <span class="visually-hidden">{label}: </span>
              {chosen?.label ?? label}
            </>
          ) : isOn ? (
            <>
              {label}: <b>{chosen?.label ?? value}</b>
            </>
          ) : (
            label
          )}
        </summary>
        <div class="pop">
          {options.map((option) => (
            <a
              href={linkOf(option.value)}
              {...(String(option.value) === value ? { 'aria-current': 'true' } : {})}
            >
              {option.label}
            </a>
          ))}
        </div>
      </details>
      {isOn ? (
        <a class="clear" href={linkOf('')} aria-label={t.common.clearOne(label)}>
          <LineIcon name="x" />
        </a>
      ) : null}
    </div>
  );
}

/** Links to ready filters of a list (saved views), each with the number of its rows. */
export function SavedViews({
  label,
  views,
}: {
  label: string;
  views: { title: string; count?: string | undefined; path: string; query: Query; isCurrent: boolean }[];
}) {
  const { to } = useView();
  return (
    <ul class="views" aria-label={label}>
      {views.map(({ title, count = '', path, query, isCurrent }) => (
        <li>
          <a href={to(path, query)} {...(isCurrent ? { 'aria-current': 'true' } : {})}>
            {title}
            {count === '' ? null : <span class="n">{count}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** The message that a filter matches nothing, with a link to the whole list. */
export function NoResults({ path, children }: { path: string; children: string }) {
  const { t, to } = useView();
  return (
    <p>
      {children} <a href={to(path)}>{t.common.clearFilters}</a>
    </p>
  );
}
