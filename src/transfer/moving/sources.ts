import { refusal } from '../refusals';
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

/** The systems that can be moved in from, by the names that `--from` takes. A new one is a file of this folder and a line here. */
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

/** @throws OperatorError when there is no source of this name */
export function requireSource(name: string): MovingSource {
  const source = SOURCES.find((one) => one.name === name);
  if (source !== undefined) return source;
  throw refusal('no-source', [name, SOURCES.map((one) => one.name).join(', ')], { field: 'from' });
}
