import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { migrationNames } from '../../migrations';
import { schema } from '../../migrations/schema';
import { typesFor } from '../../migrations/tables';

/** The service recognizes a database with other tables by the schema's number, and has to refuse it. */
test('a change of the tables raises the number of the schema', () => {
  const tables = JSON.stringify([false, true].map((sqlite) => schema(typesFor(sqlite))));
  const digest = createHash('sha256').update(tables).digest('hex').slice(0, 16);
  expect([migrationNames()[0], digest]).toEqual(['001_schema_6', 'e81281c84796d9d3']);
});
