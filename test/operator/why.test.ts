import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { simulationUserAgent } from '../../src/joomla/updater/agent';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { queueMail } from '../../src/mail/queue';
import type { LineMessage, OrderMessage } from '../../src/orders/message';
import { processOrder } from '../../src/orders/process';
import { recordOrder } from '../../src/orders/record';
import { explain, type ExplainedFinding } from '../../src/support/why';
import type { CauseCode, CauseFacts, MeantKey, RequestFacts } from '../../src/support/finding-model';
import { sentenceOf } from '../../src/support/sentences';
import { OPERATORS, type OperatorLanguage } from '../../src/texts/operators/languages';
import {
  compareHints,
  hintsWithinOneTypo,
  hintsOfTypos,
  keysWithinOneTypo,
  mayBeNativeKey,
} from '../../src/support/similar-keys';
import { createSiteRecorder } from '../../src/licensing/spreading';
import { insertAccesses, listAccessesNearby, type Access } from '../../src/store/access-log';
import { table } from '../../src/store/engine/database';
import { recordReportedSites } from '../../src/store/reported-sites';
import { packageFileName } from '../../src/packages/package-files';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { SHOWN } from '../support/why-findings';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
  countTimes,
} from '../support/service';

/** Answers for support after requests over HTTP, from the built command and as data. */

const JOOMLA = 'Mozilla/5.0 Joomla!/5.3.0 Joomla';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const DAY = 24 * 60 * 60 * 1000;

interface Finding {
  code: string;
  text: string;
  remedy: string | null;
}

interface Answer {
  license: { id: number; status: string; key_hint: string } | null;
  licenses?: { id: number }[];
  findings: Finding[];
  accesses: (Finding & { count: number; ip: string; license_id: number | null; outcome: string })[];
  nearby: Answer['accesses'];
  untraced: { code: string; text: string }[];
}

const codes = (findings: { code: string }[]) => findings.map(({ code }) => code);

/** Returns the name of a finding. Findings about recorded requests have separate codes, because their facts differ. */
const nameOf = ({ code, facts }: ExplainedFinding) =>
  'request' in facts && !['CHECKED', 'GRANTED', 'GRANTED_REPEATEDLY'].includes(code)
    ? `request ${code}`
    : code;

/** Masks everything that differs between runs. */
const shown = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (field, one: unknown) => (field === 'key_hint' && one !== null ? 'HINT' : one))
      .replaceAll(/\b[0-9A-F]{8}\b/g, 'HINT')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z|\d\d\.\d\d\.\d{4} um [\d:]+ UTC/g, 'TIME')
      .replaceAll(/\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4}/g, 'DAY')
      .replaceAll(/\d+\.\d+\.\d+\.\d+/g, 'ADDRESS')
      .replaceAll(/operator:\w+/g, 'ACTOR')
      .replaceAll(/(?<![\w./#-])\d+(?![\w-]|\.\d)/g, '0'),
  );

describe.each(ONE_BACKEND)('on %s', (_name, backend) => {
  let service: TestService;
  let shop: Operator;
  let sent = 0;
  const keys = new Set<string>();
  let output = '';
  /** The first finding of each kind, in both languages. */
  const seen = new Map<string, { finding: ExplainedFinding; german: ExplainedFinding }>();
  const compared = new Set<string>();
  /** The time at which the service's clock is stopped. */
  let stopped: Date | undefined;

  beforeAll(async () => {
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'why.sqlite')}`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      ...(await backend()),
      LICENSING_DOWNLOAD_RATE_LIMIT: '100',
    };
    service = await startTestService(settings);
    shop = operator(settings);
    await givePlan(service.db);
    await giveRelease(service, { version: '2.1.0' });
  });
  afterAll(() => service.stop());

  let clients = 0;
  const newClient = () => `198.51.${100 + Math.floor(++clients / 200)}.${(clients % 200) + 1}`;

  async function give(more: Parameters<typeof giveLicense>[2] = {}, limit = 3): Promise<TestLicense> {
    const license = await giveLicense(service.db, await givePlan(service.db, { limit }), more);
    keys.add(license.key);
    return license;
  }

  async function get(path: string, ip: string, userAgent = JOOMLA): Promise<number> {
    service.clock.now = stopped ?? new Date();
    const { status } = await request(service.url)
      .get(`${PREFIX}/downloads/${path}`)
      .set({ 'X-Forwarded-For': ip, 'User-Agent': userAgent });
    sent++;
    return status;
  }

  async function post(verb: 'activate' | 'deactivate', body: object, ip: string): Promise<number> {
    service.clock.now = new Date();
    const { status } = await request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .set('X-Forwarded-For', ip)
      .send(body);
    if (status !== 200) sent++;
    return status;
  }

  /** Waits for all accesses so far, because they are recorded shortly after their answers. */
  const written = () => eventually(async () => expect(await countTimes(service.db, 'access_log')).toBe(sent));

  async function why(what: string | number, ...options: string[]): Promise<Answer> {
    await written();
    const answer = await shop.json<Answer>(['why', String(what), ...options]);
    output += JSON.stringify(answer);
    // Sentences depend only on their data, so each code is compared once.
    const requests = codes([...answer.accesses, ...answer.nearby]).map((code) => `request ${code}`);
    const told = [...codes(answer.findings), ...requests];
    const isNew = told.some((code) => !compared.has(code));
    for (const code of told) compared.add(code);
    if (isNew) await compare(String(what), answer, options[0] === '--limit' ? Number(options[1]) : undefined);
    return answer;
  }

  const asData = async (about: string, language: OperatorLanguage = 'en', limit = 100) => {
    await written();
    return explain(service.db, about, {
      ...{ now: new Date(), limit, logDays: 90, language },
      packagesDir: service.packagesDir,
    });
  };

  /** Compares the command with the data: both have the same codes and sentences, and the data has no commands or keys. */
  async function compare(about: string, answer: Answer, limit?: number): Promise<void> {
    const english = await asData(about, 'en', limit);
    const german = await asData(about, 'de', limit);
    output += JSON.stringify([english, german]);
    expect({
      ...english,
      findings: english.findings.map(({ code, sentence }) => [code, sentence]),
      nearby: english.nearby.map(({ code, sentence }) => [code, sentence]),
    }).toMatchObject({
      license_id: answer.license?.id ?? null,
      licenses: answer.licenses?.map(({ id }) => ({ license_id: id })),
      findings: [...answer.findings, ...answer.accesses].map(({ code, text }) => [code, text]),
      nearby: answer.nearby.map(({ code, text }) => [code, text]),
    });
    expect(english.now === null).toBe(answer.license === null);
    for (const [i, finding] of [...english.findings, ...english.nearby].entries()) {
      const { code, facts, since, count, action, advice } = finding;
      const translated = [...german.findings, ...german.nearby][i] as ExplainedFinding;
      expect(translated).toMatchObject({ code, facts, since, count, action });
      expect((translated.advice === null) === (advice === null)).toBe(true);
      if (!seen.has(nameOf(finding))) seen.set(nameOf(finding), { finding, german: translated });
    }
    for (const { now, findings, untraced } of [english, german])
      for (const text of [
        ...findings.flatMap(({ sentence, advice }) => [sentence, advice ?? '']),
        ...untraced.map(({ sentence }) => sentence),
        ...(now ? [now.updates.sentence, now.new_site.sentence] : []),
      ]) {
        expect(text).not.toMatch(
          /licensing |undefined|null|NaN|IDENTIFIER|\bID\b|VERSION|FILE\b|YOUR|\[object/,
        );
        expect(text).toMatch(/^$|[.)]$/u);
      }
  }

  async function told(what: string | number, ...options: string[]): Promise<string> {
    await written();
    const { code, stdout, stderr } = await shop.run(['why', String(what), ...options]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    output += stdout;
    return stdout;
  }

  test('an expired licence: since when, how often it was refused, and the command that renews it', async () => {
    const expiresAt = new Date(Date.now() - 10 * DAY);
    const { id, key } = await give({ expiresAt });
    const ip = newClient();
    for (let i = 0; i < 4; i++) expect(await get(`42?dlid=${key}`, ip)).toBe(403);
    const day = expiresAt.toISOString().slice(0, 10);

    const answer = await why(key);
    expect(answer.license).toMatchObject({ id, status: 'expired', key_hint: key.slice(-8) });
    expect(answer.findings).toEqual([
      {
        code: 'EXPIRED',
        text: `Licence ${id} (Example Shop, Developer) expired on ${day}, 4 downloads refused since.`,
        remedy: `licensing license renew ${id} --for 1y`,
      },
    ]);
    expect(answer.accesses).toMatchObject([
      {
        code: 'EXPIRED',
        text: `A download of product 42 with licence ${id} was refused to Joomla 5.3.0 at ${ip}: the licence expired on ${day}.`,
        count: 4,
        outcome: 'LICENSE_EXPIRED',
      },
    ]);
    expect(await told(id)).toMatch(
      new RegExp(
        `expired on ${day}, 4 downloads refused since\\.\\n {3}-> licensing license renew ${id} --for 1y\\n`,
      ),
    );

    const [, ...renewal] = (answer.findings[0]!.remedy as string).split(' ');
    await shop.json(renewal);
    expect(await get(`42?dlid=${key}`, ip)).toBe(200);
    const renewed = await why(id);
    expect(codes(renewed.findings)).toEqual(['ACTIVE']);
    expect(codes(renewed.accesses)).toEqual(['ACTIVE_AGAIN', 'GRANTED']);
  });

  test('a suspended and a revoked licence: by whom, why, and whether it can be reinstated', async () => {
    const suspended = await give();
    const revoked = await give();
    const ip = newClient();
    await shop.json(['license', 'suspend', String(suspended.id), '--reason', 'invoice 77 open']);
    await shop.json(['license', 'revoke', String(revoked.id)]);
    await shop.json(['license', 'set-customer', String(revoked.id), 'refunded@example.com']);
    await get(`42?dlid=${suspended.key}`, ip);
    await get(`42?dlid=${revoked.key}`, ip);
    const first = await why(suspended.id);
    expect(first.findings).toMatchObject([
      { code: 'SUSPENDED', remedy: `licensing license reinstate ${suspended.id}` },
    ]);
    expect(first.findings[0]?.text).toMatch(
      /was suspended on \d{4}-\d\d-\d\d by \w+ \("invoice 77 open"\), 1 download refused since\./,
    );
    expect(codes(first.accesses)).toEqual(['SUSPENDED']);
    const second = await why(revoked.id);
    expect(codes(second.findings)).toEqual(['REVOKED']);
    expect(second.findings[0]?.remedy).toMatch(
      /licensing license issue --plan \d+ --customer refunded@example\.com$/,
    );
    expect(codes(second.accesses)).toEqual(['REVOKED']);
  });

  describe('a past refusal', () => {
    const at = (time: string) => new Date(`2026-03-21T${time}Z`);
    const change = (id: number, transition: 'suspend' | 'reinstate' | 'cancel', time: string) =>
      changeState(service.db, id, transition, { actor: 'operator:test', now: at(time) });
    async function refuseAt(time: string, key: string): Promise<void> {
      stopped = at(time);
      expect(await get(`42?dlid=${key}`, newClient())).toBe(403);
      stopped = undefined;
    }

    test('is explained by the state at that time, with the remedy of today', async () => {
      const { id, key } = await give();
      await change(id, 'suspend', '10:00:00');
      await refuseAt('10:01:00', key);
      expect((await why(id)).accesses).toMatchObject([
        {
          code: 'SUSPENDED',
          text: expect.stringMatching(/: the licence is suspended\.$/),
          remedy: `licensing license reinstate ${id}`,
        },
      ]);
      await change(id, 'reinstate', '10:02:00');
      expect((await why(id)).accesses).toMatchObject([
        {
          code: 'ACTIVE_AGAIN',
          text: expect.stringMatching(/: the licence was suspended; it is active again now\.$/),
        },
      ]);
      await change(id, 'cancel', '10:03:00');
      await refuseAt('10:04:00', key);
      expect((await why(id)).accesses).toMatchObject([
        {
          code: 'CANCELLED',
          text: expect.stringMatching(/: the licence was suspended, and is cancelled now\.$/),
          remedy: null,
        },
        {
          code: 'CANCELLED',
          text: expect.stringMatching(/: the licence is cancelled, which is final\.$/),
          remedy: null,
        },
      ]);
    });

    test('by an end that was changed since, or a state without a record, is explained in words that are still true', async () => {
      const context = { actor: 'operator:test', now: at('11:02:00') };
      const { id, key } = await give({ expiresAt: at('11:00:00') });
      await refuseAt('11:01:00', key);
      await renew(service.db, id, { until: at('11:03:00') }, context);
      await refuseAt('11:04:00', key);
      expect((await why(id)).accesses).toMatchObject([
        { code: 'EXPIRED', text: expect.stringMatching(/: the licence had expired, and is expired now\.$/) },
        { code: 'EXPIRED', text: expect.stringMatching(/: the licence expired on 2026-03-21\.$/) },
      ]);

      const imported = await give({ expiresAt: at('11:00:00') });
      await service
        .db(table(service.db, 'licenses'))
        .where({ id: imported.id })
        .update({ status: 'suspended' });
      await refuseAt('10:59:00', imported.key);
      expect((await why(imported.id)).accesses).toMatchObject([
        {
          code: 'SUSPENDED',
          text: expect.stringMatching(/: the licence was not active, and is suspended now\.$/),
          remedy: `licensing license renew ${imported.id} --for 1y`,
        },
      ]);
    });

    test('for lack of a slot has no remedy once the licence itself cannot be used', async () => {
      const { id, key } = await give({}, 1);
      const ip = newClient();
      await post('activate', { license_key: key, identifier: 'a.example' }, ip);
      expect(await post('activate', { license_key: key, identifier: 'b.example' }, ip)).toBe(403);
      expect(await get(`42?dlid=${key}&identifier=b.example`, ip)).toBe(403);
      await shop.json(['license', 'cancel', String(id)]);
      const { accesses } = await why(id);
      expect(accesses).toMatchObject([
        {
          text: expect.stringContaining('all slots were in use; the licence is cancelled now'),
          remedy: null,
        },
        {
          text: expect.stringContaining('b.example was not activated; the licence is cancelled now'),
          remedy: null,
        },
      ]);
    });
  });

  describe('an unknown key', () => {
    const KEY = '10A1B2C3-D4E5F607-18293A4B-5C6D7E80';
    let license: TestLicense;
    beforeAll(async () => {
      license = await give({ key: KEY });
    });

    test.each([
      ['one character', '10A1B2C3-D4E5F607-18293A4B-5C6D7E81', 'its last group differs from'],
      ['two swapped', '10A1B2C3-D4E5F607-18293A4B-5C6D7E08', 'two neighbouring characters swapped'],
      ['a letter O for the 0', '10A1B2C3-D4E5F607-18293A4B-5C6D7E8O', 'a letter for a digit'],
      ['the last character missing', '10A1B2C3-D4E5F607-18293A4B-5C6D7E8', 'one character left out'],
      [
        'a slip in the first group',
        '20A1B2C3-D4E5F607-18293A4B-5C6D7E80',
        'the mistake is in a part before its end',
      ],
      ['an I for a 1 in front, in lower case', 'i0a1b2c3-d4e5f607-18293a4b-5c6d7e80', 'is not a whole key'],
    ])(
      'with %s names the licence it was meant for, by id, by its own end, and by the address',
      async (_what, wrong, words) => {
        keys.add(wrong);
        const ip = newClient();
        await get(`42?dlid=${encodeURIComponent(wrong)}`, ip);
        const hint = /^[0-9A-F-]{35}$/.test(wrong) ? wrong.slice(-8) : wrong.slice(-4);
        const { accesses } = await why(license.id);
        const access = accesses.find((one) => one.ip === ip);
        expect(access).toMatchObject({ code: 'KEY_MISTYPED', license_id: null });
        expect(access?.text).toContain(words);
        expect(access?.text).toContain(`licence ${license.id}'s`);
        expect((await why(ip)).accesses).toMatchObject([{ code: 'KEY_MISTYPED', text: access?.text }]);
        if (hint !== KEY.slice(-8))
          expect((await why(hint)).findings).toMatchObject([
            { code: 'KEY_MISTYPED', text: expect.stringContaining(`licence ${license.id}'s`) },
          ]);
        // With the whole key, the answer is certain.
        const whole = await shop.json<Answer>(['why', '-'], { stdin: `${wrong}\n` });
        output += JSON.stringify(whole);
        expect(whole.license).toBeNull();
        expect(whole.findings[0]?.code).toBe('KEY_MISTYPED');
        expect(whole.findings[0]?.text).toMatch(
          new RegExp(`^No licence has this key: .*licence ${license.id}'s`),
        );
        expect(whole.accesses.some((one) => one.ip === ip)).toBe(true);
      },
    );

    test('that resembles no other is reported as unknown', async () => {
      const wrong = 'FFFFFFFF-FFFFFFFF-FFFFFFFF-FFFFFFFF';
      const { findings, accesses } = await why(wrong);
      expect(codes(findings)).toEqual(['UNKNOWN_KEY', 'NOTHING_RECORDED']);
      expect(accesses).toEqual([]);
    });

    test('cut to a few characters leaves no end to search for, and says so', async () => {
      const ip = newClient();
      await get('42?dlid=A&B', ip);
      const { accesses } = await why(ip);
      expect(accesses[0]).toMatchObject({ code: 'UNKNOWN_KEY' });
      expect(accesses[0]?.text).toContain('Joomla cuts a key off at "&" and "#"');
    });

    test('of another system is found in any case, and with a small mistake', async () => {
      const imported = await give({ key: 'Shop/2024/Zx9-Order-Qw3r' });
      const [found] = (await shop.json<Answer>(['why', '-'], { stdin: 'shop/2024/zx9-order-qw3r' })).findings;
      expect(found?.text).toContain(`Licence ${imported.id} `);
      for (const wrong of ['Shop/2024/Zx9-Order-Qw3', 'Shop/2024/Zx9-Odrer-Qw3r'])
        expect((await shop.json<Answer>(['why', '-'], { stdin: wrong })).findings[0]?.text).toContain(
          `licence ${imported.id}'s`,
        );
    });
  });

  describe('the end of a key', () => {
    const ask = async (key: string) => {
      keys.add(key);
      await written();
      const answer = await shop.json<Answer>(['why', '-'], { stdin: key });
      output += JSON.stringify(answer);
      return answer;
    };
    const OWN = ['10A1B2C3-D4E5F607-18293A4B-ABC0F001', '10A1B2C3-D4E5F607-18293A4B-ABCD0001'];

    test('of another system is compared only with ends of such keys', async () => {
      for (const key of OWN) await give({ key });
      expect(codes((await ask('Another-Shop-Zy-2024-0001')).findings)[0]).toBe('UNKNOWN_KEY');
      const ip = newClient();
      await get('42?dlid=myshop-abc-2024-xyz-0001', ip);
      const { id } = await give({ key: 'MyShop-Abc-2024-XYZ-0001' });
      const { findings, accesses } = await ask('othershop-abc-2024-xyz-0001');
      // Nothing of the sent key was recorded, so the access is not found by the end of the key.
      expect(accesses).toEqual([]);
      expect((await why(ip)).accesses).toMatchObject([{ code: 'UNKNOWN_KEY' }]);
      const because = `the key is unknown; it may be meant for licence ${id}: it ends like licence ${id}'s, and then the mistake is in a part before its end.`;
      expect(findings[0]).toMatchObject({
        code: 'KEY_MISTYPED',
        text: `No licence has this key: ${because}`,
      });
    });

    test('leads to a possible licence, even if the whole key was compared', async () => {
      const { id } = await give({ key: '77A1B2C3-D4E5F607-18293A4B-77E5F607' });
      const ip = newClient();
      await get('42?dlid=77A1B2C3-D4E5F607-18293A4B-77E5F608', ip);
      const sent = async (): Promise<string | undefined> => (await why(ip)).accesses[0]?.text;
      expect(await sent()).toContain(
        `; it may be meant for licence ${id}: its last group differs from licence ${id}'s in one character.`,
      );
      await get('42?dlid=78A1B2C3-D4E5F607-18293A4B-77E5F607', newClient());
      const { findings, accesses } = await ask('78A1B2C3-D4E5F607-18293A4B-77E5F607');
      expect(findings[0]?.text).toBe(
        `No licence has this key: the key is unknown; it differs from licence ${id}'s in one character.`,
      );
      expect(accesses.at(-1)?.text).toContain(
        `; it may be meant for licence ${id}: the key asked about differs from licence ${id}'s in one character.`,
      );
    });

    test('wins over every guess if it differs only in letter case', async () => {
      for (let i = 10; i < 22; i++) await give({ key: `10A1B2C3-D4E5F607-18293A4B-AB${i}C4D5` });
      const { id } = await give({ key: 'imported-for-letters-c4d5' });
      expect((await why('C4D5')).findings[0]?.text).toContain(`it may be meant for licence ${id}: `);
    });
  });

  test('a replaced key: the old one is recognized', async () => {
    const { id, key } = await give();
    const ip = newClient();
    const { license_key: newKey } = await shop.json<{ license_key: string }>([
      'license',
      'rekey',
      String(id),
    ]);
    keys.add(newKey);
    await get(`42?dlid=${key}`, ip);
    for (const what of [id, ip, key.slice(-8)]) {
      const { accesses } = await why(what);
      expect(accesses).toMatchObject([
        { code: 'KEY_REPLACED', remedy: `The customer needs the new key: licensing license reveal ${id}` },
      ]);
      expect(accesses[0]?.text).toMatch(
        new RegExp(
          `: the key ended on [0-9-]{10}; another took its place, which ends in ${newKey.slice(-8)}\\.$`,
        ),
      );
    }
  });

  test('a key that was replaced before licences had several keys is only in the history', async () => {
    const { id, key } = await give();
    const { license_key: newKey } = await shop.json<{ license_key: string }>([
      'license',
      'rekey',
      String(id),
    ]);
    keys.add(newKey);
    await service
      .db(table(service.db, 'license_keys'))
      .where({ license_id: id })
      .whereNotNull('replaced_by')
      .delete();
    const ip = newClient();
    await get(`42?dlid=${key}`, ip);
    for (const what of [id, ip, key.slice(-8)]) {
      const { accesses } = await why(what);
      expect(accesses).toMatchObject([{ code: 'KEY_REPLACED', license_id: null }]);
      expect(accesses[0]?.text).toContain(`licence ${id} had before`);
    }
  });

  test('a mistyped key that was one of several or has ended: the licence is named anyway', async () => {
    const { id } = await give();
    const add = async (...args: string[]) => {
      const added = await shop.json<{ id: number; license_key: string }>([
        ...['license', 'key', 'add', String(id), ...args],
      ]);
      keys.add(added.license_key);
      return added;
    };
    const other = await add('--label', 'Bakery');
    const ended = await add();
    await shop.json(['license', 'key', 'end', String(id), String(ended.id)]);
    const slip = (key: string) => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    expect((await why(slip(other.license_key))).findings[0]).toMatchObject({
      code: 'KEY_MISTYPED',
      text: expect.stringContaining(`it differs from licence ${id}'s in one character.`),
      remedy: expect.stringContaining('paste the whole key again'),
    });
    expect((await why(slip(ended.license_key))).findings[0]).toMatchObject({
      code: 'KEY_MISTYPED',
      text: expect.stringContaining(
        `it differs from licence ${id}'s in one character, and that key has ended.`,
      ),
      remedy: `licensing why ${id}`,
    });
    const ip = newClient();
    await get(`42?dlid=${slip(other.license_key)}`, ip);
    expect((await why(id)).accesses).toMatchObject([{ code: 'KEY_MISTYPED', license_id: null }]);
  });

  test('a replaced key of a licence that has ended since: the end is stated first', async () => {
    const { id, key } = await give();
    const { license_key: newKey } = await shop.json<{ license_key: string }>([
      'license',
      'rekey',
      String(id),
    ]);
    keys.add(newKey);
    await shop.json(['license', 'cancel', String(id)]);
    const ip = newClient();
    await get(`42?dlid=${key}`, ip);
    const { findings } = await why(key.slice(-8));
    expect(findings[0]).toMatchObject({
      code: 'KEY_REPLACED',
      text: expect.stringMatching(/^The key with this end ended on .*; another took its place/),
      remedy: null,
    });
    expect(findings[1]).toMatchObject({ code: 'CANCELLED' });
    const own = (await why(id)).accesses;
    expect(own).toMatchObject([
      {
        code: 'KEY_REPLACED',
        text: expect.stringMatching(/; the licence is cancelled now\.$/),
        remedy: null,
      },
    ]);
  });

  test("another key from a licence's address is called that, and another licence's remedy is left out", async () => {
    const mine = await give();
    const other = await give();
    const { license_key: newKey } = await shop.json<{ license_key: string }>([
      ...['license', 'rekey', String(other.id)],
    ]);
    keys.add(newKey);
    const ip = newClient();
    await get(`42?dlid=${mine.key}`, ip);
    await get(`42?dlid=${other.key}`, ip);
    await get(`42&v=2?dlid=${newKey}`, ip);
    await get('42', ip);
    const { accesses, nearby } = await why(mine.id);
    expect(codes(accesses)).toEqual(['GRANTED']);
    expect(nearby).toMatchObject([
      {
        code: 'KEY_REPLACED',
        text: expect.stringMatching(
          /^A download of product 42 with licence \d+ was refused .*; another took its place/,
        ),
        remedy: null,
      },
      { code: 'BAD_PRODUCT_ID', text: expect.stringMatching(/ with another key was refused /) },
      { code: 'NO_KEY' },
    ]);
    expect(await told(mine.id)).toMatch(
      /What happened[^]*granted[^]*From the same network, perhaps another person[^]*with\s+another\s+key/,
    );
    // For an address, no single licence was asked about.
    expect((await why(ip)).accesses[1]).toMatchObject({
      text: expect.not.stringContaining('another key'),
      remedy: expect.stringContaining(`licensing license reveal ${other.id}`),
    });
  });

  test('a key at the wrong product, and a product without a release', async () => {
    const { id, key } = await give();
    const ip = newClient();
    await givePlan(service.db, { productId: 60 });
    const empty = await giveLicense(service.db, await givePlan(service.db, { productId: 61 }));
    await get(`60?dlid=${key}`, ip);
    await get(`61?dlid=${empty.key}`, ip);
    await get(`42?dlid=${key}&version=9.9.9`, ip);
    expect(await why(id)).toMatchObject({
      findings: [{ code: 'ACTIVE' }],
      accesses: [
        {
          code: 'WRONG_PRODUCT',
          text: expect.stringContaining('the licence is for product 42 (Example Shop)'),
        },
        { code: 'VERSION_NOT_PUBLISHED', text: expect.stringContaining('the latest is 2.1.0') },
      ],
    });
    expect(await why(empty.id)).toMatchObject({
      findings: [{ code: 'ACTIVE' }, { code: 'NOTHING_PUBLISHED' }],
      accesses: [
        { code: 'NOTHING_PUBLISHED', remedy: expect.stringContaining('release publish --product 61') },
      ],
    });
  });

  test('a refused version: whether it was withdrawn, a draft, or published only later', async () => {
    const day = (n: number) => new Date(`2026-04-0${n}T12:00:00Z`);
    const { id, key } = await giveLicense(service.db, await givePlan(service.db, { productId: 63 }));
    keys.add(key);
    const publish = (version: string, n: number, draft = false) =>
      giveRelease(service, { productId: 63, version, date: day(n), draft });
    const withdraw = (version: string) =>
      shop.json(['release', 'withdraw', '--product', '63', '--version', version]);
    async function refuse(version: string, n: number): Promise<void> {
      stopped = day(n);
      expect(await get(`63?dlid=${key}&version=${version}`, newClient())).toBe(404);
      stopped = undefined;
    }
    const causes = async () =>
      (await why(id)).accesses.map(({ code, text, remedy }) => [
        code,
        text.replace(/.*?: (?=version|the product)/, ''),
        remedy,
      ]);

    await publish('1.1.1', 1);
    await withdraw('1.1.1');
    await refuse('1.1.1', 2);
    const again = expect.stringMatching(
      /^A site lists it until it checks for updates again\. .*: licensing update-xml write --product 63$/,
    );
    expect(await causes()).toEqual([
      ['VERSION_WITHDRAWN', 'version 1.1.1 was withdrawn; no other is published.', again],
    ]);

    await publish('1.1.0', 1);
    await publish('1.2.0', 4);
    await publish('1.3.0', 4);
    await publish('1.4.0', 4, true);
    await publish('1.5.0', 4, true);
    for (const version of ['1.3.0', '1.5.0']) await withdraw(version);
    await written();
    // The requests came before these versions existed, one second apart so that their order is known.
    for (const [i, version] of ['1.2.0', '1.3.0', '1.4.0', '1.5.0'].entries()) {
      await service.db(table(service.db, 'access_log')).insert({
        at: `2026-04-03 12:00:0${i}`,
        endpoint: 'download',
        outcome: 'DOWNLOAD_NOT_FOUND',
        license_id: id,
        product_id: 63,
        version,
      });
      sent++;
    }
    expect(await causes()).toEqual([
      ['VERSION_WITHDRAWN', 'version 1.1.1 was withdrawn; the latest is 1.2.0.', again],
      [
        'PUBLISHED_SINCE',
        'version 1.2.0 was not published; it is published now.',
        'The customer can try again.',
      ],
      [
        'VERSION_WITHDRAWN',
        'version 1.3.0 was not published, and is withdrawn now; the latest is 1.2.0.',
        again,
      ],
      [
        'VERSION_NOT_PUBLISHED',
        'version 1.4.0 is a draft; the latest is 1.2.0.',
        'licensing release publish --product 63 --version 1.4.0',
      ],
      [
        'VERSION_WITHDRAWN',
        'version 1.5.0 was not published, and is withdrawn now; the latest is 1.2.0.',
        again,
      ],
    ]);
  });

  test('a package that is missing on disk', async () => {
    const plan = await givePlan(service.db, { productId: 62 });
    const { id, key } = await giveLicense(service.db, plan);
    const { release } = await giveRelease(service, { productId: 62, version: '1.0.0' });
    rmSync(join(service.packagesDir, packageFileName(release.sha256)));
    expect(await get(`62?dlid=${key}`, newClient())).toBe(404);
    expect((await why(id)).accesses).toMatchObject([{ code: 'PACKAGE_MISSING', remedy: 'licensing doctor' }]);
  });

  test('slots: what was refused, how to free one, and that one is free again', async () => {
    const { id, key } = await give({}, 1);
    const ip = newClient();
    await post('activate', { license_key: key, identifier: 'a.example' }, ip);
    expect(await post('activate', { license_key: key, identifier: 'https://www.B.example/' }, ip)).toBe(403);
    expect(await get(`42?dlid=${key}&identifier=b.example`, ip)).toBe(403);
    expect(await post('deactivate', { license_key: key, identifier: 'c.example' }, ip)).toBe(404);
    expect(await post('activate', { license_key: key, identifier: 'no domain' }, ip)).toBe(400);
    expect(await post('activate', { license_key: key }, ip)).toBe(400);

    const full = await why(id);
    expect(full.findings).toMatchObject([
      { code: 'ACTIVE' },
      {
        code: 'SLOTS_FULL',
        text: expect.stringMatching(/^The one slot of licence \d+ is in use \(1\)\./),
        remedy: expect.stringContaining(`licensing license set-limit ${id} 2`),
      },
    ]);
    expect(full.accesses).toMatchObject([
      { code: 'SLOTS_FULL', text: expect.stringContaining('the one slot is in use') },
      { code: 'NOT_ACTIVATED', remedy: expect.stringContaining(`licensing activation add ${id} b.example`) },
      { code: 'NOT_ACTIVATED', text: expect.stringContaining('no slot to free') },
      { code: 'BAD_IDENTIFIER', text: expect.stringContaining('not a valid domain') },
      { code: 'MALFORMED', license_id: null },
    ]);

    await shop.json(['license', 'set-limit', String(id), '2']);
    expect(codes((await why(id)).accesses).slice(0, 2)).toEqual(['SLOT_FREE', 'NOT_ACTIVATED']);
    await shop.json(['activation', 'add', String(id), 'b.example']);
    expect(codes((await why(id)).accesses).slice(0, 2)).toEqual(['ACTIVATED_SINCE', 'ACTIVATED_SINCE']);
  });

  test('more slots in use than the limit: the advice makes room for one more', async () => {
    const { id } = await give({}, 1);
    for (const site of ['a.example', 'b.example']) await shop.json(['activation', 'add', String(id), site]);
    const { findings } = await why(id);
    expect(findings[1]).toMatchObject({
      code: 'SLOTS_FULL',
      remedy: `licensing activation list ${id}, then "licensing activation remove ${id} IDENTIFIER" (2 of them); or licensing license set-limit ${id} 3`,
    });
  });

  test('many different refusals in a minute: not all of them are listed', async () => {
    const { id, key } = await give({}, 1);
    const ip = newClient();
    await post('activate', { license_key: key, identifier: 'a.example' }, ip);
    for (let i = 0; i < 23; i++)
      await post('activate', { license_key: key, identifier: `b${i}.example` }, ip);
    await request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .set('X-Forwarded-For', ip)
      .send({ license_key: key });
    const { accesses, nearby } = await why(id);
    expect(accesses).toHaveLength(20);
    expect(nearby).toMatchObject([{ code: 'OMITTED', count: 3, ip }]);
    const text = (await told(ip)).replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/ 3 times until .*many different requests refused in a minute/);
  });

  test('more refused identifiers than one statement takes: each is listed, and whether it is activated now', async () => {
    const { id } = await give({}, 1);
    const sites = Array.from({ length: 1_100 }, (_, i) => `site-${i}.example`);
    await written();
    await insertAccesses(
      service.db,
      sites.map((identifier) => ({
        at: new Date(),
        endpoint: 'activate',
        outcome: 'ACTIVATION_LIMIT_REACHED',
        licenseId: id,
        keyId: null,
        keyHint: null,
        productId: null,
        version: null,
        identifier,
        ip: '198.51.99.1',
        userAgent: null,
      })),
    );
    sent += sites.length;
    for (const site of [sites[0], sites.at(-1)] as string[])
      await shop.json(['activation', 'add', String(id), site]);
    const { accesses } = await why(id, '--limit', String(sites.length));
    const activated = accesses.filter(({ code }) => code === 'ACTIVATED_SINCE');
    expect(activated.map(({ text }) => /Activating (\S+)/.exec(text)?.[1])).toEqual([sites[0], sites.at(-1)]);
    expect(codes(accesses).filter((code) => code === 'SLOTS_FULL')).toHaveLength(sites.length - 2);
  });

  test("requests without a key, or with a broken address, from a licence's address are listed apart from its own", async () => {
    const { id, key } = await give();
    const ip = newClient();
    expect(await get(`42?dlid=${key}`, ip)).toBe(200);
    await get('42', ip);
    await get('42', ip, BROWSER);
    await get(`42&v=2?dlid=${key}`, ip);
    const { accesses, nearby } = await why(id);
    expect(accesses).toMatchObject([
      { code: 'GRANTED', text: `Version 2.1.0 was granted to Joomla 5.3.0 at ${ip} with licence ${id}.` },
      { code: 'BAD_PRODUCT_ID', remedy: expect.stringContaining('update-xml lint') },
    ]);
    expect(nearby).toMatchObject([
      { code: 'NO_KEY', text: expect.stringContaining('downloadurl has a "#"') },
      { code: 'NO_KEY', text: expect.stringMatching(/a browser at .*: no key was sent with it\.$/) },
    ]);
  });

  test('a dry run of a download is not a download', async () => {
    const { id, key } = await give();
    const [ip, other] = [newClient(), newClient()];
    await get(`42?dlid=${key}&check=1`, ip);
    await shop.json(['license', 'suspend', String(id)]);
    await get(`42?dlid=${key}&check=1`, other);
    const { accesses } = await why(id);
    expect(accesses).toMatchObject([
      {
        code: 'CHECKED',
        text: expect.stringContaining(`at ${ip} found that version 2.1.0 may be downloaded`),
      },
      {
        code: 'SUSPENDED',
        text: expect.stringMatching(/^A download check .* was answered with no to Joomla/),
      },
    ]);
  });

  test('the same version downloaded again and again was not installed', async () => {
    const { id, key } = await give();
    const ip = newClient();
    for (let i = 0; i < 3; i++) await get(`42?dlid=${key}`, ip);
    const { accesses, untraced } = await why(id);
    expect(accesses).toMatchObject([{ code: 'GRANTED_REPEATEDLY', count: 3 }]);
    for (const named of accesses[0]?.remedy?.match(/[A-Z]{2,}_?[A-Z_]+/g) ?? ['none'])
      expect(codes(untraced as Finding[])).toContain(named);
  });

  test('an address that was over its limit, and a proxy whose address all customers share', async () => {
    const { id, key } = await give();
    const ip = newClient();
    for (const address of [ip, '10.0.0.7', '127.0.0.1'])
      for (let i = 0; i < 102; i++) {
        // These are guesses, which bring an address over its limit.
        const sentKey = i === 0 || i === 101 ? key : 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';
        const { status } = await request(service.url)
          .get(`${PREFIX}/downloads/42?dlid=${sentKey}`)
          .set({ 'X-Forwarded-For': address, 'User-Agent': JOOMLA });
        expect([i, status]).toEqual([i, i === 0 ? 200 : i < 101 ? 403 : 429]);
      }
    // The granted request, the guesses, and the first refusal because of the limit.
    sent += 3 * 102;
    expect((await why(ip)).accesses).toMatchObject([
      { code: 'GRANTED' },
      { code: 'UNKNOWN_KEY', count: 100 },
      {
        code: 'RATE_LIMITED',
        text: expect.stringContaining('A download of product 42 was refused'),
        remedy: expect.stringContaining('“Downloads of a client” under Settings'),
      },
    ]);
    expect((await why('::ffff:10.0.0.7')).accesses.at(-1)).toMatchObject({
      code: 'RATE_LIMITED_PROXY',
      remedy: expect.stringContaining('licensing doctor --url'),
    });
    // A customer's site may be on the seller's own machine.
    expect((await why('127.0.0.1')).accesses.at(-1)?.text).toMatch(
      /this machine's own\. Either the site or program that asked is on this machine too, or nginx/,
    );
    expect(codes((await why(id)).nearby)).toContain('RATE_LIMITED');
  });

  test('an address: consecutive equal requests are listed once, with their number and times', async () => {
    const { key } = await give();
    const ip = '2001:db8::7';
    for (let minute = 0; minute < 4; minute++) {
      stopped = new Date(`2026-03-20T10:0${minute}:00Z`);
      await get('42', ip);
    }
    stopped = undefined;
    await get(`42?dlid=${key}`, ip);
    await get('42', ip);
    expect((await why('2001:DB8:0::7')).accesses).toMatchObject([
      { count: 4, first_at: '2026-03-20T10:00:00Z', last_at: '2026-03-20T10:03:00Z' },
      { count: 1, code: 'GRANTED' },
      { count: 1, code: 'NO_KEY' },
    ]);
    expect(await told(ip)).toContain(
      '2026-03-20 10:00:00  4 times until 2026-03-20 10:03:00:  A download of',
    );
    expect((await told(ip)).split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect((await why(ip, '--limit', '2')).accesses).toHaveLength(2);
  });

  test('a lack of records is stated, with every failure that leaves none', async () => {
    const { id } = await give();
    const answer = await why(id);
    expect(codes(answer.findings)).toEqual(['ACTIVE', 'NOTHING_RECORDED']);
    expect(codes((await why('203.0.113.9')).findings)).toEqual(['NOTHING_RECORDED']);
    const text = await told(id);
    const unwrapped = text.replace(/\n +(?!->)/g, ' ');
    for (const { code, text: words } of answer.untraced) expect(unwrapped).toContain(`${code}: ${words}`);
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
    for (const joomla of [
      'The Download Key is missing',
      'URL using bad/illegal format',
      'The checksum verification failed',
      'Failed to extract file',
      'Maximum (20) redirects followed',
      '<client>',
      'unable to get local issuer certificate',
      'Couldn’t connect to server',
    ])
      expect(unwrapped).toContain(joomla);
  });

  test('failures that leave no record are listed if no cause was found, or on request', async () => {
    const { id, key } = await give();
    const ip = newClient();
    const LIST = 'Failures that leave no record here:';
    await shop.json(['license', 'suspend', String(id)]);
    await get(`42?dlid=${key}`, ip);
    expect(await told(id)).not.toContain(LIST);
    expect(await told(id)).toMatch(/Some failures leave no record here\. To list them: --all\n$/);
    expect(await told(id, '--all')).toContain(LIST);
    await shop.json(['license', 'reinstate', String(id)]);
    // The question may be about the latest refusal.
    expect(await told(ip)).not.toContain(LIST);
    await get(`42?dlid=${key}`, ip);
    expect(await told(id)).toContain(LIST);
  });

  test('a request with a similar key is not a record of the licence, but is mentioned', async () => {
    const { id } = await give({ key: '20A1B2C3-D4E5F607-18293A4B-77777770' });
    keys.add('20A1B2C3-D4E5F607-18293A4B-77777771');
    await get('42?dlid=20A1B2C3-D4E5F607-18293A4B-77777771', newClient());
    const { findings, accesses } = await why(id);
    expect(codes(findings)).toEqual(['ACTIVE', 'ONLY_NEARBY']);
    expect(codes(accesses)).toEqual(['KEY_MISTYPED']);
  });

  test("the latest requests of each of a licence's addresses are read", async () => {
    const [busy, quiet] = [newClient(), newClient()];
    const access = (ip: string, seconds: number, outcome: string) => ({
      ...{ at: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)), endpoint: 'download' as const, outcome },
      ...{ licenseId: outcome === 'ok' ? 1 : null, keyId: null, keyHint: null, productId: 42 },
      ...{ version: null, identifier: null, ip, userAgent: null },
    });
    const nearby = async () =>
      (await listAccessesNearby(service.db, [busy, quiet], 10)).map(({ ip, at }) => [ip, at.getSeconds()]);
    await insertAccesses(service.db, [
      access(busy, 0, 'LICENSE_NOT_FOUND'),
      access(quiet, 1, 'LICENSE_NOT_FOUND'),
      ...Array.from({ length: 499 }, () => access(busy, 2, 'ok')),
    ]);
    sent += 501;
    expect(await nearby()).toEqual([
      [quiet, 1],
      [busy, 0],
    ]);
    await insertAccesses(service.db, [access(busy, 3, 'LICENSE_NOT_FOUND')]);
    sent++;
    expect(await nearby()).toEqual([
      [busy, 3],
      [quiet, 1],
    ]);
    expect(await listAccessesNearby(service.db, [], 10)).toEqual([]);
  });

  test("the seller's own trial is distinguished from a customer's Joomla", async () => {
    const { id, key } = await give();
    const ip = newClient();
    for (const agent of [simulationUserAgent('5.3.0'), simulationUserAgent('5.3.0'), JOOMLA])
      await get(`42?dlid=${key}`, ip, agent);
    expect((await why(id)).accesses).toMatchObject([
      {
        code: 'GRANTED',
        count: 2,
        text: `Version 2.1.0 was granted to a trial of your own (as Joomla 5.3.0) at ${ip} with licence ${id}.`,
      },
      { code: 'GRANTED', count: 1, text: expect.stringContaining(`granted to Joomla 5.3.0 at ${ip}`) },
    ]);
  });

  describe('a refused site is not activated, but is in the access log', () => {
    async function refuse(key: string, identifier: string, ip = newClient()): Promise<string> {
      expect(await post('activate', { license_key: key, identifier }, ip)).toBeGreaterThan(400);
      return ip;
    }
    async function giveFull(): Promise<TestLicense> {
      const license = await give({}, 1);
      await shop.json(['activation', 'add', String(license.id), `first-${license.id}.example`]);
      return license;
    }

    test('as it was sent: its licence is explained, with the result and the remedy', async () => {
      const { id, key } = await giveFull();
      await refuse(key, 'early.example');
      const ip = await refuse(key, 'https://www.Büro.Two.example:8443/administrator?a=1');
      for (const what of ['büro.two.example', 'http://XN--Bro-hoa.two.example/', 'www.BÜRO.two.example']) {
        // The licence has later entries, and only a few are read.
        const { license, findings, accesses } = await why(what, '--limit', '1');
        expect([what, license?.id]).toEqual([what, id]);
        expect(findings[0]).toEqual({
          code: 'IN_ACCESS_LOG',
          text: expect.stringMatching(
            new RegExp(
              `^This is not activated on a licence, but is in the access log, last on \\d{4}-\\d\\d-\\d\\dT[\\d:]+Z: Activating https://www\\.Büro\\.Two\\.example:8443/administrator\\?a=1 \\(xn--bro-hoa\\.two\\.example\\) with licence ${id} was refused to .* at ${ip}: the one slot is in use\\.$`,
            ),
          ),
          remedy: expect.stringContaining(`licensing license set-limit ${id} 2`),
        });
        expect(codes(findings)).toEqual(['IN_ACCESS_LOG', 'ACTIVE', 'SLOTS_FULL']);
        expect(accesses).toHaveLength(1);
      }
      await refuse(key, 'late.example');
      expect((await why('early.example', '--limit', '1')).findings[0]).toMatchObject({
        code: 'IN_ACCESS_LOG',
        text: expect.stringContaining('Activating early.example with'),
      });
    });

    test('with an eight-letter name, which could be the end of a key', async () => {
      const { id, key } = await giveFull();
      await refuse(key, 'acme.com');
      expect((await why('acme.com')).license?.id).toBe(id);
    });

    test('with several licences: they are listed', async () => {
      const [one, two] = [await giveFull(), await giveFull()];
      for (const { key } of [one, two]) await refuse(key, 'both.example');
      const { licenses, findings } = await why('both.example');
      expect(licenses?.map(({ id }) => id)).toEqual([one.id, two.id]);
      expect(findings[0]).toMatchObject({
        code: 'SEVERAL_LICENSES',
        text: `2 licences have this: ${one.id}, ${two.id} only in the access log.`,
      });
    });

    test('with an unknown key: when that was, and the result', async () => {
      const ip = await refuse('FEDCBA98-76543210-FEDCBA98-76543210', 'nokey.example');
      const answer = await why('nokey.example');
      expect(answer).toMatchObject({ license: null, accesses: [{ code: 'UNKNOWN_KEY', ip }] });
      expect(answer.findings).toMatchObject([
        {
          code: 'IN_ACCESS_LOG',
          text: expect.stringMatching(
            /last on \d{4}-.*Z: Activating nokey\.example was refused to .*: the key is unknown\.$/,
          ),
        },
      ]);
    });

    test('in the spelling of its plan: the address of a seat is not a site', async () => {
      const plan = await givePlan(service.db, { type: 'seat', limit: 1 });
      const { id, key } = await giveLicense(service.db, plan);
      keys.add(key);
      await shop.json(['activation', 'add', String(id), 'ada@refused.example']);
      await refuse(key, 'Bob@Refused.example');
      expect((await why('bob@refused.example')).license?.id).toBe(id);
      expect(codes((await why('refused.example')).findings)[0]).toBe('UNKNOWN_KEY');
      await refuse('FEDCBA98-76543210-FEDCBA98-76543210', 'eve@nokey.test');
      expect(codes((await why('nokey.test')).findings)[0]).toBe('UNKNOWN_KEY');
    });
  });

  describe('a caller without a key has', () => {
    test("an e-mail, an order, a site or a seat: the licence's case, as for its id", async () => {
      const { id } = await give({ customer: 'Jane@Example.com', reference: 'order-1001' });
      await shop.json(['activation', 'add', String(id), 'shop.jane.example']);
      const seats = await giveLicense(service.db, await givePlan(service.db, { type: 'seat' }));
      await shop.json(['activation', 'add', String(seats.id), 'ada@crew.example']);
      for (const [what, found] of [
        [' jane@EXAMPLE.com', id],
        ['order-1001', id],
        ['https://www.Shop.Jane.example:8443/administrator', id],
        ['Ada@Crew.example', seats.id],
      ] as const) {
        const answer = await why(what);
        expect([what, answer.license?.id]).toEqual([what, found]);
        expect(codes(answer.findings)[0]).toBe('ACTIVE');
      }
      // The plan decides the spelling: the name of a device is case-sensitive.
      const devices = await giveLicense(service.db, await givePlan(service.db, { type: 'device' }));
      await shop.json(['activation', 'add', String(devices.id), 'Lab.PC.example']);
      expect((await why('Lab.PC.example')).license?.id).toBe(devices.id);
      expect((await why('lab.pc.example')).license).toBeNull();
    });

    test('an e-mail with a mistake, or its beginning', async () => {
      const { id } = await give({ customer: 'wilma@quarry-works.example' });
      for (const [what, by] of [
        ['wilma@quary-works.example', 'but for one slip'],
        ['Wilma@quarry-wroks.example', 'but for one slip'],
        ['wilma@quarry', 'as the beginning'],
        ['wilma', 'as the beginning'],
        ['wilma@elsewhere.example', 'at another provider'],
      ] as const) {
        const { license, findings } = await why(what);
        expect([what, license?.id]).toEqual([what, id]);
        expect(findings[0]).toMatchObject({
          code: 'NEAR_EMAIL',
          text: expect.stringMatching(new RegExp(`${by}.*: wilma@quarry-works\\.example\\.$`)),
        });
      }
      const other = await give({ customer: 'wilma@brickworks.example' });
      const { licenses, findings } = await why('wilma@');
      expect(licenses?.map((one) => one.id)).toEqual([id, other.id]);
      expect(findings[0]?.text).toBe(
        `2 licences come near this: ${id}, ${other.id} as the beginning of their customer's e-mail.`,
      );
    });

    test('a word: it is not the end of a key', async () => {
      // This end would be near to "help" if any word could be one.
      await give({ key: '30A1B2C3-D4E5F607-18293A4B-0000FACE' });
      for (const word of ['help', 'FADE', 'computer'])
        expect((await why(word)).findings).toMatchObject([
          { code: 'UNKNOWN_KEY', text: expect.stringMatching(/^No licence has this id/) },
        ]);
    });

    test('something that several licences have: each is listed once, with where it was found', async () => {
      const one = await give({ customer: 'sam@several.example' });
      const two = await give({ customer: 'sam@several.example' });
      const seats = await giveLicense(service.db, await givePlan(service.db, { type: 'seat' }));
      for (const { id } of [two, seats])
        await shop.run(['activation', 'add', String(id), 'sam@several.example']);
      const { license, licenses, findings, accesses } = await why('sam@several.example');
      expect(license).toBeNull();
      expect(licenses?.map(({ id }) => id)).toEqual([one.id, two.id, seats.id]);
      expect(accesses).toEqual([]);
      expect(findings).toEqual([
        {
          code: 'SEVERAL_LICENSES',
          text: `3 licences have this: ${one.id}, ${two.id} as their customer; ${seats.id} as what is activated.`,
          remedy: 'licensing why ID',
        },
      ]);
      const text = await told('sam@several.example');
      expect(text).toMatch(new RegExp(`^${seats.id} +[0-9A-F]{8} +active +Developer`, 'm'));
      expect(text).not.toContain('Failures that leave no record');
    });

    test('more licences than the short list holds: the answer says that there are more', async () => {
      const plan = await givePlan(service.db);
      for (let i = 0; i < 21; i++) await giveLicense(service.db, plan, { customer: 'many@several.example' });
      const { licenses, findings } = await why('many@several.example');
      expect(licenses).toHaveLength(20);
      expect(findings[0]?.text).toMatch(/^More than 20 licences have this; the first: /);
    });

    test("a number that is an order and a licence's id: the licence, with a note about the order", async () => {
      const { id } = await give();
      const ordered = await give({ reference: String(id) });
      const answer = await why(id);
      expect(answer.license?.id).toBe(id);
      expect(answer.findings.at(-1)).toEqual({
        code: 'ALSO_A_REFERENCE',
        text: `An order has the number ${id} as well: that of licence ${ordered.id}.`,
        remedy: `licensing why ${ordered.id}`,
      });
      const byOrder = await give({ reference: '20260001' });
      expect((await why('20260001')).license?.id).toBe(byOrder.id);
    });

    test('an order of a shop: what it did, what it waits for, and why it issued nothing', async () => {
      const { db } = service;
      const planId = await givePlan(db);
      const now = new Date();
      const post = async (
        order: string,
        event: OrderMessage['event'],
        line: Omit<LineMessage, 'line'> = {},
        more: Partial<OrderMessage> = {},
      ) => {
        const message = { shop: 'hikashop', order, event, at: now, lines: [{ line: '1', ...line }], ...more };
        const context = { actor: 'token:shop', now, secret: undefined, graceDays: 3 };
        const { lines } = await recordOrder(db, message, { owner: 'shop', ownOnly: true }, context);
        for (const { key } of lines.flatMap(({ licenses }) => licenses)) if (key !== undefined) keys.add(key);
        return lines[0]?.licenses.map(({ license }) => license.id) ?? [];
      };
      const [id = 0] = await post('WEB-7001', 'paid', { planId });
      await post('WEB-7002', 'paid', { planId, renews: 'WEB-7001' });
      const single = await why(id);
      expect(single.findings.filter(({ code }) => code === 'ORDER').map(({ text }) => text)).toEqual([
        expect.stringMatching(
          `^Order WEB-7001 of shop hikashop issued licence ${id}. Its latest event is "paid" of `,
        ),
        expect.stringMatching(`^Order WEB-7002 of shop hikashop renewed licence ${id}. `),
      ]);
      expect((await why('WEB-7001')).license?.id).toBe(id);
      const [one, two] = await post('WEB-7003', 'paid', { planId, quantity: 2 });
      const several = await why('WEB-7003');
      expect(several.licenses?.map((license) => license.id)).toEqual([one, two]);
      expect(codes(several.findings)).toEqual(['ORDER', 'ORDER_MAIL', 'SEVERAL_LICENSES']);
      await post('WEB-7004', 'paid', { sku: 'PRO-1Y' });
      expect((await why('WEB-7004')).findings).toEqual([
        {
          code: 'ORDER_WAITS',
          text: 'Order WEB-7004 of shop hikashop waits at line 1: article “PRO-1Y” has no plan yet.',
          remedy: 'licensing shop map hikashop PRO-1Y --plan ID',
        },
      ]);
      await post('WEB-7005', 'paid', { planId }, { test: true });
      expect((await why('WEB-7005')).findings).toEqual([
        {
          code: 'ORDER_ISSUED_NOTHING',
          text: 'Order WEB-7005 of shop hikashop has no licence: it is a test, and the shop has no plan for tests.',
          remedy: null,
        },
      ]);
      await post('WEB-7006', 'paid', {}, { lines: [{ line: '2', problem: 'no_article' }] });
      expect((await why('WEB-7006')).findings).toEqual([
        {
          code: 'ORDER_LINE_UNUSABLE',
          text: 'Line 2 of order WEB-7006 of shop hikashop cannot be processed: the shop’s message names no article for it.',
          remedy: expect.stringMatching(
            /the page “Unmatched payments” has all three\. .*unmatched assign ID .*unmatched issue ID.*unmatched leave ID$/,
          ),
        },
      ]);
      const lines = Array.from({ length: 101 }, (__, i) => ({ line: String(i), planId }));
      await post('WEB-7007', 'paid', {}, { lines });
      const [large] = await db(table(db, 'orders')).where({ number: 'WEB-7007' });
      expect((await why('WEB-7007')).findings).toEqual([
        {
          code: 'ORDER_TOO_LARGE',
          text: 'Order WEB-7007 of shop hikashop waits: it names more than 100 lines.',
          remedy: `If that is right, confirm it: “Confirm and process” on the page of the order. licensing order confirm ${Number(large?.id)}`,
        },
      ]);
      await post('WEB-7008', 'paid', { sku: 'PRO-1Y' });
      const [broken] = await db(table(db, 'orders')).where({ number: 'WEB-7008' });
      await db(table(db, 'order_events'))
        .where({ order_id: Number(broken?.id) })
        .update({ lines_json: '{' });
      await processOrder(db, Number(broken?.id), { actor: 'orders', now, secret: undefined, graceDays: 3 });
      expect((await why('WEB-7008')).findings).toEqual([
        {
          code: 'ORDER_FAILED',
          text: expect.stringMatching(
            /^Order WEB-7008 of shop hikashop could not be processed since \S+ \(SyntaxError\)\. It is tried again at \S+\.$/,
          ),
          remedy: null,
        },
      ]);
      // The same if a licence has the order's number as its id.
      await post(String(id), 'paid', { sku: 'PRO-1Y' });
      expect((await why(id)).findings.at(-1)?.code).toBe('ORDER_WAITS');
    });

    test('nothing: the answer names where it searched, does not repeat the text, and explains short keys', async () => {
      await give({ key: 'OLD-0001-ABXY', customer: 'short@key.example' });
      for (const what of ['nobody@nowhere.example', 'www.nowhere.example', 'order-nowhere', 'ABXY', 'zzz']) {
        const answer = await why(what);
        expect(answer.findings[0]).toMatchObject({
          code: 'UNKNOWN_KEY',
          text: 'No licence has this id, key or end of a key. It is also not the e-mail of a customer, the reference of an order, or a site that was activated or recently refused.',
        });
        expect(answer.findings[0]?.remedy).toContain('licensing why -');
        expect(answer.findings[0]?.remedy).toContain('no end of a key that has fewer than 16 characters');
        expect(JSON.stringify(answer)).not.toContain(what);
      }
      // The remedy that the answer names works.
      expect((await shop.json<Answer>(['why', '-'], { stdin: 'OLD-0001-ABXY\n' })).license).not.toBeNull();
      expect((await why('short@key.example')).license).not.toBeNull();
      const { code, stderr } = await shop.run(['why', '999999']);
      expect(code).toBe(1);
      expect(stderr).toContain('No licence has this id, key or end of a key.');
    });

    test("an unknown address is not a key, so others' requests do not match", async () => {
      const ip = newClient();
      await get('42?dlid=somebody%40elsewhere.test', ip);
      expect((await why('nobody@nowhere.test')).accesses).toEqual([]);
      expect((await why('somebody@elsewhere.test')).accesses).toEqual([]);
    });
  });

  test('an end that several imported keys share lists them, and an unknown one is refused', async () => {
    const one = await give({ key: 'first-imported-key-ABCD' });
    const two = await give({ key: 'other-imported-key-ABCD' });
    const { findings } = await why('ABCD');
    expect(findings[0]).toMatchObject({ code: 'SEVERAL_LICENSES' });
    expect(findings[0]?.text).toContain(`${one.id}, ${two.id}`);
    expect((await shop.run(['why', '999999'])).code).toBe(1);
    expect((await shop.run(['why', '-'], { stdin: '\n' })).code).toBe(1);
    expect((await shop.run(['why'])).code).toBe(2);
  });

  test('a site that an offline file holds', async () => {
    const { id, key } = await give();
    const ip = newClient();
    const site = { license_key: key, identifier: 'held.example' };
    await post('activate', site, ip);
    await service
      .db(table(service.db, 'activations'))
      .where({ license_id: id })
      .update({ held_until: '2999-01-01 00:00:00' });
    expect(await post('deactivate', site, ip)).toBe(403);
    expect((await why(id)).accesses).toMatchObject([
      { code: 'HELD', remedy: `licensing activation remove ${id} held.example` },
    ]);
    await shop.json(['activation', 'remove', String(id), 'held.example']);
    expect((await why(id)).accesses).toMatchObject([{ code: 'HELD', remedy: null }]);
  });

  test('keys with their own limits and ends, bundles and free sites', async () => {
    const { id, key } = await give();
    const add = (...args: string[]) =>
      shop.json<{ id: number; license_key: string }>(['license', 'key', 'add', String(id), ...args]);
    const small = await add('--label', 'Bakery', '--limit', '1');
    const ended = await add('--ends', '2999-01-01');
    const free = await add('--limit', '2');
    for (const one of [small, ended, free]) keys.add(one.license_key);
    const ip = newClient();
    await post('activate', { license_key: key, identifier: 'main.example' }, ip);
    await post('activate', { license_key: small.license_key, identifier: 'a.example' }, ip);
    await post('activate', { license_key: small.license_key, identifier: 'b.example' }, ip);
    await post('deactivate', { license_key: small.license_key, identifier: 'main.example' }, ip);
    expect(codes((await why(small.license_key)).findings)[0]).toBe('KEY_SLOTS_FULL');
    expect(codes((await why(free.license_key)).findings)[0]).toBe('KEY_SLOTS');
    expect(codes((await why(ended.license_key)).findings)[0]).toBe('KEY_ENDS');
    await shop.json(['license', 'key', 'end', String(id), String(ended.id)]);
    expect(await post('activate', { license_key: ended.license_key, identifier: 'c.example' }, ip)).toBe(403);
    expect((await why(ended.license_key)).findings[0]?.code).toBe('KEY_ENDED');
    expect((await asData(ended.license_key)).now).toMatchObject({
      updates: {
        allowed: false,
        code: 'LICENSE_NOT_FOUND',
        sentence: 'Updates are refused: the key has ended.',
      },
      new_site: { allowed: false, code: 'LICENSE_NOT_FOUND' },
    });
    expect((await asData(small.license_key)).now).toMatchObject({
      updates: { allowed: true, code: null },
      new_site: { allowed: false, code: 'ACTIVATION_LIMIT_REACHED' },
    });

    await givePlan(service.db, { productId: 71 });
    const club = await giveLicense(
      service.db,
      await givePlan(service.db, { productId: 70, freeStaging: true }),
    );
    keys.add(club.key);
    await shop.json(['product', 'edit', '70', '--includes', '42']);
    for (const site of ['shop.com', 'staging.shop.com', 'localhost'])
      await shop.json(['activation', 'add', String(club.id), site]);
    expect(await get(`71?dlid=${club.key}`, newClient())).toBe(403);
    expect(codes((await why(club.id)).findings)).toEqual(['ACTIVE', 'COVERS', 'FREE_SITES']);
    // The update is for one of the products that the club includes.
    expect((await asData(String(club.id))).now).toEqual({
      updates: { allowed: true, code: null, sentence: 'Updates work: version 2.1.0 is sent.' },
      new_site: { allowed: true, code: null, sentence: 'New sites can be added: 2 of 3 slots are free.' },
    });
    await shop.json(['product', 'edit', '70', '--includes', '42,71']);
    expect(codes((await why(club.id)).accesses)).toEqual(['COVERED_SINCE']);
  });

  test('whether an update and a new site would be allowed now, in each language', async () => {
    const now = async (what: string | number) =>
      [await asData(String(what)), await asData(String(what), 'de')].map((one) => one.now);
    const refused = (code: string, because: string) => ({
      updates: { allowed: false, code, sentence: expect.stringContaining(because) },
      new_site: { allowed: false, code, sentence: expect.stringContaining(because) },
    });
    const expired = await give({ expiresAt: new Date('2021-01-01T00:00:00Z') });
    expect(await now(expired.id)).toEqual([
      refused('LICENSE_EXPIRED', 'the licence expired on 2021-01-01.'),
      refused('LICENSE_EXPIRED', 'Die Lizenz ist am 01.01.2021 abgelaufen.'),
    ]);
    const { id } = await give({}, 1);
    expect((await now(id))[1]).toEqual({
      updates: { allowed: true, code: null, sentence: 'Updates funktionieren: Version 2.1.0 wird gesendet.' },
      new_site: {
        ...{ allowed: true, code: null },
        sentence: 'Neue Websites sind möglich: 1 von 1 Platz ist frei.',
      },
    });
    await shop.json(['activation', 'add', String(id), 'one.example']);
    expect((await now(id)).map((one) => one?.new_site)).toEqual([
      ...[
        ['New sites are refused: the one slot is in use.'],
        ['Neue Websites werden abgelehnt: Der einzige Platz ist belegt.'],
      ].map(([sentence]) => ({ allowed: false, code: 'ACTIVATION_LIMIT_REACHED', sentence })),
    ]);
    await shop.json(['license', 'suspend', String(id)]);
    expect(await now(id)).toEqual([
      refused('LICENSE_INACTIVE', 'the licence is suspended.'),
      refused('LICENSE_INACTIVE', 'Die Lizenz ist ausgesetzt.'),
    ]);
    const seats = await giveLicense(
      service.db,
      await givePlan(service.db, { productId: 64, type: 'seat', limit: 0 }),
    );
    keys.add(seats.key);
    expect((await now(seats.id))[0]).toEqual({
      updates: {
        ...{ allowed: false, code: 'DOWNLOAD_NOT_FOUND' },
        sentence: 'Updates are refused: the product has no published version.',
      },
      new_site: {
        ...{ allowed: true, code: null },
        sentence: 'New seats can be added: the number of slots is unlimited.',
      },
    });
    const { release } = await giveRelease(service, { productId: 64, version: '1.0.0' });
    rmSync(join(service.packagesDir, packageFileName(release.sha256)));
    expect((await now(seats.id))[0]?.updates).toMatchObject({ allowed: false, code: 'FILE_NOT_FOUND' });
  });

  test('as data, an unknown number or name is a finding, and not an error', async () => {
    for (const about of ['999999', 'id:999999', 'reference:none'])
      expect(await asData(about)).toMatchObject({
        ...{ license_id: null, licenses: [], now: null },
        findings: [{ code: 'UNKNOWN_KEY', action: null, since: null, count: null }],
      });
    await expect(asData(' ')).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'about' });
  });

  test('a mail with the key that was not delivered, until one is sent', async () => {
    const { id } = await give({ customer: 'gone@example.com' });
    const { db } = service;
    const mail = () =>
      queueMail(db, { type: 'license_key', licenseId: id }, { now: new Date(), language: 'en' });
    const settle = async (outcome: object) =>
      db(table(db, 'outbox'))
        .where({ id: await mail() })
        .update({ attempts: 1, next_attempt_at: null, ...outcome });
    await settle({ failed_at: '2026-11-24 00:00:00', last_error: 'ADDRESS_REFUSED 550' });
    expect(await told(id)).toContain(`licensing mail send ${id}`);
    expect(codes((await why(id)).findings)).toContain('MAIL_NOT_DELIVERED');
    await settle({ sent_at: '2026-11-24 00:00:00' });
    expect(await told(id)).not.toContain('mail send');
  });

  test('a key in many hands needs a new key, and no slots', async () => {
    const { id } = await give({}, 1);
    const [keyId] = (await service
      .db(table(service.db, 'license_keys'))
      .where({ license_id: id })
      .pluck('id')) as [number];
    const download = (n: number): Access => ({
      ...{ at: new Date(), endpoint: 'download', outcome: 'ok', licenseId: id, keyId, keyHint: null },
      ...{ productId: 42, version: null, identifier: null, ip: `203.0.${n}.1`, userAgent: null, site: null },
      installedVersion: null,
    });
    await createSiteRecorder(service.db, 3)(Array.from({ length: 14 }, (_, n) => download(n)));
    await shop.json(['activation', 'add', String(id), 'full.example']);
    expect((await why(id)).findings).toMatchObject([
      { code: 'ACTIVE' },
      { code: 'SLOTS_FULL', remedy: null },
      { code: 'KEY_SHARED', remedy: expect.stringContaining(`rekey ${id} --key-id ${keyId} --overlap 14d`) },
      { code: 'NOTHING_RECORDED' },
    ]);
  });

  test('the versions that sites run', async () => {
    const { id } = await give();
    const site = { licenseId: id, productId: 42, site: 'shop.com', version: '1.8.0', at: new Date() };
    await recordReportedSites(service.db, [site]);
    expect(codes((await why(id)).findings)).toContain('SITES_RUN');
    expect(await told(id)).toMatch(/Installed, as reported by the sites:\s+1\.8\.0\s+on\s+shop\.com/);
  });

  test('nothing from a client reaches the terminal as a control character', async () => {
    const { id, key } = await give();
    await request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: key, identifier: '\u001b[2Jx\u0007; rm -rf ~' })
      .set({ 'X-Forwarded-For': newClient(), 'User-Agent': 'evil\tagent' });
    sent++;
    const text = await told(id);
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(text).toContain(`licensing activation add ${id} IDENTIFIER`);
  });

  test('each code was shown with its facts, its action and its sentence in both languages', () => {
    const { request } = seen.get('GRANTED')!.finding.facts as { request: RequestFacts };
    const other = { request: { ...request, outcome: 'OTHER', client: 'browser', license_id: null } };
    // No answer of the service has an outcome without an explanation, so this one is made up.
    const finding = { code: 'REFUSED', facts: other } as const;
    const refused = (language: OperatorLanguage): ExplainedFinding => ({
      ...{ ...finding, action: null, since: null, count: null, advice: null },
      sentence: sentenceOf(OPERATORS[language].support, finding),
    });
    seen.set('request REFUSED', { finding: refused('en'), german: refused('de') });
    const all = [...seen].map(([name, { finding, german }]) => {
      const facts = { ...finding.facts, request: undefined };
      const { action, sentence } = finding;
      return [name, shown({ facts, action, en: sentence, de: german.sentence })];
    });
    expect(Object.fromEntries(all)).toEqual(SHOWN);
    expect(shown(request)).toEqual({
      ...{ endpoint: 'download', outcome: 'ok', license_id: 0, key_hint: 'HINT', product_id: 0 },
      ...{ version: '2.1.0', identifier: null, ip: 'ADDRESS', user_agent: JOOMLA, client: 'joomla' },
      ...{ joomla_version: '5.3.0', other_key: false, last_at: 'TIME', site: null, installed_version: null },
    });
  });

  test('no answer contains a key', () => {
    expect(output.length).toBeGreaterThan(10_000);
    for (const key of keys) expect(output.toUpperCase()).not.toContain(key.toUpperCase());
  });
});

describe('a sentence in German', () => {
  const request: RequestFacts = {
    ...{ endpoint: 'activate', outcome: 'ACTIVATION_LIMIT_REACHED', license_id: 5, key_hint: 'A3B4C5D6' },
    ...{ product_id: null, version: null, identifier: 'dev.shop.com', ip: '192.0.2.1', user_agent: null },
    ...{ client: 'unnamed', joomla_version: null, other_key: false, last_at: '2026-11-24T00:00:00Z' },
    ...{ site: null, installed_version: null },
  };
  const because = <C extends CauseCode>(code: C, facts: CauseFacts[C], more: Partial<RequestFacts> = {}) =>
    sentenceOf(OPERATORS.de.support, { code, facts: { ...facts, request: { ...request, ...more } } }).replace(
      /^.*? abgelehnt: /,
      '',
    );
  const slots = { activation_limit: 3, activations_used: 3 };
  const full = { ...slots, license_status: 'active', key: null, place: null } as const;
  const unusable = {
    was: 'expired',
    still: true,
    expires_at: '2026-03-21T00:00:00Z',
    older_versions: false,
  } as const;
  const meant: Omit<MeantKey, 'slip'> = {
    ...{
      license_id: 5,
      license_status: 'active',
      certain: true,
      compared: 'key',
      also: [],
      key_ended: false,
    },
  };

  test.each([
    [because('SLOTS_FULL', full), 'Alle 3 Plätze sind belegt.'],
    [
      because('SLOTS_FULL', { ...full, key: { ...slots, key_id: 7, label: 'Bäckerei' } }),
      'Alle 3 Plätze sind belegt; belegte Plätze von Schlüssel 7 („Bäckerei“): 3 von 3.',
    ],
    [
      because('SLOTS_FULL', { ...full, place: { kind: 'staging', site: 'shop.com' } }),
      'Alle 3 Plätze sind belegt. Es ist eine Testsite. Sie zählt nicht, sobald eine andere Website von shop.com aktiviert ist.',
    ],
    [
      because('SLOTS_FULL', { ...full, place: { kind: 'local', free_sites: 15 } }),
      'Alle 3 Plätze sind belegt. Es ist eine lokale Website, aber 15 Websites zählen schon nicht, mehr erlaubt diese Lizenz nicht.',
    ],
    [
      because(
        'NOT_ACTIVATED',
        { license_status: 'active' },
        { endpoint: 'deactivate', outcome: 'ACTIVATION_NOT_FOUND' },
      ),
      'dev.shop.com war nicht aktiviert, es gab also nichts freizugeben.',
    ],
    [because('SLOT_FREE', { free_site: true }), 'Alle Plätze waren belegt. Diese Website zählt jetzt nicht.'],
    [
      because('EXPIRED', { ...unusable, older_versions: true }, { version: '2.0' }),
      'Die Lizenz ist am 21.03.2026 abgelaufen, und Version 2.0 wurde danach veröffentlicht. Frühere Versionen lädt sie weiterhin.',
    ],
    [
      because('EXPIRED', { ...unusable, still: false }),
      'Die Lizenz war abgelaufen und ist jetzt abgelaufen.',
    ],
    [
      because('SUSPENDED', { ...unusable, was: null, still: false }),
      'Die Lizenz war nicht aktiv und ist jetzt ausgesetzt.',
    ],
    [
      because('PUBLISHED_SINCE', { version: '1.0' }),
      'Das Produkt hatte keine veröffentlichte Version, jetzt ist Version 1.0 veröffentlicht.',
    ],
    [
      because('VERSION_NOT_PUBLISHED', { draft: true, latest: '1.2.0' }, { version: '1.4.0' }),
      'Version 1.4.0 ist ein Entwurf, die neueste ist 1.2.0.',
    ],
    [
      because('VERSION_WITHDRAWN', { withdrawn_then: false, latest: null }, { version: '1.3.0' }),
      'Version 1.3.0 war nicht veröffentlicht und ist jetzt zurückgezogen, eine andere ist nicht veröffentlicht.',
    ],
    [
      because('BAD_IDENTIFIER', { activation_type: 'seat' }),
      'Das ist kein gültiger Nutzer, und der Tarif zählt Nutzer.',
    ],
    [
      because('KEY_MISTYPED', { ...meant, slip: 'transposed' }),
      'Der Schlüssel ist unbekannt. Er gleicht dem der Lizenz 5, aber zwei benachbarte Zeichen sind vertauscht.',
    ],
    [
      because('KEY_REPLACED', { ...meant, slip: 'replaced', certain: false, also: [6, 7] }),
      'Der Schlüssel ist unbekannt. Vielleicht ist Lizenz 5 gemeint: Er endet wie der frühere Schlüssel der Lizenz 5 (auch möglich: 6, 7).',
    ],
    [
      because('KEY_MISTYPED', { ...meant, slip: 'elsewhere', key_ended: true, license_status: 'revoked' }),
      'Der Schlüssel ist unbekannt. Er endet wie der Schlüssel der Lizenz 5, der Fehler liegt dann weiter vorn. Dieser Schlüssel gilt nicht mehr. Lizenz 5 ist jetzt entzogen.',
    ],
  ])('%s', (sentence, expected) => {
    expect(sentence).toBe(expected);
  });
});

describe('slips', () => {
  const HINT = '5C6D7E80';

  test.each([
    ['5C6D7E80', 'elsewhere'],
    ['5C6D7E81', 'one-character'],
    ['5C6DE780', 'transposed'],
    ['7e80', 'shape'],
    ['7E8O', 'confused'],
    ['D7E8', 'missing'],
    ['D780', 'missing'],
    ['7G80', 'one-character'],
    ['AAAAAAAA', undefined],
    ['7E88', undefined],
    ['', undefined],
  ])('%s is compared with 5C6D7E80 as: %s', (seen, slip) => {
    expect(compareHints(seen, HINT)).toBe(slip);
  });

  test.each([
    ['10A1B2C3-D4E5F607-18293A4B-5C6D7E80', true],
    ['10A1B2C3D4E5F60718293A4B5C6D7E8', true],
    ['i0a1b2c3-d4e5f607-18293a4b-5c6d7e8oX', true],
    ['10A1B2C3-D4E5F607-18293A4B-5C6D7E80AB', false],
    ['10A1B2C3-D4E5F607-18293A4B', false],
    ['MyShop-Abc-2024-XYZ-0001-of-thirty-two', false],
    ['XYA1B2C3-D4E5F607-18293A4B-5C6D7E80', false],
  ])('%s may be a mistyped key of our own form: %s', (key, may) => {
    expect(mayBeNativeKey(key)).toBe(may);
  });

  test('the search in the log and among licences finds exactly what the comparison accepts', () => {
    const seen = hintsOfTypos(HINT);
    expect(seen.length).toBeLessThan(200);
    for (const one of seen) expect([one, compareHints(one, HINT)]).not.toContain(undefined);
    for (const one of ['5C6D7E80', '5C6D7E81', '5C6DE780', '7E80', '7e80', '7E8O', 'D7E8', 'D780', '7G80']) {
      const { exact, patterns } = hintsWithinOneTypo(one);
      expect(exact.length + patterns.length).toBeLessThan(200);
      const matches = patterns.some((like) => new RegExp(`^${like.replaceAll('_', '.')}$`).test(HINT));
      expect([one, exact.includes(HINT) || matches]).toEqual([one, true]);
    }
  });

  test('the keys with one mistake are a few thousand, without duplicates and without the key itself', () => {
    for (const key of [
      '10A1B2C3-D4E5F607-18293A4B-5C6D7E80',
      '550e8400-e29b-41d4-a716-446655440000',
      'ab',
      'x'.repeat(995),
    ]) {
      const near = keysWithinOneTypo(key);
      expect(near.length).toBeLessThan(8_000);
      expect(new Set(near.map((one) => one.key)).size).toBe(near.length);
      expect(near.map((one) => one.key)).not.toContain(key);
    }
  });
});
