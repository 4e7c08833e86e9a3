import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the recorder noted (answer-recorder.cjs). */

/** @returns every answer that is not as the document says */
export function readWrong(folder) {
  return readNotes(folder, 'wrong');
}

/** @returns the operations and their successes that no answer was seen of */
export function readUnseen(folder, document) {
  const seen = new Set(readNotes(folder, 'seen'));
  return Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, responses }) =>
      Object.keys(responses)
        .filter((status) => status.startsWith('2'))
        .map((status) => `${operationId} ${status}`),
    )
    .filter((line) => !seen.has(line));
}

function readNotes(folder, kind) {
  const lines = readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}-`))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  return [...new Set(lines.filter(Boolean))].sort();
}
