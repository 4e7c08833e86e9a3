import type { License } from '../../../licensing/licenses';
import { LineIcon } from '../kit/icons';
import type { LineIconName } from '../kit/line-icons';
import { useView, type Query } from '../view';
import { licenseName } from './license-call';

/** The selection of licences in the list, for the bulk actions of license-bulk.tsx. */

const FORM = 'bulk';
/**
 * The name of a box's field is this and the licence's id, so that each name is unique in the form. Its value is the
 * shown revision.
 */
export const LICENSE_FIELD = 'license-';
/** The most licences of one bulk action. */
export const MAX_SELECTED = 10_000;
/** The form field with the query of the list's page, for the back link. */
export const LIST_FIELD = 'list';

/** A box that selects a licence of the list. */
export function SelectLicense({ license }: { license: License }) {
  const { t } = useView();
  return (
    <input
      type="checkbox"
      form={FORM}
      name={`${LICENSE_FIELD}${license.id}`}
      value={String(license.revision)}
      aria-label={t.licenses.bulk.select(`${licenseName(license, t)} (${license.id})`)}
    />
  );
}

/**
 * The bar of the selected licences. It shows as soon as one is selected, and the browser counts them
 * (style/55-tables.css).
 * @param query the query of the list's page
 * @param total the number of the whole list; undefined if it is unknown
 */
export function BulkBar({
  licenses,
  total = 0,
  query,
  canMail,
}: {
  licenses: License[];
  total?: number | undefined;
  query: Query;
  canMail: boolean;
}) {
  const { t, to, format } = useView();
  const texts = t.licenses.bulk;
  const list = new URLSearchParams(to('', query).split('?')[1]);
  const button = (name: string, icon: LineIconName, title: string) => (
    <button class="btn btn-sm" type="submit" name="action" value={name}>
      <LineIcon name={icon} />
      {title}
    </button>
  );
  const hasFound = total > licenses.length && total <= MAX_SELECTED;
  const box = (name: string, label: string, kind = '') => (
    <span class={`opt ${kind}`.trim()}>
      <input type="checkbox" id={`bulk-${name}`} name={name} value="1" />
      <label for={`bulk-${name}`}>{label}</label>
    </span>
  );
  return (
    <form id={FORM} class="bulk" method="post" action={to('/licenses/bulk')} aria-label={texts.label}>
      <input type="hidden" name="page" value={licenses.map(({ id }) => id).join(' ')} />
      <input type="hidden" name={LIST_FIELD} value={String(list)} />
      <p>{texts.selected}</p>
      {button('suspend', 'pause', texts.suspend)}
      {canMail ? button('mail', 'send', texts.mail) : null}
      {button('export', 'download', texts.export)}
      {/* A phone has room for one. */}
      {box('all', texts.all(format.number(licenses.length)), hasFound ? 'lg' : '')}
      {hasFound ? box('found', texts.found(format.number(total))) : null}
    </form>
  );
}
