import { changesOf } from '../../../joomla/changelog';
import { CHANGE_KINDS } from '../../../licensing/changelog';
import { useView } from '../view';

/** The preview of a changelog as Joomla's window shows it: in its order, and with its English names. */
export function ChangelogPreview({ changelog }: { changelog: string }) {
  const texts = useView().t.releases.preview;
  const changes = changesOf(changelog);
  if (Object.keys(changes).length === 0) return null;
  return (
    <section class="fld" aria-labelledby="h-preview">
      <h2 id="h-preview">{texts.title}</h2>
      {CHANGE_KINDS.map((list) =>
        changes[list] === undefined ? null : (
          <>
            <h3 class="small">{texts.lists[list]}</h3>
            <ul class="small">
              {changes[list].slice(0, MAX_SHOWN).map((item) => (
                <li>{item}</li>
              ))}
              {changes[list].length > MAX_SHOWN ? <li>...</li> : null}
            </ul>
          </>
        ),
      )}
      <p class="hint">{texts.hint}</p>
    </section>
  );
}

/** The most lines of the preview, because a changelog can be one megabyte. */
const MAX_SHOWN = 50;
