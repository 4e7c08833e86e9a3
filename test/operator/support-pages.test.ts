import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { editProduct } from '../../src/licensing/catalogue';
import { refreshFigures } from '../../src/figures/kept-figures';
import { CUSTOMERS } from '../../src/texts/customers/languages';
import type { ReplyCase } from '../../src/texts/customers/reply';
import { OPERATOR_LANGUAGES, OPERATORS, type OperatorLanguage } from '../../src/texts/operators/languages';
import { rekey } from '../../src/licensing/license-keys';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { aggregateNewRows } from '../../src/figures/statistics';
import { acquireOrRenewLease } from '../../src/store/leases';
import { rmSync } from 'node:fs';
import { searchByText, type FindResult } from '../../src/support/search';
import { listActionItems, refusalsByReason } from '../../src/overview/action-items';
import { remedyOf } from '../../src/support/remedy';
import { writeReply, type Reply } from '../../src/support/reply';
import { groupFindings } from '../../src/support/grouped-findings';
import { currentAccess, type CurrentAccess } from '../../src/support/current-access';
import { requestHistory, type HistoryEntry } from '../../src/support/request-history';
import { explain, type WhyAnswer } from '../../src/support/why';
import { packageFileName } from '../../src/packages/package-files';
import { insertAccesses } from '../../src/store/access-log';
import { findLicense } from '../../src/store/licenses/licenses';
import { findPlan, findProduct, setPlan } from '../../src/store/catalogue';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import {
  ONE_BACKEND,
  countTimes,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** The pages' explanations of a licence for a seller, after requests over HTTP. */

const JOOMLA = 'Mozilla/5.0 Joomla!/5.3.0 Joomla';
const ZONE = 'Europe/Berlin';
const en = CUSTOMERS.en.language;
const de = CUSTOMERS.de.language;
const at = (time: string) => new Date(`2026-11-${time}Z`);
const NOW = at('23T07:30:00');

test('days, times and numbers are written the same way on any machine', () => {
  const end = at('12T23:59:59');
  expect(en.day(end)).toBe('12 Nov 2026');
  expect(de.day(end)).toBe('12.11.2026');
  expect(en.day(new Date('2026-09-03T00:00:00Z'))).toBe('3 Sep 2026');
  expect(de.day(new Date('2026-09-03T00:00:00Z'))).toBe('03.09.2026');
  expect(en.day(end, ZONE)).toBe('13 Nov 2026');
  expect(en.longDay(end)).toBe('12 November 2026');
  expect(de.longDay(end)).toBe('12. November 2026');
  const moments = (date: Date) => [en, de].map(({ moment }) => moment(date, ZONE, NOW));
  expect(moments(at('23T07:12:00'))).toEqual(['today, 08:12', 'heute 08:12']);
  expect(moments(at('22T23:30:00'))).toEqual(['today, 00:30', 'heute 00:30']);
  expect(moments(at('22T18:03:00'))).toEqual(['yesterday, 19:03', 'gestern 19:03']);
  expect(moments(at('22T22:59:59'))).toEqual(['yesterday, 23:59', 'gestern 23:59']);
  expect(moments(at('21T22:59:59'))).toEqual(['21 Nov 23:59', '21.11. 23:59']);
  expect(moments(at('25T08:31:00'))).toEqual(['Wed 09:31', 'Mi. 09:31']);
  expect(moments(at('29T22:59:00'))).toEqual(['Sun 23:59', 'So. 23:59']);
  expect(moments(at('29T23:00:00'))).toEqual(['30 Nov 00:00', '30.11. 00:00']);
  expect(moments(new Date('2025-11-22T18:03:00Z'))).toEqual(['22 Nov 2025 19:03', '22.11.2025 19:03']);
  expect([en.number(1842), de.number(1842)]).toEqual(['1,842', '1.842']);
  expect(en.duration('1y')).toBe('1 year');
  expect(de.duration('18m')).toBe('18 Monate');
});

test("each of Joomla's messages has a meaning and a remedy in both languages", () => {
  const [english, german] = OPERATOR_LANGUAGES.map((one) => OPERATORS[one].joomlaSays);
  expect(Object.keys(english!)).toEqual(Object.keys(german!));
  const rows = Object.values(english!);
  for (const { says, means, todo } of [...rows, ...Object.values(german!)])
    for (const text of [says, means, todo]) expectPlain(text);
  expect(new Set(rows.map(({ says }) => says)).size).toBe(rows.length);
});

/** Expects a text without shell commands and without unfilled values. */
function expectPlain(text: string): void {
  expect(text).not.toMatch(/licensing |undefined|null|NaN|\{|\[object|LICENSING_/);
  expect(text).not.toBe('');
}

describe.each(ONE_BACKEND)('on %s', (_name, backend) => {
  let service: TestService;
  let sent = 0;
  let clients = 0;
  const cases = new Map<ReplyCase, Reply>();
  const newClient = () => `198.51.100.${++clients}`;

  beforeAll(async () => {
    service = await startTestService({
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'pages.sqlite')}`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      ...(await backend()),
    });
    await givePlan(service.db);
    service.clock.now = at('01T08:00:00');
    await giveRelease(service, { version: '2.1.0' });
    await editProduct(service.db, 42, {
      renewUrl: 'https://shop.example/renew',
      supportUrl: 'https://shop.example/help',
    });
  });
  afterAll(() => service.stop());

  async function give(
    more: Parameters<typeof giveLicense>[2] & { duration?: string; limit?: number } = {},
    plan: Parameters<typeof givePlan>[1] = {},
  ): Promise<TestLicense> {
    const { duration, limit = 3, ...license } = more;
    const planId = await givePlan(service.db, { limit, ...plan });
    if (duration !== undefined) await setPlan(service.db, planId, { duration });
    return giveLicense(service.db, planId, license, at('01T09:00:00'));
  }

  async function get(time: string, path: string, ip: string): Promise<number> {
    service.clock.now = at(time);
    const { status } = await request(service.url)
      .get(`${PREFIX}/downloads/${path}`)
      .set({ 'X-Forwarded-For': ip, 'User-Agent': JOOMLA });
    sent++;
    return status;
  }

  async function activate(time: string, key: string, identifier: string, ip: string): Promise<number> {
    service.clock.now = at(time);
    const { status } = await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .set('X-Forwarded-For', ip)
      .send({ license_key: key, identifier });
    if (status !== 200) sent++;
    return status;
  }

  /** Waits for all accesses so far, because they are recorded shortly after their answers. */
  const written = () => eventually(async () => expect(await countTimes(service.db, 'access_log')).toBe(sent));

  const asked = (language: OperatorLanguage, now = NOW) => ({
    ...{ now, language, limit: 50, logDays: 90, packagesDir: service.packagesDir },
    pageDays: true,
  });

  async function search(about: string, language: OperatorLanguage): Promise<FindResult> {
    await written();
    return searchByText(service.db, about, asked(language));
  }

  interface Told {
    answer: WhyAnswer;
    happened: HistoryEntry[];
    reply: Reply;
    remedy: ReturnType<typeof remedyOf>;
    works: CurrentAccess;
  }

  /** Returns all texts of the licence's page in one language. */
  async function tell(id: number, language: OperatorLanguage, about = `id:${id}`, now = NOW): Promise<Told> {
    await written();
    const answer = await explain(service.db, about, asked(language, now));
    const license = (await findLicense(service.db, id))!;
    const happened = requestHistory(groupFindings(answer), {
      language,
      now,
      zone: ZONE,
      keyHints: [license.keyHint],
    });
    const product = await findProduct(service.db, license.product.id);
    const reply = writeReply(groupFindings(answer), happened, {
      language,
      now,
      license,
      product,
      upgradeUrl: (await findPlan(service.db, license.plan.id))?.upgradeUrl,
      shopName: 'Example Shop Ltd',
    });
    const remedy = remedyOf(groupFindings(answer), { license, planDuration: '1y', language, now });
    const works = currentAccess(groupFindings(answer), happened, {
      license,
      language,
      now,
      zone: ZONE,
      logDays: 90,
    })!;
    for (const text of [
      ...(answer.now ? [answer.now.updates.sentence, answer.now.new_site.sentence] : []),
      ...happened.flatMap((one) => [
        one.sentence,
        one.repeated,
        one.worksAgainSentence,
        one.advice,
        one.near?.sentence,
      ]),
      ...[remedy.remedy, ...remedy.others].flatMap((one) => [one?.label, one?.button, one?.note]),
      ...[reply.subject, reply.body, works.summary, works.quiet],
      ...[works.updates, works.newSite].flatMap(({ sentence, note }) => [sentence, note]),
    ])
      if (text !== null && text !== undefined) expectPlain(text);
    expect(reply.body).not.toMatch(/\d+\.\d+\.\d+\.\d+|[0-9A-F]{8}-[0-9A-F]{8}/);
    cases.set(reply.case, reply);
    return { answer, happened, reply, remedy, works };
  }

  /** Returns the texts in both languages, which must agree. */
  async function tellBoth(id: number, about?: string, now?: Date): Promise<{ en: Told; de: Told }> {
    const [en, de] = [await tell(id, 'en', about, now), await tell(id, 'de', about, now)];
    expect(de.reply.case).toBe(en.reply.case);
    expect(de.happened.map(({ code, count, worksAgain }) => [code, count, worksAgain])).toEqual(
      en.happened.map(({ code, count, worksAgain }) => [code, count, worksAgain]),
    );
    return { en, de };
  }

  test('an expired licence: equal requests are one entry, the button has the new end, and the mail the remedy', async () => {
    const { id, key } = await give({ expiresAt: at('12T23:59:59'), duration: '1y' });
    const ip = newClient();
    expect(await get('09T09:30:00', `42?dlid=${key}`, ip)).toBe(200);
    const mistyped = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    expect(await get('22T18:03:09', `42?dlid=${mistyped}`, ip)).toBe(403);
    for (const time of ['23T06:55:00', '23T07:00:00', '23T07:12:41'])
      expect(await get(time, `42?dlid=${key}`, ip)).toBe(403);

    const { en, de } = await tellBoth(id);
    expect(en.answer.now?.updates.sentence).toBe('Updates are refused: the licence expired on 12 Nov 2026.');
    expect(de.answer.now?.updates.sentence).toBe(
      'Updates werden abgelehnt: Die Lizenz ist am 12.11.2026 abgelaufen.',
    );
    const hint = key.slice(-8);
    expect(en.happened).toMatchObject([
      {
        kind: 'refused',
        code: 'EXPIRED',
        count: 3,
        at: at('23T07:12:41'),
        first: at('23T06:55:00'),
        sentence: 'Update refused: the licence expired on 12 Nov 2026.',
        parts: { what: 'Update refused', because: 'the licence expired on 12 Nov 2026.' },
        repeated: '3 times since 07:55.',
        worksAgain: null,
        client: { joomla: '5.3.0', ip },
      },
      {
        kind: 'refused',
        sentence: 'Update refused: the key is mistyped.',
        near: {
          seen: mistyped.slice(-8),
          hint,
          sentence: `It ends in ${mistyped.slice(-8)}, this licence’s in ${hint}: one character differs.`,
        },
      },
      { kind: 'granted', sentence: 'Version 2.1.0 sent.', near: null, parts: null, repeated: null },
    ]);
    expect(de.happened[0]?.sentence).toBe('Update abgelehnt: Die Lizenz ist am 12.11.2026 abgelaufen.');
    expect(
      requestHistory(groupFindings(en.answer), { language: 'en', now: NOW, zone: ZONE, limit: 1 }),
    ).toHaveLength(1);
    expect(en.remedy.remedy).toMatchObject({
      type: 'renew',
      duration: '1y',
      until: new Date('2027-11-23T07:30:00Z'),
      button: 'Renew for 1 year',
      label: 'Renew for 1 year: new end 23 Nov 2027',
      note: 'new end: 23 Nov 2027, counted from today',
    });
    expect(de.remedy.remedy?.label).toBe('Um 1 Jahr verlängern: gültig bis 23.11.2027');
    expect(en.remedy.others).toEqual([]);
    expect(en.works).toEqual({
      state: 'refused',
      summary: 'expired',
      updates: {
        allowed: false,
        sentence: 'Updates are refused: the licence expired on 12 Nov 2026.',
        note: 'Joomla tells the customer only “Error connecting to the server: 403”. 3 updates refused since.',
      },
      newSite: {
        allowed: false,
        sentence: 'New sites are refused for the same reason. 0 of 3 slots are used.',
        note: null,
      },
      quiet: null,
    });
    expect(en.reply).toEqual({
      case: 'expired',
      subject: 'Your licence for Example Shop',
      body: `Hello,

Your licence for Example Shop (key ending in ${hint}) ended on 12 November 2026. Since then Joomla answers an update with "Error connecting to the server: 403". The sites themselves have not changed.

After the renewal the update works at once, with the same key:
https://shop.example/renew

If you have questions:
https://shop.example/help

Kind regards
Example Shop Ltd`,
    });
    expect(de.reply.body).toContain('ist am 12. November 2026 abgelaufen');

    await renew(service.db, id, { for: '1y' }, { actor: 'token:shop', now: at('23T08:05:00') });
    expect(await get('23T08:06:00', `42?dlid=${key}`, ip)).toBe(200);
    const renewed = await tellBoth(id, undefined, at('23T08:30:00'));
    expect(renewed.en.happened).toMatchObject([
      { kind: 'granted' },
      {
        code: 'ACTIVE_AGAIN',
        worksAgain: at('23T08:06:00'),
        worksAgainSentence: 'Works again since today, 09:06.',
        advice: null,
      },
      { worksAgain: at('23T08:06:00') },
      // The success before it is a separate entry.
      { kind: 'granted', count: 1 },
    ]);
    expect(renewed.en.works).toMatchObject({
      state: 'again',
      updates: {
        sentence: 'Updates work again since today, 09:06.',
        note: '4 refusals before, the last today, 08:12. The customer can try again.',
      },
    });
    expect(renewed.en.remedy).toEqual({ remedy: null, others: [] });
    expect(renewed.en.reply.case).toBe('works_again');
  });

  test('a suspended, a revoked and a cancelled licence: reinstate, or a new one', async () => {
    const until = new Date('2027-02-01T23:59:59Z');
    const found: Record<string, { en: Told; de: Told }> = {};
    for (const transition of ['suspend', 'revoke', 'cancel'] as const) {
      const { id, key } = await give({ expiresAt: until });
      await changeState(service.db, id, transition, { actor: 'joomla:admin', now: at('19T10:00:00') });
      expect(await get('20T10:00:00', `42?dlid=${key}`, newClient())).toBe(403);
      found[transition] = await tellBoth(id);
    }
    expect(found.suspend?.en.remedy.remedy).toMatchObject({
      type: 'reinstate',
      note: 'ends 1 Feb 2027, as before',
    });
    expect(found.suspend?.en.reply.body).toContain('has been paused since 19 November 2026');
    expect(found.suspend?.en.works.updates.note).toBe(
      'Since 19 Nov 2026, by admin. Joomla tells the customer only “Error connecting to the server: 403”. 1 update refused since.',
    );
    expect(found.revoke?.en.remedy.remedy?.type).toBe('issue');
    expect(found.revoke?.en.reply.case).toBe('revoked');
    expect(found.cancel?.de.reply.body).toContain('am 19. November 2026 storniert');
    expect(found.cancel?.en.happened[0]?.sentence).toBe(
      'Update refused: the licence is cancelled, which is final.',
    );
  });

  test('all slots in use: a site to remove first, then more slots', async () => {
    const { id, key } = await give({ limit: 1 });
    const ip = newClient();
    expect(await activate('20T10:00:00', key, 'a.example.org', ip)).toBe(200);
    const used = await tellBoth(id);
    expect(used.en.works).toMatchObject({
      state: 'fine',
      newSite: { allowed: false, sentence: 'The only slot is in use.', note: null },
    });
    expect(used.de.works.newSite.sentence).toBe('Der einzige Platz ist belegt.');
    for (const time of ['21T10:00:00', '21T10:01:00'])
      expect(await activate(time, key, 'new.example.org', ip)).toBe(403);
    const { en, de } = await tellBoth(id);
    expect(en.remedy).toMatchObject({
      remedy: { type: 'remove_site', label: 'Choose a site to remove' },
      others: [{ type: 'raise_limit', slots: 2, label: 'Give 2 slots' }, { type: 'change_plan' }],
    });
    expect(en.works).toMatchObject({
      state: 'no_new_site',
      summary: 'full',
      newSite: {
        note: 'Last refused: new.example.org, 21 Nov 11:01, 2 times. What is activated keeps working.',
      },
    });
    expect(en.happened).toMatchObject([
      {
        count: 2,
        identifier: 'new.example.org',
        sentence: expect.stringMatching(/^Adding new\.example\.org refused: /),
      },
    ]);
    expect(en.reply).toMatchObject({
      case: 'full',
      body: expect.stringContaining('its only site is in use'),
    });
    expect(de.reply.body).toContain('ist die einzige Website belegt');
    expect(en.reply.body).toContain('what a larger licence costs');

    const { plan } = (await findLicense(service.db, id))!;
    await setPlan(service.db, plan.id, { upgradeUrl: 'https://shop.example/upgrade' });
    const offered = await tellBoth(id);
    expect(offered.en.reply.body).toMatch(
      /has more places, and keeps the key:\nhttps:\/\/shop\.example\/upgrade\n/,
    );
    expect(offered.de.reply.body).toMatch(
      /hat mehr Plätze und behält den Schlüssel:\nhttps:\/\/shop\.example\/upgrade\n/,
    );
    expect(offered.en.reply.body).not.toContain('what a larger licence costs');
  });

  test('an ended licence whose plan leaves it the older versions', async () => {
    const { id } = await give({ expiresAt: at('12T23:59:59') }, { afterExpiry: 'last_release' });
    const { en } = await tellBoth(id);
    expect(en.answer.now).toMatchObject({ updates: { allowed: true }, new_site: { allowed: false } });
    expect(en.reply.case).toBe('older_versions');
    expect(en.remedy.remedy?.type).toBe('renew');
  });

  test('nothing published, and a missing package', async () => {
    const unpublished = await give({}, { productId: 50 });
    const { en } = await tellBoth(unpublished.id);
    expect(en.reply.case).toBe('not_published');
    expect(en.remedy.remedy).toMatchObject({ type: 'publish', productId: 50 });
    const missing = await give({}, { productId: 51 });
    const { release } = await giveRelease(service, { productId: 51, version: '1.0.0' });
    rmSync(join(service.packagesDir, packageFileName(release.sha256)));
    const gone = await tellBoth(missing.id);
    expect(gone.en.reply.case).toBe('package_missing');
    expect(gone.en.remedy.remedy?.type).toBe('restore_package');
  });

  test('a valid licence: fine, or the latest problem of its customer', async () => {
    const { id, key } = await give();
    const ip = newClient();
    const fine = await tellBoth(id);
    expect(fine.en.reply.case).toBe('fine');
    expect(fine.en.works).toMatchObject({ state: 'fine', quiet: 'No refusal in 90 days.' });
    expect(await get('21T10:00:00', `42?dlid=${key}`, ip)).toBe(200);
    const [latest] = await tell(id, 'en').then(({ happened }) => happened);
    expect(latest).toMatchObject({ kind: 'granted', advice: null });

    const met = async (time: string, path: string): Promise<ReplyCase> => {
      await get(time, path, ip);
      return (await tellBoth(id)).en.reply.case;
    };
    // Swaps the first two characters of its last group that differ, because swapping equal ones changes nothing.
    const swapped = key.replace(/([^-])(?!\1)([^-])(?=[^-]*$)/, '$2$1');
    expect(await met('21T11:00:00', `42?dlid=${swapped}`)).toBe('mistyped');
    expect(await met('21T12:00:00', `42?version=9.9.9&dlid=${key}`)).toBe('version_gone');
    await givePlan(service.db, { productId: 52 });
    expect(await met('21T14:00:00', `52?dlid=${key}`)).toBe('wrong_product');
    await insertAccesses(service.db, [
      {
        ...{
          at: at('21T15:00:00'),
          endpoint: 'download',
          outcome: 'RATE_LIMITED',
          licenseId: null,
          keyId: null,
        },
        ...{ keyHint: null, productId: null, version: null, identifier: null, ip, userAgent: JOOMLA },
      },
    ]);
    sent++;
    // Requests without the licence's key change nothing, because another person may have sent them.
    const before = await tellBoth(id);
    expect(before.en.reply.case).toBe('wrong_product');
    for (const path of ['42', '42?dlid=ABCDEF01-ABCDEF02-ABCDEF03-ABCDEF04']) {
      expect(await met('21T16:00:00', path)).toBe('wrong_product');
      expect((await tell(id, 'en')).happened).toEqual(before.en.happened);
    }
    const sorted = groupFindings(await explain(service.db, `id:${id}`, asked('en', NOW)));
    expect(sorted.nearby.map(({ code }) => code)).toEqual(['UNKNOWN_KEY', 'NO_KEY', 'RATE_LIMITED']);
    expect(
      requestHistory({ requests: sorted.nearby, licenseId: id }, { language: 'en', now: NOW, zone: ZONE })[2],
    ).toMatchObject({
      sentence:
        'Update refused: too many requests from this address. Only the first of each minute is recorded.',
      advice: 'It helps to wait a minute.',
    });
    for (const language of OPERATOR_LANGUAGES)
      for (const code of ['NO_KEY', 'RATE_LIMITED']) {
        const requests = sorted.nearby.filter((one) => one.code === code);
        const answer = { ...sorted, now: null, requests, meant: undefined };
        const options = { language, now: NOW, license: undefined };
        const happened = requestHistory(answer, { ...options, zone: ZONE });
        const reply = writeReply(answer, happened, options);
        expect(reply.case).toBe(code === 'NO_KEY' ? 'no_key' : 'too_many_requests');
        expectPlain(reply.body);
        cases.set(reply.case, reply);
      }
  });

  test('the search field: one licence, several, or what is known instead', async () => {
    const customer = 'jane@example.com';
    const { id, key } = await give({ customer, reference: 'order-2410' });
    await activate('20T10:00:00', key, 'bakery.example.net', newClient());
    const one = { kind: 'license', id, key: null };
    for (const about of [
      key,
      customer,
      'order-2410',
      'bakery.example.net',
      `id:${id}`,
      key.slice(-8),
      'jane@',
    ])
      expect(await search(about, 'en')).toEqual(one);

    const second = await give({ customer: 'jane@example.com.au' });
    await activate('20T11:00:00', second.key, 'bakery.example.net', newClient());
    expect(await search(customer, 'en')).toEqual(one);
    const several = await search('bakery.example.net', 'en');
    expect(several).toMatchObject({
      kind: 'several',
      heading: 'bakery.example.net: 2 licences',
      more: false,
      licenses: [
        { license: { id: second.id }, foundAs: 'activated site' },
        { license: { id }, foundAs: 'activated site' },
      ],
    });
    expect(await search('jane', 'de')).toMatchObject({
      kind: 'several',
      heading: 'jane: 2 Lizenzen',
      licenses: [{ foundAs: 'Teil der E-Mail' }, { foundAs: 'Teil der E-Mail' }],
    });

    const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    const ip = newClient();
    await get('22T18:03:09', `42?dlid=${wrong}`, ip);
    const unknown = await search(wrong, 'en');
    expect(unknown).toMatchObject({
      kind: 'none',
      of: 'key',
      heading: 'No licence has this key',
      answer: { now: null, findings: [{ code: 'KEY_MISTYPED' }, { code: 'KEY_MISTYPED' }] },
      licenses: [{ license: { id } }],
    });
    expect(JSON.stringify(unknown)).not.toContain(wrong);
    if (unknown.kind !== 'none') throw new Error('It must not be found.');
    for (const language of OPERATOR_LANGUAGES) {
      const found = await search(wrong, language);
      if (found.kind !== 'none') throw new Error('It must not be found.');
      const happened = requestHistory(groupFindings(found.answer), { language, now: NOW, zone: ZONE });
      expect(happened).toMatchObject([{ count: 1, client: { ip } }]);
      const license = found.licenses[0]?.license;
      const reply = writeReply(groupFindings(found.answer), happened, { language, now: NOW, license });
      expect(reply.case).toBe('mistyped');
      expectPlain(reply.body);
      const nobody = await search('ABCDEF01-ABCDEF02-ABCDEF03-ABCDEF04', language);
      if (nobody.kind !== 'none') throw new Error('It must not be found.');
      const strange = writeReply(groupFindings(nobody.answer), [], {
        language,
        now: NOW,
        license: undefined,
      });
      expect(strange.case).toBe('unknown_key');
      expectPlain(strange.body);
      cases.set(strange.case, strange);
      const address = writeReply(groupFindings(nobody.answer), [], {
        ...{ language, now: NOW, license: undefined, isAddress: true },
        myUrl: 'https://shop.example/my',
      });
      expect(address.case).toBe('unknown_address');
      expect(address.body).toContain('https://shop.example/my');
      expectPlain(address.body);
      cases.set(address.case, address);
    }

    expect(await search(ip, 'en')).toMatchObject({
      kind: 'none',
      of: 'address',
      heading: ip,
      licenses: [{ license: { id } }],
    });
    expect(await search('jame@example.com', 'en')).toMatchObject({
      kind: 'none',
      of: 'email',
      licenses: [{ license: { id } }],
    });
    await expect(search('  ', 'en')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });

    const full = await give({ limit: 1 });
    await activate('20T12:00:00', full.key, 'c.example.org', ip);
    await activate('20T13:00:00', full.key, 'refused.example.org', ip);
    expect(await search('refused.example.org', 'en')).toEqual({ ...one, id: full.id });
  });

  test('a key that was replaced: the mail names the end of the new one', async () => {
    const { id, key } = await give();
    const { key: newKey } = await rekey(service.db, id, { keyId: undefined, overlap: undefined }, undefined, {
      actor: 'operator:test',
      now: at('20T10:00:00'),
    });
    const { en } = await tellBoth(id, key);
    expect(en.reply.case).toBe('key_ended');
    expect(en.reply.body).toContain(`The key that is valid now ends in ${newKey.slice(-8)}.`);
    expect(en.works.summary).toBe('this key has ended');
    expect(en.remedy.remedy?.type).toBe('show_key');
    expect(await search(key, 'en')).toMatchObject({
      kind: 'license',
      id,
      key: { ended: true },
    });
  });

  test('each mail was written in both languages', () => {
    expect(Object.keys(CUSTOMERS.en.reply.cases).filter((one) => !cases.has(one as ReplyCase))).toEqual([]);
    expect(Object.keys(CUSTOMERS.de.reply.cases)).toEqual(Object.keys(CUSTOMERS.en.reply.cases));
  });

  test('action items, and refusals by reason', async () => {
    const home = { xmlDir: temporaryFolder(), publicUrl: 'https://shop.example' };
    const options = {
      home,
      disputed: 0,
      failedMails: 1,
      stoppedWebhooks: 2,
      spreadFactor: 3,
      language: 'en' as const,
      now: NOW,
    };
    const needs = await listActionItems(service.db, options);
    expect(needs).toMatchObject([
      {
        type: 'refused',
        more: false,
        byCode: expect.arrayContaining([{ code: 'SUSPENDED', count: 1, sentence: '1 is suspended' }]),
      },
      { type: 'mails', count: 1, sentence: '1 mail was not delivered.' },
      {
        type: 'webhooks',
        count: 2,
        sentence: '2 webhooks are switched off: the other side accepts nothing.',
      },
    ]);
    const german = await listActionItems(service.db, { ...options, language: 'de' });
    for (const { sentence } of [...needs, ...german]) expectPlain(sentence);

    await editProduct(service.db, 42, { element: 'pkg_example' });
    expect(
      await listActionItems(service.db, { ...options, failedMails: 0, stoppedWebhooks: 0 }),
    ).toMatchObject([
      {
        type: 'not_offered',
        productId: 42,
        version: '2.1.0',
        sentence: 'Example Shop 2.1.0 is published, but customers’ sites are not offered it.',
      },
      { type: 'refused' },
    ]);
  });

  test('refusals by reason count requests and different licences', async () => {
    // By then, the lease of another instance has expired.
    const later = new Date(Date.now() + 24 * 60 * 60 * 1000);
    const lease = { name: 'housekeeping', holder: 'test' };
    expect(await acquireOrRenewLease(service.db, lease, later)).toBe(true);
    expect(await aggregateNewRows(service.db, lease, () => later)).toBe(true);
    expect(await refreshFigures(service.db, lease, () => NOW)).toBe(true);
    const query = { productId: undefined, days: 30 } as const;
    const reasons = await refusalsByReason(service.db, query, NOW, 'en');
    expect(reasons.find(({ code }) => code === 'LICENSE_EXPIRED')).toEqual({
      ...{ code: 'LICENSE_EXPIRED', reason: 'Licence expired', licenses: 1, requests: 3 },
      last: at('23T07:12:41'),
    });
    const german = await refusalsByReason(service.db, query, NOW, 'de');
    for (const { reason } of [...reasons, ...german]) expectPlain(reason);
  });
});
