import { expect, test } from '@jest/globals';
import { createFormat } from '../../src/http/pages/format';
import { eventSentence } from '../../src/http/pages/operator/event-sentence';
import { actorInWords } from '../../src/support/sentences';
import type { EventAction, RecordedEvent } from '../../src/store/events';
import { CUSTOMERS } from '../../src/texts/customers/languages';
import { pageTexts } from '../../src/texts/operators/languages';

/** Tests the sentences of a licence's history. */

const NOW = new Date('2026-11-26T12:00:00Z');
type Fields = Record<string, unknown> | null;

function recorded(
  action: EventAction,
  before: Fields,
  after: Fields,
  more: Partial<RecordedEvent> = {},
): RecordedEvent {
  return {
    id: 1,
    licenseId: 7,
    at: NOW,
    actor: 'operator:anna',
    action,
    before,
    after,
    times: 1,
    lastAt: null,
    ...more,
  };
}

const PLANS = new Map([[1, 'Pro']]);

function say(
  event: RecordedEvent,
  { language = 'en', activationType = 'domain' }: { language?: 'en' | 'de'; activationType?: string } = {},
) {
  const format = createFormat(CUSTOMERS[language].language, 'Europe/Berlin', NOW);
  return eventSentence(event, pageTexts(language), format, { activationType, plans: PLANS });
}

const END = '2027-11-26T23:59:59Z';
const OLD = '2026-11-26T23:59:59Z';

test.each<[EventAction, before: Fields, after: Fields, sentence: string]>([
  ['issue', null, { reference: 'order 1' }, 'Issued, order 1'],
  ['issue', null, {}, 'Issued'],
  ['import', null, { status: 'active', reference: 'order 1' }, 'Imported, order 1'],
  ['import', { status: 'active' }, { status: 'suspended' }, 'Changed by an import'],
  ['import', null, { customer: 'a@example.com' }, 'Changed by an import'],
  ['suspend', {}, {}, 'Suspended'],
  ['suspend', {}, { reason: 'Refunded' }, 'Suspended: “Refunded”'],
  ['reinstate', {}, {}, 'Reinstated'],
  ['revoke', {}, {}, 'Revoked'],
  ['cancel', {}, {}, 'Cancelled'],
  [
    'renew',
    { status: 'active', expires_at: OLD },
    { expires_at: END },
    'Renewed: ends 26 Nov 2027, before 26 Nov 2026',
  ],
  [
    'renew',
    { status: 'active', expires_at: OLD },
    { expires_at: null },
    'Renewed: ends never, before 26 Nov 2026',
  ],
  [
    'renew',
    { status: 'suspended', expires_at: OLD },
    { expires_at: END },
    'Renewed and active again: ends 26 Nov 2027',
  ],
  ['set-end', { expires_at: null }, { expires_at: END }, 'Ends 26 Nov 2027, before never'],
  ['set-limit', { activation_limit: 1 }, { activation_limit: 0 }, 'Slots 1 → unlimited'],
  ['set-limit', { activation_limit: 1 }, { activation_limit: 1500 }, 'Slots 1 → 1,500'],
  ['change-plan', { plan_id: 1, activation_limit: 1 }, { plan_id: 9, activation_limit: 1 }, 'Plan Pro → 9'],
  [
    'change-plan',
    { plan_id: 9, activation_limit: 1 },
    { plan_id: 1, activation_limit: 5 },
    'Slots 1 → 5, Plan 9 → Pro',
  ],
  ['set-customer', { customer: '' }, { customer: 'a@example.com' }, 'Customer – → a@example.com'],
  [
    'set-metadata',
    { metadata: { vat: 'DE1', note: 'x' } },
    { metadata: { note: 'y', team: 'z' } },
    'Note changed: vat, note, team',
  ],
  ['set-metadata', { metadata: null }, { metadata: { note: 'y' } }, 'Note changed: note'],
  ['erase-customer', {}, {}, 'Customer’s data erased'],
  ['add-key', null, { key_hint: 'ABCD', label: 'agency' }, 'Key added: ends in ABCD, for agency'],
  ['add-key', null, { key_hint: null, label: '' }, 'Key added: ends in –'],
  [
    'edit-key',
    { label: '', activation_limit: null, ends_at: null },
    { key_hint: 'ABCD', label: 'agency', activation_limit: 2, ends_at: END },
    'Key ABCD changed: for – → agency, slots – → 2, ends with the licence → 26 Nov 2027',
  ],
  [
    'edit-key',
    { label: 'agency', activation_limit: 2, ends_at: END },
    { key_hint: 'ABCD', label: 'agency', activation_limit: 3, ends_at: END },
    'Key ABCD changed: slots 2 → 3',
  ],
  ['end-key', {}, { key_hint: 'ABCD' }, 'Key ABCD ended'],
  ['rekey', { key_hint: 'ABCD' }, { key_hint: 'EF01' }, 'New key EF01 replaces ABCD'],
  [
    'rekey',
    { key_hint: 'ABCD' },
    { key_hint: 'EF01', old_key_ends_at: END },
    'New key EF01 replaces ABCD, the old one works until 26 Nov 2027',
  ],
  ['reveal', null, null, 'Key shown'],
  ['activate', {}, { identifier: 'example.com' }, 'Site added: example.com'],
  ['activate', {}, { identifier: 'xn--mnchen-3ya.de' }, 'Site added: münchen.de (xn--mnchen-3ya.de)'],
  [
    'activate',
    {},
    { identifier: 'dev.example.com', free: true },
    'Site added, takes no slot: dev.example.com',
  ],
  ['activate', {}, {}, 'Site added'],
  [
    'rename-activation',
    { identifier: 'example.com', name: null },
    { identifier: 'example.com', name: 'Shop' },
    'Site example.com named Shop, before –',
  ],
  ['free-activation', {}, { identifier: 'dev.example.com' }, 'Site no longer takes a slot: dev.example.com'],
  [
    'hold-activation',
    {},
    { identifier: 'example.com', held_until: END },
    'File for use without network: example.com, site held until 26 Nov 2027',
  ],
  ['deactivate', { identifier: 'example.com' }, {}, 'Site removed: example.com'],
  ['repair', { activations_used: 3 }, { activations_used: 0 }, 'Used slots corrected 3 → 0'],
])('%s, %j -> %j: %s', (action, before, after, sentence) => {
  expect(say(recorded(action, before, after))).toBe(sentence);
});

test.each<[string, Partial<RecordedEvent>, string]>([
  ['once', { times: 1, lastAt: NOW }, 'Site added: a.com'],
  ['counted without a time', { times: 3, lastAt: null }, 'Site added: a.com'],
  ['several times', { times: 1200, lastAt: NOW }, 'Site added: a.com (1,200 times until today, 13:00)'],
])('repeated: %s', (_, more, sentence) => {
  expect(say(recorded('activate', {}, { identifier: 'a.com' }, more))).toBe(sentence);
});

test.each<['en' | 'de', activationType: string]>([
  ['en', 'device'],
  ['en', 'seat'],
  ['en', 'instance'],
  ['de', 'domain'],
  ['de', 'device'],
])('in %s, by what a plan counts: %s', (language, activationType) => {
  const { activated } = pageTexts(language).history;
  const sentence = say(recorded('activate', {}, { identifier: 'x' }), { language, activationType });
  expect(sentence).toBe(activated(activationType, 'x'));
  expect(sentence).not.toBe(say(recorded('activate', {}, { identifier: 'x' })));
});

test.each<[actor: string, by: string]>([
  ['customer', 'the customer'],
  ['customer:192.0.2.1', 'the customer’s software'],
  ['operator:anna', 'anna'],
  ['token:Own shop', 'Own shop'],
  ['joomla:ann', 'ann'],
  ['shop:stripe', 'Stripe'],
  ['shop:fair', 'fair'],
  ['orders', 'the service'],
  ['system', 'system'],
])('by %s', (actor, by) => {
  expect(actorInWords(actor, pageTexts('en'))).toBe(by);
});
