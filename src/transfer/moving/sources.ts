import { importError } from '../refusals';
import { anyCsv } from './any-csv';
import { ars } from './ars';
import { eddCsv } from './edd-csv';
import { freemiusCsv } from './freemius-csv';
import { gumroadCsv } from './gumroad-csv';
import { hikaSerial } from './hikaserial';
import { lemonSqueezyCsv } from './lemonsqueezy-csv';
import { lmfwcCsv } from './lmfwc-csv';
import { membershipPro } from './membershippro';
import type { MovingSource } from './source';

/** The sources, by the names that `--from` accepts. A new one needs a file in this folder and a line here. */
export const SOURCES: MovingSource[] = [
  membershipPro,
  ars,
  hikaSerial,
  eddCsv,
  lmfwcCsv,
  freemiusCsv,
  lemonSqueezyCsv,
  gumroadCsv,
  anyCsv,
];

/** Returns the source with this name. @throws OperatorError for an unknown name */
export function requireSource(name: string): MovingSource {
  const source = SOURCES.find((one) => one.name === name);
  if (source !== undefined) return source;
  throw importError('no-source', [name, SOURCES.map((one) => one.name).join(', ')], { field: 'from' });
}
