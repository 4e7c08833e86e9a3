import type { License } from '../../../licensing/licenses';
import { useView, type Query } from '../view';
import { licenseName } from './license-call';

/** Selecting licences of the list, for what license-bulk.tsx does with them. */

const FORM = 'bulk';
/** Before a licence's id in the name of a field, whose value is the revision that was seen: a name counts once in a form. */
export const LICENSE_FIELD = 'license-';
/** The query of the list's page, to go back to. */
export const LIST_FIELD = 'list';

/** A box that selects a licence of the list. */
export function SelectLicense({ license }: { license: License }) {
  const { t } = useView();
  return (
    <input
      class="form-check-input"
      type="checkbox"
      form={FORM}
      name={`${LICENSE_FIELD}${license.id}`}
      value={String(license.revision)}
      aria-label={t.licenses.bulk.select(`${licenseName(license, t)} (${license.id})`)}
    />
  );
}

/** What can be done with the selected ones. @param query of the list's page */
export function BulkBar({
  licenses,
  query,
  canMail,
}: {
  licenses: License[];
  query: Query;
  canMail: boolean;
}) {
  const { t, to, format } = useView();
  const texts = t.licenses.bulk;
  const list = new URLSearchParams(to('', query).split('?')[1]);
  const button = (name: string, title: string) => (
    <button class="btn btn-quiet btn-sm" type="submit" name="action" value={name}>
      {title}
    </button>
  );
  return (
    <form id={FORM} class="acts" method="post" action={to('/licenses/bulk')} aria-label={texts.label}>
      <input type="hidden" name="page" value={licenses.map(({ id }) => id).join(' ')} />
      <input type="hidden" name={LIST_FIELD} value={String(list)} />
      <span class="muted">{texts.selected}</span>
      {button('suspend', texts.suspend)}
      {canMail ? button('mail', texts.mail) : null}
      {button('export', texts.export)}
      <span class="form-check mb-0 ms-2">
        <input class="form-check-input" type="checkbox" id="bulk-all" name="all" value="1" />
        <label class="form-check-label" for="bulk-all">
          {texts.all(format.number(licenses.length))}
        </label>
      </span>
    </form>
  );
}
