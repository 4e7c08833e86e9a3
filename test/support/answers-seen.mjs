import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads the notes of the recorder (answer-recorder.cjs). */

/** Returns every answer that differs from the document. */
export function readWrong(folder) {
  return readNotes(folder, 'wrong');
}

/** Returns the operations and successes without an answer. */
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
