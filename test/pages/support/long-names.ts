import { table, type Db, type TableName } from '../../../src/store/engine/database';
import { SHOP } from '../../support/sample-shop';

/** Names as long as those of real sellers and customers: several words, a German compound, and words without a place to break. */
export const LONG = {
  product: 'Veranstaltungskalender Professional für Vereine, Verbände und Kirchengemeinden',
  club: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaftsverwaltung',
  plan: 'Agenturlizenz Unternehmensgruppe (fünfundzwanzig Websites)',
  label: 'Donaudampfschifffahrtsgesellschaft, Niederlassung Süd',
  site: 'veranstaltungen.kirchengemeinde-neustadt-an-der-waldnaab.example.com',
  order: 'WC-2026-11-24-000000012345678-RENEWAL-OF-000000009876543',
  version: '2.1.0-rc12.20261124',
  token: 'webshop-production-frankfurt-fallback-issue-token',
};

/** Gives everything in the sample shop a long name. E-mail addresses stay, because sessions and keys of tests need them. */
export async function giveLongNames(db: Db): Promise<void> {
  const set = (name: TableName, where: object, values: object) =>
    db(table(db, name)).where(where).update(values);
  await set('products', { id: SHOP.gallery }, { name: LONG.product });
  await set('products', { id: SHOP.forms }, { name: LONG.club });
  for (const id of Object.values(SHOP.plans)) await set('plans', { id }, { name: `${LONG.plan} ${id}` });
  await db(table(db, 'license_keys')).whereNotNull('label').update({ label: LONG.label });
  await db(table(db, 'activations')).whereNotNull('name').update({ name: LONG.label });
  const sites = await db(table(db, 'activations')).select<{ id: number }[]>('id');
  for (const { id } of sites.slice(0, 40))
    await set('activations', { id }, { identifier: `${id}.${LONG.site}`, name: LONG.label });
  const licenses = await db(table(db, 'licenses')).whereNotNull('reference').select<{ id: number }[]>('id');
  for (const { id } of licenses.slice(0, 20))
    await set('licenses', { id }, { reference: `${LONG.order}-${id}` });
  await set('releases', { product_id: SHOP.gallery, version: '2.1.0' }, { changelog: LONG.product });
  await db(table(db, 'tokens')).update({ name: LONG.token });
  await db(table(db, 'webhooks')).update({ description: LONG.club });
}
