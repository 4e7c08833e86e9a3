import type { Child } from 'hono/jsx';
import type { Texts } from '../../../texts/operators/texts';
import { useView } from '../view';
import { Options, type Option } from './fields';

/** A field of a filter; with `options` one chooses, else one types. */
export interface FilterField {
  /** in the address as well */
  name: string;
  label: string;
  value: string | undefined;
  options?: readonly Option[] | undefined;
  /** of a field to type in: `search` takes what width there is */
  type?: 'search' | 'text' | 'date';
  /** the table's titles do the same where there is room for them */
  isInTitles?: boolean;
}

/**
 * The order of a list as a field of its filter, for where the titles of the table are not to be seen.
 * @param orders their names @param usual the list's own
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
    isInTitles: true,
    options: [
      { value: '', label: orders[usual] },
      ...others.map((value) => ({ value, label: orders[value] })),
    ],
  };
}

/** What a list is filtered by, in its address. @param live what is replaced while somebody types, by its CSS selector; null: nothing */
export function Filters({
  path,
  label,
  fields,
  live = '#results',
  children,
}: {
  path: string;
  label: string;
  fields: FilterField[];
  live?: string | null;
  /** hidden fields */
  children?: Child;
}) {
  const { t, to } = useView();
  const isOrder = fields.every(({ isInTitles }) => isInTitles);
  return (
    <form
      class={isOrder ? 'filters no-titles' : 'filters'}
      method="get"
      action={to(path)}
      role="search"
      aria-label={label}
      {...(live === null ? {} : { 'data-live': live })}
    >
      {children}
      {fields.map(({ name, label: about, value = '', options, type = 'search', isInTitles = false }) => (
        <div
          {...(isInTitles
            ? { class: 'no-titles' }
            : options === undefined && type === 'search'
              ? { class: 'grow' }
              : {})}
        >
          <label for={name}>{about}</label>
          {options === undefined ? (
            <input
              class="form-control form-control-sm"
              autocomplete="off"
              id={name}
              name={name}
              type={type}
              value={value}
            />
          ) : (
            <select class="form-select form-select-sm" id={name} name={name}>
              <Options options={options} chosen={value} />
            </select>
          )}
        </div>
      ))}
      <div>
        <button class="btn btn-quiet btn-sm" type="submit">
          {isOrder ? t.common.sort : t.common.filter}
        </button>
      </div>
    </form>
  );
}

/** Says that a filter matches nothing, and leads to the whole list. */
export function NoMatch({ path, children }: { path: string; children: string }) {
  const { t, to } = useView();
  return (
    <p class="mb-0">
      {children} <a href={to(path)}>{t.common.clearFilters}</a>
    </p>
  );
}
