import { isCursorId, readCursor, toPage, type Page, type PageRequest } from '../../licensing/cursors';
import type { Db } from '../../store/engine/database';
import { findImport, listImports, type ImportRun } from '../../store/imports';

export { findImport, type ImportRun };

/** Lists the moves from other systems, newest first. */
export async function listMoves(db: Db, { after, limit }: PageRequest): Promise<Page<ImportRun>> {
  const [before] = readCursor<[number]>(after, [isCursorId]) ?? [];
  return toPage(await listImports(db, { before, limit: limit + 1 }), limit, ({ id }) => [id]);
}
