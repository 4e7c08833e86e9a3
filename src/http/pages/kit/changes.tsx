import { readChanges, type ChangeKind } from '../../../licensing/changelog';

/** Shows the lines of a changelog, each with the word of its kind. @param words empty for a kind without a word */
export function ChangeList({ changelog, words }: { changelog: string; words: Record<ChangeKind, string> }) {
  const changes = readChanges(changelog);
  if (changes.length === 0) return null;
  return (
    <ul class="news">
      {changes.map(({ kind, text }) => (
        <li>
          {words[kind] === '' ? null : (
            <>
              <span class={`tag tag-word ${KINDS[kind] ?? ''}`.trim()}>{words[kind]}</span>{' '}
            </>
          )}
          <span>{text}</span>
        </li>
      ))}
    </ul>
  );
}

const KINDS: Partial<Record<ChangeKind, string>> = { security: 'tag-bad', addition: 'tag-info' };
