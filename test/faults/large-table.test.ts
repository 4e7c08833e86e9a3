import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { addPlan, operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { DATABASE_KINDS, newPlace, rows } from '../support/service';
import { openMigrated } from '../support/service-process';

test.each(DATABASE_KINDS)(
  'a table of another system, read into %s, is streamed: 100,000 rows',
  async (kind) => {
    const settings = {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    };
    const db = await openMigrated(settings);
    const shop = operator(settings);
    await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    await addPlan(shop, '42', 'Single', 'domain', '1');
    const file = join(temporaryFolder(), 'licences.csv');
    const lines = Array.from(
      { length: 100_000 },
      (_, i) => `${randomUUID()},42,Single,active,1,2099-01-31,c${i}@example.com,o-${i},s${i}.example`,
    );
    const heading = 'License Key,Product,Plan,Status,Limit,Expires,E-mail,Order,Sites';
    writeFileSync(file, `${[heading, ...lines].join('\n')}\n`);
    const map =
      'key=License Key,product=Product,plan=Plan,status=Status,limit=Limit,expiry=Expires,customer=E-mail,reference=Order,activations=Sites';

    const report = await shop.json(['import', file, '--csv', '--map', map], { ownProcess: true });

    expect(report).toMatchObject({ new: 100_000, left_out: [] });
    const all = await rows<{ activations_used: number }>(db, 'licenses');
    expect([all.length, all.every(({ activations_used }) => activations_used === 1)]).toEqual([
      100_000,
      true,
    ]);
    expect(await rows(db, 'activations')).toHaveLength(100_000);
    await db.destroy();
  },
  240_000,
);
