import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { editProduct } from '../../src/licensing/catalogue';
import { withdrawRelease } from '../../src/packages/releases';
import { NOTICE_TYPES, queueRow } from '../../src/mail/queue';
import { insertOutboxRows, pruneOutbox } from '../../src/store/outbox';
import { sendMailAgain } from '../../src/mail/failed-mails';
import { queueNotice, queueNotices } from '../../src/mail/security-release';
import { changeCustomer } from '../../src/privacy/change-customer';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import { saveProfile } from '../../src/store/customer-profiles';
import { customerDigest } from '../../src/store/customer-digest';
import { table } from '../../src/store/engine/database';
import { rowToFields } from '../../src/store/engine/row-fields';
import {
  findNotice,
  findNoticeMails,
  insertNotice,
  noticeKey,
  sumNoticeMails,
} from '../../src/store/security-notices';
import { recordReportedSites } from '../../src/store/reported-sites';
import { inTransaction } from '../../src/store/engine/transaction';
import { startMailServer, type MailServer } from '../support/mail-server';
import { NOW, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { BACKENDS, giveLicense, givePlan } from '../support/service';

/** Mails about a security release: to whom, their text, and only once. 42 is an extension, 44 its club, 43 another extension. */

const PUBLISHED = new Date('2026-11-20T00:00:00Z');
const CHANGELOG = 'fix: A\nsecurity: A form took <script>.\n- Security: Links\u0007were followed.';

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let server: MailServer;
  let service: Managed;
  let plans: { plain: number; faithful: number; club: number; other: number };
  /** Counts the tests of this file, so that each has its own customers. */
  let round = 0;

  beforeAll(async () => {
    server = await startMailServer();
    service = await startManaged({
      ...(await settings()),
      LICENSING_MAIL_URL: `smtp://127.0.0.1:${server.port}?from=sales@shop.example`,
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_SHOP_NAME: 'Acme',
    });
    const { db } = service;
    plans = {
      plain: await givePlan(db),
      faithful: await givePlan(db, { afterExpiry: 'last_release' }),
      club: await givePlan(db, { productId: 44 }),
      other: await givePlan(db, { productId: 43 }),
    };
    await editProduct(db, 42, { supportUrl: 'https://shop.example/help' });
    await editProduct(db, 44, { includes: [42] });
  });
  afterAll(async () => {
    await service.stop();
    await server.stop();
  });
  beforeEach(async () => {
    round++;
    service.clock.now = NOW;
    await service.db(table(service.db, 'outbox')).delete();
    await service.db(table(service.db, 'security_notices')).delete();
    await service.db(table(service.db, 'told_sites')).delete();
    await service.db(table(service.db, 'licenses')).update({ status: 'revoked' });
    // The releases of earlier tests have the same fix as none of this one.
    await service.db(table(service.db, 'releases')).update({ same_fix_as: null });
  });

  const release = async (security = true) => {
    const version = `${round}.1.0`;
    const given = await giveRelease(service, { version, date: PUBLISHED, changelog: CHANGELOG, security });
    return given.release;
  };
  const sell = (plan: number, customer: string | undefined, expiresAt?: Date) =>
    giveLicense(service.db, plan, { customer, expiresAt }, NOW);
  const tell = (licenseId: number, version: string, productId = 42, site = 'a.example') =>
    recordReportedSites(service.db, [{ licenseId, productId, site, version, at: NOW }]);
  const queued = async () =>
    (await service.db(table(service.db, 'outbox')).whereIn('type', NOTICE_TYPES).orderBy('id')).map(
      rowToFields,
    );
  const eventsOf = async (id: number) =>
    (await service.write.all(`/licenses/${id}/events`)).filter(({ action }) => action === 'notify');

  test('each customer who may have it and may run an older version gets one mail', async () => {
    const { id, version } = await release();
    const older = `${round}.0.9`;
    const told: [name: string, license: { id: number }][] = [];
    const give = async (name: string, plan: number, sites: [string, number?, string?][] = [], end?: Date) => {
      const license = await sell(plan, `${name}@example.com`, end);
      for (const site of sites) await tell(license.id, ...site);
      told.push([name, license]);
      return license;
    };
    const past = new Date('2026-11-01T00:00:00Z');
    const later = new Date('2026-11-22T00:00:00Z');
    await give('silent', plans.plain);
    await give('behind', plans.plain, [[older], [version, 42, 'b.example']]);
    await give('club', plans.club);
    await give('agency', plans.plain);
    await give('agency', plans.faithful, [[older]]);
    await give('covered', plans.faithful, [], later);
    await give('other-site', plans.club, [[older, 43]]);
    const concerned = told.length;
    await give('newest', plans.plain, [[version], [`${round}.2.0`, 42, 'b.example']]);
    await give('ended', plans.plain, [], later);
    await give('too-early', plans.faithful, [], past);
    await give('other', plans.other);
    const { id: nobody } = await sell(plans.plain, undefined);
    const suspended = await give('suspended', plans.plain);
    await service.write.ok(`POST /licenses/${suspended.id}/suspend`, {});

    const preview = await service.read.ok(`GET /releases/${id}/notify`);
    expect(preview).toEqual({
      mails: concerned - 1,
      subject: `Security update for Example Shop: version ${version}`,
      text: expect.stringContaining(
        'It fixes:\n- A form took <script>.\n- Links were followed.\n\nIn Joomla: open System, Update, Extensions',
      ),
      notified_at: null,
    });
    expect(await queued()).toEqual([]);
    await service.read.refused(`POST /releases/${id}/notify`, {}, 'FORBIDDEN');
    expect(await service.write.ok(`POST /releases/${id}/notify`, {})).toEqual({ mails: concerned - 1 });
    const mails = await queued();
    expect(mails).toHaveLength(concerned - 1);
    for (const [i, [name, license]] of told.entries())
      expect([name, await eventsOf(license.id)]).toMatchObject([
        name,
        i < concerned
          ? [{ after: { product_id: 42, version }, actor: expect.stringContaining('admin') }]
          : [],
      ]);
    expect(await eventsOf(nobody)).toEqual([]);
    const again = await service.write.refused(`POST /releases/${id}/notify`, {}, 'CONFLICT');
    expect(again).toMatch(/already/);
    expect(await service.read.ok(`GET /releases/${id}/notify`)).toMatchObject({
      mails: concerned - 1,
      notified_at: NOW.toISOString().replace('.000', ''),
    });
    expect(await service.read.ok(`GET /releases/${id}`)).toMatchObject({ security: true });
  });

  const mailsTo = (address: string) => server.received.filter(({ text }) => text.includes(`To: ${address}`));

  test("the mail is in the customer's language, and states what is fixed and where to get it", async () => {
    const { id, version } = await release();
    await sell(plans.plain, 'grete@example.com');
    await inTransaction(service.db, (trx) => saveProfile(trx, 'grete@example.com', { language: 'de' }, NOW));
    await service.write.ok(`POST /releases/${id}/notify`, {});
    // Mails of earlier tests may still arrive.
    await eventually(() => expect(mailsTo('grete@example.com')).toHaveLength(1));
    const [{ text } = { text: '' }] = mailsTo('grete@example.com');
    expect(text).toContain(`Version ${version} von Example Shop schließt eine Sicherheitslücke.`);
    expect(text).toContain('Sie behebt:\n- A form took <script>.\n- Links were followed.\n');
    expect(text).toContain('https://shop.example/api/index.php/v1/licensing/pages/my');
    expect(text).toContain('Fragen: https://shop.example/help');
    expect(text).toMatch(/<li[^>]*>A form took &#60;script&#62;\./);
  });

  test('a release that is not a published security release is refused', async () => {
    const { id } = await release(false);
    const path = `/releases/${id}/notify`;
    expect(await service.write.refused(`GET ${path}`, undefined, 'CONFLICT')).toMatch(/not marked/);
    await service.write.refused(`POST ${path}`, {}, 'CONFLICT');
    expect(await service.write.ok(`PATCH /releases/${id}`, { security: true })).toMatchObject({
      security: true,
      changelog: CHANGELOG,
      notified_at: null,
    });
    expect(await service.write.ok(`GET ${path}`)).toMatchObject({ mails: 0 });
    await withdrawRelease(service.db, 42, `${round}.1.0`, NOW);
    expect(await service.write.refused(`POST ${path}`, {}, 'CONFLICT')).toMatch(/not published/);
    await service.write.refused('POST /releases/999999/notify', {}, 'NOT_FOUND');
  });

  test('two processes at once, and another one after a stop, mail each of many customers once, five a second', async () => {
    const { id } = await release();
    const { db } = service;
    const licenses: number[] = [];
    for (let i = 0; i < 250; i++)
      licenses.push((await sell(plans.plain, `many-${round}-${i % 230}@example.com`)).id);
    let asked = 0;
    const claims = await Promise.all([
      service.write.send(`POST /releases/${id}/notify`, { body: {}, headers: { 'Idempotency-Key': 'a' } }),
      service.write.send(`POST /releases/${id}/notify`, { body: {}, headers: { 'Idempotency-Key': 'b' } }),
    ]);
    expect(claims.map(({ status }) => status).sort()).toEqual([200, 409]);
    const [done] = claims.filter(({ status }) => status === 200);
    expect(done?.body.data).toEqual({ mails: 230 });
    const first = await queued();
    expect(new Set(first.map(({ once }) => once)).size).toBe(230);
    const seconds = new Map<number, number>();
    for (const { nextAttemptAt, attempts } of first)
      if (attempts === 0)
        seconds.set(+(nextAttemptAt as Date), (seconds.get(+(nextAttemptAt as Date)) ?? 0) + 1);
    expect(Math.max(...seconds.values())).toBe(5);
    expect(Math.max(...seconds.keys())).toBe(NOW.getTime() + 45_000);

    // Starts over, as if the process had died after the first portion.
    await db(table(db, 'security_notices'))
      .where({ release_id: id })
      .update({ done_at: null, plan_id: 0, license_id: 0, mails: 0 });
    const context = { language: 'en' as const, now: NOW };
    expect(await queueNotice(db, id, { ...context, goesOn: () => Promise.resolve(++asked < 1) })).toBe(0);
    expect((await findNotice(db, id))?.doneAt).toBeNull();
    await Promise.all([
      queueNotices(db, { ...context, goesOn: () => Promise.resolve(true) }),
      queueNotice(db, id, context),
    ]);
    expect(await findNotice(db, id)).toMatchObject({ doneAt: NOW, mails: 0 });
    expect(await queued()).toHaveLength(230);
    // Each of the two rounds over the same licences wrote one entry, although two processes took part.
    expect(await eventsOf(licenses[249] as number)).toHaveLength(2);
  });

  test('the mails about releases with the same fix are found by customer and summed up, also when one is sent again', async () => {
    const { id } = await release();
    const { db } = service;
    const addresses = [1, 2, 3].map((one) => `sum-${round}-${one}@example.com`);
    for (const address of addresses) await sell(plans.plain, address);
    await service.write.ok(`POST /releases/${id}/notify`, {});
    const digests = addresses.map((address) => customerDigest(address));
    const others = [id + 1_000, id];
    const found = () => findNoticeMails(db, others, [...digests, customerDigest('nobody@example.com')]);
    await eventually(async () =>
      expect([...(await found()).values()].map(({ sentAt }) => sentAt)).toEqual([NOW, NOW, NOW]),
    );
    expect(await sumNoticeMails(db, others)).toEqual({
      ...{ sent: 3, failed: 0, firstAt: NOW, lastAt: NOW },
    });
    expect(await findNoticeMails(db, [id + 1_000], digests)).toEqual(new Map());

    const key = noticeKey(id, digests[0] as string);
    const failed = { failed_at: '2026-11-24 12:00:00', sent_at: null };
    await db(table(db, 'outbox')).where({ once: key }).update(failed);
    expect(await sumNoticeMails(db, others)).toMatchObject({ sent: 2, failed: 1 });
    const [mail = 0] = await db(table(db, 'outbox')).where({ once: key }).pluck<number[]>('id');
    const again = await sendMailAgain(db, mail, { mailing: { language: 'en' }, now: NOW });
    await eventually(async () =>
      expect(await sumNoticeMails(db, others)).toMatchObject({ sent: 3, failed: 0 }),
    );
    expect(await db(table(db, 'outbox')).whereIn('id', [mail, again.id]).orderBy('id').pluck('once')).toEqual(
      [null, key],
    );
  });

  describe('for everybody', () => {
    const PAST = new Date('2026-11-01T00:00:00Z');
    const everybody = { audience: 'everybody' };
    /** Returns the mails by customer. */
    const mailed = async () => {
      const rows = await queued();
      const licenses = await service
        .db(table(service.db, 'licenses'))
        .whereIn(
          'id',
          rows.map(({ licenseId }) => licenseId as number),
        )
        .select('id', 'customer');
      const nameOf = new Map(licenses.map(({ id, customer }) => [id, customer?.replace('@example.com', '')]));
      return rows.map(({ licenseId, type }) => `${nameOf.get(licenseId as number)}: ${type}`).sort();
    };

    test('it follows the customers with a covering licence, and mails the others only, once', async () => {
      const { id, version } = await release();
      const older = `${round}.0.9`;
      const give = async (name: string, plan: number, end?: Date) => sell(plan, `${name}@example.com`, end);
      await give('covered', plans.plain);
      await give('two', plans.plain, PAST);
      await give('two', plans.club);
      const ended = await give('ended', plans.plain, PAST);
      await give('ended-club', plans.club, PAST);
      await give('early', plans.faithful, PAST);
      await give('both-ended', plans.plain, PAST);
      await give('both-ended', plans.club, PAST);
      const newest = await give('newest', plans.plain, PAST);
      await tell(newest.id, version);
      const behind = await give('behind', plans.plain, PAST);
      await tell(behind.id, older);
      await give('other', plans.other, PAST);
      await sell(plans.plain, undefined, PAST);
      const refunded = await give('refunded', plans.plain, PAST);
      const running = await give('refunded-running', plans.plain);
      for (const one of [refunded, running])
        await service.db(table(service.db, 'licenses')).where({ id: one.id }).update({ all_returned: 1 });
      for (const [name, action] of [
        ['suspended', 'suspend'],
        ['revoked', 'revoke'],
        ['cancelled', 'cancel'],
      ])
        await service.write.ok(`POST /licenses/${(await give(name!, plans.plain)).id}/${action}`, {});

      const path = `/releases/${id}/notify`;
      const others = ['behind', 'both-ended', 'early', 'ended', 'ended-club'];
      expect(await service.read.ok(`GET ${path}`)).toMatchObject({ mails: 3 });
      const all = await service.read.ok(`GET ${path}?audience=everybody`);
      expect(all).toMatchObject({
        mails: 8,
        subject: `Security hole in Example Shop before version ${version}`,
        text: expect.stringContaining('Your licence does not cover this version.'),
        notified_at: null,
      });
      expect(await service.write.ok(`POST ${path}`, { audience: 'entitled' })).toEqual({ mails: 3 });
      const covered = ['covered', 'refunded-running', 'two'].map((name) => `${name}: security_release`);
      expect(await mailed()).toEqual(covered);
      expect(await service.read.ok(`GET ${path}?audience=everybody`)).toMatchObject({
        mails: others.length,
        notified_at: null,
      });
      await service.read.refused(`POST ${path}`, everybody, 'FORBIDDEN');
      expect(await service.write.ok(`POST ${path}`, everybody)).toEqual({ mails: others.length });
      expect(await mailed()).toEqual(
        [...covered, ...others.map((name) => `${name}: security_notice`)].sort(),
      );
      expect(await eventsOf(ended.id)).toMatchObject([{ after: { product_id: 42, version } }]);
      expect(await eventsOf(newest.id)).toEqual([]);
      for (const body of [everybody, {}])
        expect(await service.write.refused(`POST ${path}`, body, 'CONFLICT')).toMatch(/already/);
      expect(await service.read.ok(`GET ${path}?audience=everybody`)).toMatchObject({
        mails: 0,
        notified_at: NOW.toISOString().replace('.000', ''),
      });
      expect(await service.read.ok(`GET ${path}`)).toMatchObject({ mails: 3 + others.length });
    });

    test('a customer with one covering licence gets the mail about it, also if everybody is notified at once', async () => {
      const { id } = await release();
      await sell(plans.plain, 'mixed@example.com', PAST);
      await sell(plans.club, 'mixed@example.com');
      await sell(plans.plain, 'alone@example.com', PAST);
      expect(await service.write.ok(`POST /releases/${id}/notify`, everybody)).toEqual({ mails: 2 });
      expect(await mailed()).toEqual(['alone: security_notice', 'mixed: security_release']);
      expect(await service.write.refused(`POST /releases/${id}/notify`, {}, 'CONFLICT')).toMatch(/already/);
    });

    test('it also knows the mails that are older than the log, until their customer is erased', async () => {
      const { id } = await release();
      const { db } = service;
      await sell(plans.plain, 'proof@example.com');
      await sell(plans.plain, 'proof-too@example.com', PAST);
      await service.write.ok(`POST /releases/${id}/notify`, {});
      await eventually(async () => expect((await queued())[0]?.sentAt).not.toBeNull());
      const later = new Date(NOW.getTime() + 86_400_000);
      const other = queueRow('license_key', { now: NOW, language: 'en', dueAt: later });
      await inTransaction(db, (trx) => insertOutboxRows(trx, [{ ...other, once: 'another' }]));
      expect(await pruneOutbox(db, 'mail', later, 100)).toBe(2);
      expect(await pruneOutbox(db, 'mail', later, 100)).toBe(0);
      expect(await queued()).toMatchObject([{ kind: 'notice', sentAt: NOW }]);
      expect(await sumNoticeMails(db, [id])).toMatchObject({ sent: 1, firstAt: NOW });
      expect(await service.write.ok(`POST /releases/${id}/notify`, everybody)).toEqual({ mails: 1 });
      await eraseCustomer(db, 'proof@example.com', { actor: 'operator:test', now: NOW });
      expect(await mailed()).toEqual(['proof-too: security_notice']);
    });

    test('it knows a customer who was mailed at another address, or was merged with another customer', async () => {
      const { id } = await release();
      for (const name of ['moved', 'joined', 'stays'])
        await sell(plans.plain, `${name}-${round}@example.com`);
      await service.write.ok(`POST /releases/${id}/notify`, {});
      const context = { actor: 'operator:test', now: NOW, mailing: undefined };
      const change = (from: string, email: string, join = false) =>
        changeCustomer(
          service.db,
          `${from}-${round}@example.com`,
          { email: `${email}-${round}@example.com`, join },
          context,
        );
      await change('moved', 'new');
      await change('joined', 'stays', true);
      await sell(plans.plain, `new-${round}@example.com`, PAST);
      await sell(plans.plain, `stays-${round}@example.com`, PAST);
      await sell(plans.plain, `joined-${round}@example.com`, PAST);
      expect(await service.write.ok(`POST /releases/${id}/notify`, everybody)).toEqual({ mails: 0 });
    });

    test('an unknown audience is refused', async () => {
      const { id } = await release();
      const path = `/releases/${id}/notify`;
      await service.write.refused(`GET ${path}?audience=all`, undefined, 'INVALID_REQUEST');
      await service.write.refused(`POST ${path}`, { audience: 'all' }, 'INVALID_REQUEST');
      await service.write.refused(`POST ${path}`, { audience: null }, 'INVALID_REQUEST');
    });

    test('it goes on after a stop, and while the customers with a covering licence are still being queued', async () => {
      const { id } = await release();
      const { db } = service;
      for (let i = 0; i < 130; i++)
        await sell(plans.plain, `stop-${round}-${i % 120}@example.com`, i < 120 ? PAST : undefined);
      await inTransaction(db, async (trx) => {
        await trx(table(trx, 'releases')).where({ id }).update({ notified_at: '2026-11-23 00:00:00' });
        await insertNotice(trx, { releaseId: id, actor: 'operator:test', dueAt: NOW });
      });
      await service.write.ok(`POST /releases/${id}/notify`, everybody);
      const context = { language: 'en' as const, now: NOW, goesOn: () => Promise.resolve(true) };
      await queueNotices(db, context);
      const types = (await queued()).map(({ type }) => type);
      expect(types.filter((type) => type === 'security_release')).toHaveLength(10);
      expect(types).toHaveLength(120);
      await db(table(db, 'security_notices'))
        .where({ release_id: id })
        .update({ done_at: null, plan_id: 0, license_id: 0 });
      await queueNotices(db, context);
      expect(await queued()).toHaveLength(120);
    });

    test('a failed mail is not repeated by it, and a licence that became covered gets the other text', async () => {
      const { id, version } = await release();
      await sell(plans.plain, 'failing@example.com');
      await service.write.ok(`POST /releases/${id}/notify`, {});
      // It is marked as failed only after its delivery, which would otherwise come first or not at all.
      await eventually(async () => expect((await queued())[0]?.sentAt).not.toBeNull());
      await service
        .db(table(service.db, 'outbox'))
        .where({ type: 'security_release' })
        .update({ failed_at: '2026-11-24 12:00:00', sent_at: null, next_attempt_at: null });
      const plan = await givePlan(service.db);
      await sell(plan, `turned-${round}@example.com`, new Date('2026-11-22T00:00:00Z'));
      await sell(plan, `kept-${round}@example.com`, PAST);
      service.clock.now = new Date(NOW.getTime() - 1_000);
      expect(await service.write.ok(`POST /releases/${id}/notify`, everybody)).toEqual({ mails: 2 });
      await service.write.ok(`PATCH /plans/${plan}`, { after_expiry: 'last_release' });
      service.clock.now = new Date(NOW.getTime() + 5_000);
      await eventually(() => {
        expect(mailsTo(`turned-${round}@`)[0]?.text).toContain(`update for Example Shop: version ${version}`);
        expect(mailsTo(`kept-${round}@`)[0]?.text).toContain('does not cover this version');
      });
      expect(mailsTo('failing@')).toHaveLength(1);
    });
  });

  test('a customer is mailed once about releases with the same fix, over several steps', async () => {
    const publish = async (version: string, sameFixAs?: number) =>
      (
        await giveRelease(service, {
          ...{ version, date: PUBLISHED, changelog: CHANGELOG, security: true, sameFixAs },
        })
      ).release;
    const first = await publish(`${round}.2.2`);
    const second = await publish(`${round}.3.1`, first.id);
    const third = await publish(`${round}.4.1`, second.id);
    const other = await publish(`${round}.5.0`);
    await sell(plans.plain, 'linked@example.com');
    const updated = await sell(plans.plain, 'updated@example.com');
    await tell(updated.id, `${round}.2.2`);
    expect(await service.write.ok(`POST /releases/${first.id}/notify`, {})).toEqual({ mails: 1 });
    const late = await sell(plans.plain, 'late@example.com');
    expect(await service.read.ok(`GET /releases/${third.id}/notify`)).toMatchObject({
      mails: 1,
      notified_at: null,
    });
    expect(await service.write.ok(`POST /releases/${third.id}/notify`, {})).toEqual({ mails: 1 });
    expect(await eventsOf(late.id)).toMatchObject([{ after: { version: `${round}.4.1` } }]);
    expect(await service.read.ok(`GET /releases/${second.id}/notify?audience=everybody`)).toMatchObject({
      mails: 0,
    });
    // A release without a link is another one.
    expect(await service.read.ok(`GET /releases/${other.id}/notify`)).toMatchObject({ mails: 3 });
    const names = (await queued()).map(({ once }) => once);
    expect(names).toEqual(
      ['linked', 'late'].map((name) => noticeKey(first.id, customerDigest(`${name}@example.com`))),
    );
  });

  test('two linked releases that are notified at the same time mail each customer once', async () => {
    const { id } = await release();
    const linked = { version: `${round}.2.0`, date: PUBLISHED, security: true, sameFixAs: id };
    const { release: other } = await giveRelease(service, linked);
    for (let i = 0; i < 150; i++) await sell(plans.plain, `pair-${round}-${i}@example.com`);
    const sent = await Promise.all(
      [id, other.id].map((one) => service.write.ok(`POST /releases/${one}/notify`, {})),
    );
    expect(sent.reduce((sum, { mails }) => sum + Number(mails), 0)).toBe(150);
    expect(await queued()).toHaveLength(150);
  });

  test('advice and names of holes come before what is fixed, in both mails and languages', async () => {
    const { id, version } = await release();
    const advisory = '- Change all passwords.\n\nLook for user <admin2>.';
    await service.write.ok(`PATCH /releases/${id}`, { advisory, cve: ['CVE-2026-1234', 'CVE-2026-99999'] });
    await editProduct(service.db, 42, { renewUrl: 'https://shop.example/renew' });
    await sell(plans.plain, `advised-${round}@example.com`);
    await sell(plans.plain, `warned-${round}@example.com`, new Date('2026-11-01T00:00:00Z'));
    const german = `gewarnt-${round}@example.com`;
    await sell(plans.plain, german, new Date('2026-11-01T00:00:00Z'));
    await inTransaction(service.db, (trx) => saveProfile(trx, german, { language: 'de' }, NOW));
    await service.write.ok(`POST /releases/${id}/notify`, { audience: 'everybody' });
    service.clock.now = new Date(NOW.getTime() + 5_000);
    const lists =
      'CVE-2026-1234, CVE-2026-99999\n\nWhat we advise:\n- Change all passwords.\n- Look for user <admin2>.\n\nIt fixes:\n- A form';
    await eventually(() => expect(mailsTo(`gewarnt-${round}@`)).toHaveLength(1));
    expect(mailsTo(`advised-${round}@`)[0]?.text).toContain(`Known as: ${lists}`);
    const [{ text } = { text: '' }] = mailsTo(`warned-${round}@`);
    expect(text).toContain(`Subject: Security hole in Example Shop before version ${version}`);
    expect(text).toContain(`Known as: ${lists}`);
    expect(text).toContain('Get the update: https://shop.example/renew');
    expect(text).toMatch(/<li[^>]*>Look for user &#60;admin2&#62;\./);
    const [{ text: deutsch } = { text: '' }] = mailsTo(`gewarnt-${round}@`);
    expect(deutsch).toContain('Ihre Lizenz umfasst diese Version nicht.');
    expect(deutsch).toContain('Bekannt als: CVE-2026-1234, CVE-2026-99999\n\nWir empfehlen:\n- Change');
    await editProduct(service.db, 42, { renewUrl: null });
  });

  test('mails that are late after an outage are sent at the same pace', async () => {
    const { id } = await release();
    for (let i = 0; i < 33; i++) await sell(plans.plain, `late-${round}-${i}@example.com`);
    const sent = () => mailsTo(`late-${round}-`).length;
    await service.write.ok(`POST /releases/${id}/notify`, {});
    await eventually(() => expect(sent()).toBe(5));

    const up = NOW.getTime() + 3_600_000;
    service.clock.now = new Date(up);
    const due = async () =>
      (await queued()).flatMap(({ nextAttemptAt }) => (nextAttemptAt === null ? [] : [+nextAttemptAt]));
    await eventually(async () => expect((await due()).filter((at) => at <= up)).toEqual([]));
    await eventually(() => expect(sent()).toBe(10));
    // A mail that is being postponed is claimed for two minutes.
    await eventually(async () => {
      const seconds = (await due()).map((at) => (at - up) / 1_000).sort((a, b) => a - b);
      expect(seconds).toEqual(Array.from({ length: 23 }, (_, i) => 1 + Math.floor(i / 5)));
    });
    await eventually(async () =>
      expect((await queued()).every(({ attempts, sentAt }) => attempts === (sentAt === null ? 0 : 1))).toBe(
        true,
      ),
    );
    service.clock.now = new Date(up + 5_000);
    await eventually(() => expect(sent()).toBe(33));
  });

  test('an erased customer gets no mail, and a withdrawn version is not announced', async () => {
    const { id, version } = await release();
    await sell(plans.plain, 'erased@example.com');
    const kept = await sell(plans.plain, 'kept@example.com');
    // Mails of another release fill the time until then, so these wait behind them.
    const busyUntil = new Date(NOW.getTime() + 3_600_000);
    await inTransaction(service.db, (trx) =>
      insertNotice(trx, { releaseId: 999_999, actor: 'operator:test', dueAt: busyUntil }),
    );
    await service.write.ok(`POST /releases/${id}/notify`, {});
    expect((await queued()).map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([busyUntil, busyUntil]);
    await eraseCustomer(service.db, 'erased@example.com', { actor: 'operator:test', now: NOW });
    const left = await queued();
    expect(left.map(({ licenseId }) => licenseId).filter((one) => one !== null)).toEqual([kept.id]);
    await withdrawRelease(service.db, 42, version, NOW);
    const before = server.received.length;
    service.clock.now = new Date(busyUntil.getTime() + 60_000);
    await eventually(async () => expect(await queued()).toEqual([]));
    expect(server.received).toHaveLength(before);
  });

  test('an erased customer is forgotten, and one whose licence stopped meanwhile gets no mail', async () => {
    const { id } = await release();
    // Later than all mails of the tests before, which the sender keeps apart.
    const busyUntil = new Date(NOW.getTime() + 3 * 3_600_000);
    await inTransaction(service.db, (trx) =>
      insertNotice(trx, { releaseId: 999_999, actor: 'operator:test', dueAt: busyUntil }),
    );
    const past = new Date('2026-11-01T00:00:00Z');
    await sell(plans.plain, 'erased-too@example.com', past);
    const returned = await sell(plans.plain, 'returned@example.com', past);
    await service.write.ok(`POST /releases/${id}/notify`, { audience: 'everybody' });
    expect(await queued()).toHaveLength(2);
    await eraseCustomer(service.db, 'erased-too@example.com', { actor: 'operator:test', now: NOW });
    await service.db(table(service.db, 'licenses')).where({ id: returned.id }).update({ all_returned: 1 });
    const before = server.received.length;
    service.clock.now = new Date(busyUntil.getTime() + 60_000);
    await eventually(async () => expect(await queued()).toEqual([]));
    expect(server.received).toHaveLength(before);
  });

  test('a mail that waits about a withdrawn version is about the notified one that replaces it', async () => {
    const { id, version } = await release();
    const busyUntil = new Date(NOW.getTime() + 6 * 3_600_000);
    await inTransaction(service.db, (trx) =>
      insertNotice(trx, { releaseId: 999_999, actor: 'operator:test', dueAt: busyUntil }),
    );
    await sell(plans.plain, `replaced-${round}@example.com`);
    await service.write.ok(`POST /releases/${id}/notify`, {});
    await withdrawRelease(service.db, 42, version, NOW);
    const better = { version: `${round}.1.1`, date: PUBLISHED, security: true, sameFixAs: id };
    const { release: next } = await giveRelease(service, better);
    expect(await service.write.ok(`POST /releases/${next.id}/notify`, {})).toEqual({ mails: 0 });
    service.clock.now = new Date(busyUntil.getTime() + 60_000);
    const mails = () => server.received.filter(({ to }) => to.includes(`replaced-${round}@example.com`));
    await eventually(() =>
      expect(mails()).toMatchObject([{ subject: expect.stringContaining(`${round}.1.1`) }]),
    );
  });
});
