import { Table } from '../kit/table';
import { useView } from '../view';

/** Joomla's messages for failures that leave no record here, with their meaning. */
export function JoomlaErrors() {
  const { t } = useView();
  const texts = t.license.why;
  return (
    <details class="fold">
      <summary>{texts.other}</summary>
      <Table
        caption={texts.otherHint}
        rows={Object.values(t.joomlaSays)}
        empty={null}
        columns={[
          { title: texts.says, kind: 'name', cell: ({ says }) => says },
          {
            title: texts.means,
            cell: ({ means, todo }) => (
              <>
                {means} <span class="sub">{todo}</span>
              </>
            ),
          },
        ]}
      />
    </details>
  );
}
