import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthenticator, type Authenticate } from '../../src/access/authenticate';
import type { Caller } from '../../src/access/caller';
import { openOperatorSession } from '../../src/access/sessions';
import { addToken } from '../../src/access/tokens';
import { readConfig, type Settings } from '../../src/settings/config';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { siteToken, startTestSite, type TestSite, type TestUser } from '../support/joomla-site';
import { operator } from '../support/operator';
import { php } from '../support/php-xml';
import { temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, migrateNew, testConfig } from '../support/service';

/** Tests the site's own API tokens at the operator's API, which judges them by Joomla's tables as Joomla does. */

const NOW = new Date('2026-11-24T12:00:00Z');
const clock = { now: NOW };
const dbs: Db[] = [];
let site: TestSite;
let admin: TestUser;

beforeAll(async () => {
  site = await startTestSite();
});
afterAll(() => site.stop());
beforeEach(async () => {
  clock.now = NOW;
  admin = await site.addUser(`admin${randomBytes(4).toString('hex')}`, [8]);
});
afterEach(async () => {
  site.configure();
  await site.run("UPDATE jos_extensions SET enabled = 1, params = '{}' WHERE type = 'plugin'");
  await setRules({ 'core.login.api': { 8: 1 }, 'core.admin': { 8: 1 } });
  for (const db of dbs.splice(0)) await db.destroy();
});

async function open(settings: Settings = {}): Promise<{ db: Db; who: Authenticate }> {
  const config = readConfig(
    { LICENSING_ENV_FILE: '/dev/null' },
    { LICENSING_JOOMLA_ROOT: site.root, ...settings },
  );
  const db = openDatabase(config.database, config.tablePrefix, 4);
  dbs.push(db);
  await migrateNew(db, config.database);
  const { database, joomlaRoot, operatorGroups } = config;
  const who = createAuthenticator({ db, now: () => clock.now, database, joomlaRoot, operatorGroups });
  return { db, who };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, joomlaToken: undefined });

/** Judges a token with a new authenticator, whose cache is empty. @returns the scope, or the reason of the refusal */
async function judge(token: string, settings: Settings = {}): Promise<string> {
  const { who } = await open(settings);
  const caller = await who(bearer(token));
  return 'refused' in caller ? caller.refused : caller.scope;
}

function setRules(rules: object): Promise<void> {
  return site.run('UPDATE jos_assets SET rules = ? WHERE id = 1', [JSON.stringify(rules)]);
}

function setParams(params: object): Promise<void> {
  return site.run(
    "UPDATE jos_extensions SET params = ? WHERE folder = 'user' AND element = 'token' AND type = 'plugin'",
    [JSON.stringify(params)],
  );
}

describe('a super user with a token', () => {
  it('is a caller with the scope write, named by the login name', async () => {
    const { who } = await open();
    expect(await who(bearer(admin.token))).toEqual({
      scope: 'write',
      name: admin.login,
      actor: `joomla:${admin.login}`,
      tokenId: null,
      joomlaUserId: admin.id,
      credential: admin.token,
    });
  });

  it('may send it in each form that Joomla takes, and in no other', async () => {
    const { who } = await open();
    const { token } = admin;
    const refused = { refused: 'UNAUTHORIZED' };
    const forms: [string | undefined, string | undefined][] = [
      [`Bearer ${token}`, undefined],
      [`Bearer   ${token}  `, undefined],
      [`Bearer ${token.slice(0, 20)} ${token.slice(20)}`, undefined],
      [`Bearer ${token.slice(0, 20)}-_!${token.slice(20)}`, undefined],
      [`Bearer ${token.replace(/=+$/, '')}`, undefined],
      [undefined, token],
      ['', token],
      ['Bearer ', token],
      ['Basic dXNlcjpwYXNz', token],
      [undefined, `${token.slice(0, 20)}-_ ${token.slice(20)}`],
    ];
    for (const [authorization, joomlaToken] of forms)
      expect({ authorization, joomlaToken, caller: await who({ authorization, joomlaToken }) }).toMatchObject(
        {
          caller: { name: admin.login },
        },
      );
    const others: [string | undefined, string | undefined][] = [
      [undefined, undefined],
      [`bearer ${token}`, undefined],
      [`Bearer${token}`, undefined],
      [token, undefined],
      [`Basic ${token}`, undefined],
      // X-Joomla-Token counts only if Authorization has no token.
      ['Bearer wrong', token],
    ];
    for (const [authorization, joomlaToken] of others)
      expect({ authorization, caller: await who({ authorization, joomlaToken }) }).toEqual({
        authorization,
        caller: refused,
      });
  });

  it('is computed as PHP computes it, by both algorithms', async () => {
    const { id, seed } = admin;
    for (const algorithm of ['sha256', 'sha512'] as const) {
      const token = php(
        '$out = base64_encode("{$in[0]}:{$in[1]}:" . hash_hmac($in[0], base64_decode($in[2]), $in[3]));',
        [algorithm, id, seed.toString('base64'), site.secret],
      ) as string;
      expect(token).toBe(siteToken(id, seed, site.secret, algorithm));
      expect(await judge(token)).toBe('write');
    }
  });

  it('is refused for each wrong part of the token', async () => {
    const { id, seed } = admin;
    const { secret } = site;
    const hmac = Buffer.from(admin.token, 'base64').toString().split(':')[2] as string;
    const encode = (text: string) => Buffer.from(text).toString('base64');
    for (const wrong of [
      encode(`sha256:${id}:${hmac.toUpperCase()}`),
      encode(`sha256:${id}:${hmac.slice(0, -1)}`),
      encode(`sha256:${id}:${hmac}0`),
      encode(`sha256:${id}:`),
      encode(`sha256:${id}`),
      encode(`sha1:${id}:${hmac}`),
      encode(`SHA256:${id}:${hmac}`),
      encode(`sha512:${id}:${hmac}`),
      encode(`:${id}:${hmac}`),
      siteToken(id + 1_000, seed, secret),
      siteToken(0, seed, secret),
      siteToken(-id, seed, secret),
      siteToken('', seed, secret),
      siteToken('9'.repeat(30), seed, secret),
      siteToken(id, randomBytes(32), secret),
      siteToken(id, Buffer.alloc(0), secret),
      siteToken(id, seed, `${secret}x`),
      siteToken(id, seed, ''),
      'A'.repeat(20_000),
      '====',
    ])
      expect({ wrong, verdict: await judge(wrong) }).toEqual({ wrong, verdict: 'UNAUTHORIZED' });
  });
});

/** Rows of: what an administrator did to the site or the account, how, and how the token is then judged. */
const CHANGES: [string, () => Promise<void> | void, string][] = [
  ['nothing', () => undefined, 'write'],
  [
    'the token was reset',
    () =>
      site.run(
        "UPDATE jos_user_profiles SET profile_value = ? WHERE user_id = ? AND profile_key = 'joomlatoken.token'",
        [randomBytes(32).toString('base64'), admin.id],
      ),
    'UNAUTHORIZED',
  ],
  [
    'the token was deleted',
    () => site.run('DELETE FROM jos_user_profiles WHERE user_id = ?', [admin.id]),
    'UNAUTHORIZED',
  ],
  [
    'the token is empty',
    () =>
      site.run(
        "UPDATE jos_user_profiles SET profile_value = '' WHERE user_id = ? AND profile_key = 'joomlatoken.token'",
        [admin.id],
      ),
    'UNAUTHORIZED',
  ],
  [
    'the token is disabled',
    () =>
      site.run(
        "UPDATE jos_user_profiles SET profile_value = '0' WHERE user_id = ? AND profile_key = 'joomlatoken.enabled'",
        [admin.id],
      ),
    'UNAUTHORIZED',
  ],
  [
    'the account is blocked',
    () => site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]),
    'UNAUTHORIZED',
  ],
  [
    'the account waits for its activation',
    () => site.run("UPDATE jos_users SET activation = 'abc' WHERE id = ?", [admin.id]),
    'UNAUTHORIZED',
  ],
  [
    'the activation is blank',
    () => site.run("UPDATE jos_users SET activation = ' ' WHERE id = ?", [admin.id]),
    'write',
  ],
  [
    'the password must be reset',
    () => site.run('UPDATE jos_users SET requireReset = 1 WHERE id = ?', [admin.id]),
    'UNAUTHORIZED',
  ],
  [
    'the account was deleted',
    () => site.run('DELETE FROM jos_users WHERE id = ?', [admin.id]),
    'UNAUTHORIZED',
  ],
  [
    'the account left all groups',
    () => site.run('DELETE FROM jos_user_usergroup_map WHERE user_id = ?', [admin.id]),
    'UNAUTHORIZED',
  ],
  ['$secret was changed', () => site.configure({ secret: 'another' }), 'UNAUTHORIZED'],
  ['$secret is empty', () => site.configure({ secret: '' }), 'UNAUTHORIZED'],
  [
    'the plugin for authentication is off',
    () => site.run("UPDATE jos_extensions SET enabled = 0 WHERE folder = 'api-authentication'"),
    'UNAUTHORIZED',
  ],
  [
    'the plugin for accounts is off',
    () => site.run("UPDATE jos_extensions SET enabled = 0 WHERE folder = 'user' AND element = 'token'"),
    'write',
  ],
  ['tokens are for other groups', () => setParams({ allowedUserGroups: ['2', '6'] }), 'UNAUTHORIZED'],
  ['tokens are for this group too', () => setParams({ allowedUserGroups: [2, 8] }), 'write'],
  ['the groups are an empty text', () => setParams({ allowedUserGroups: '' }), 'write'],
  ['tokens are for every group', () => setParams({ allowedUserGroups: [] }), 'write'],
  ['tokens are for the parent group', () => setParams({ allowedUserGroups: ['1'] }), 'write'],
  ['tokens are for one group, as a scalar', () => setParams({ allowedUserGroups: '8' }), 'write'],
  ['tokens are for another group, as a scalar', () => setParams({ allowedUserGroups: 2 }), 'UNAUTHORIZED'],
  [
    'a super user is one, whatever the rule for the API says',
    () => setRules({ 'core.login.api': { 8: 0 }, 'core.admin': { 8: 1 } }),
    'write',
  ],
  [
    'the group is no longer super user, and may not log in',
    () => setRules({ 'core.login.api': {}, 'core.admin': [] }),
    'UNAUTHORIZED',
  ],
  [
    'the group is no longer super user, but may log in and manage',
    () => setRules({ 'core.login.api': { 8: 1 } }),
    'write',
  ],
  [
    'the account alone is denied',
    () => setRules({ 'core.login.api': { 8: 1, [-admin.id]: 0 }, 'core.admin': {} }),
    'UNAUTHORIZED',
  ],
  [
    'its parent group is denied',
    () => setRules({ 'core.login.api': { 8: 1, 1: 0 }, 'core.admin': { 8: 1, 1: 0 } }),
    'UNAUTHORIZED',
  ],
  ['the rules are no JSON', () => site.run("UPDATE jos_assets SET rules = 'x' WHERE id = 1"), 'UNAUTHORIZED'],
];

it.each(CHANGES)('%s', async (_name, change, verdict) => {
  expect(await judge(admin.token)).toBe('write');
  await change();
  expect(await judge(admin.token)).toBe(verdict);
});

describe('an account in other groups', () => {
  const groups = (ids: string): Settings => ({ LICENSING_OPERATOR_GROUPS: ids });

  it('in a child of Super Users is one', async () => {
    const owner = await site.addUser('owner', [20]);
    expect(await judge(owner.token)).toBe('write');
  });

  it('is refused by Joomla unless its group may have tokens and log in, and then only by the service’s groups', async () => {
    const manager = await site.addUser('manager', [7]);
    expect(await judge(manager.token, groups('7'))).toBe('UNAUTHORIZED');
    await setParams({ allowedUserGroups: ['6'] });
    expect(await judge(manager.token, groups('7'))).toBe('UNAUTHORIZED');
    await setRules({ 'core.login.api': { 8: 1, 6: 1 }, 'core.admin': { 8: 1 } });
    expect(await judge(manager.token)).toBe('FORBIDDEN');
    expect(await judge(manager.token, groups('8,9'))).toBe('FORBIDDEN');
    expect(await judge(manager.token, groups('7'))).toBe('write');
    // Group 7 is a child of group 6.
    expect(await judge(manager.token, groups('8, 6'))).toBe('write');
    await setRules({ 'core.login.api': { 6: 1, 7: 0 }, 'core.admin': { 8: 1 } });
    expect(await judge(manager.token, groups('7'))).toBe('UNAUTHORIZED');
  });

  it('without a token of the group needs the plugin for accounts off to be a super user', async () => {
    const manager = await site.addUser('manager2', [7]);
    await setParams({ allowedUserGroups: [] });
    await site.run("UPDATE jos_extensions SET enabled = 0 WHERE folder = 'user' AND element = 'token'");
    await setRules({ 'core.login.api': { 1: 1 } });
    expect(await judge(manager.token, groups('7'))).toBe('UNAUTHORIZED');
  });

  it('is a super user as $root_user, by id or login name', async () => {
    const root = await site.addUser('root-user', [2]);
    await setParams({ allowedUserGroups: [] });
    expect(await judge(root.token)).toBe('UNAUTHORIZED');
    for (const root_user of [String(root.id), 'root-user']) {
      site.configure({ root_user });
      expect(await judge(root.token)).toBe('write');
      expect(await judge(admin.token)).toBe('write');
    }
    for (const root_user of [`${root.id}0`, 'root-users', '']) {
      site.configure({ root_user });
      expect(await judge(root.token)).toBe('UNAUTHORIZED');
    }
  });
});

describe('a verdict', () => {
  it('is cached for a minute, unless it is a refusal', async () => {
    const { who } = await open();
    const name = async () => {
      const caller = await who(bearer(admin.token));
      return 'refused' in caller ? caller.refused : caller.name;
    };
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]);
    expect(await name()).toBe('UNAUTHORIZED');
    await site.run('UPDATE jos_users SET block = 0 WHERE id = ?', [admin.id]);
    expect(await name()).toBe(admin.login);
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]);
    clock.now = new Date(NOW.getTime() + 59_000);
    expect(await name()).toBe(admin.login);
    clock.now = new Date(NOW.getTime() + 61_000);
    expect(await name()).toBe('UNAUTHORIZED');
  });

  it('is not used longer when the clock is set back', async () => {
    const { who } = await open();
    await who(bearer(admin.token));
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]);
    clock.now = new Date(NOW.getTime() - 1_000);
    expect(await who(bearer(admin.token))).toEqual({ refused: 'UNAUTHORIZED' });
  });

  it('lets a token of the service live as long as the account that made it', async () => {
    const { db, who } = await open();
    const { token } = await addToken(
      db,
      { name: `shop${admin.id}`, scope: 'issue', expiresAt: null },
      { actor: `joomla:${admin.login}`, now: NOW, joomlaUserId: admin.id },
    );
    expect(await who(bearer(token))).toMatchObject({ scope: 'issue', joomlaUserId: admin.id });
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]);
    clock.now = new Date(NOW.getTime() + 61_000);
    expect(await who(bearer(token))).toEqual({ refused: 'UNAUTHORIZED' });
    await site.run('UPDATE jos_users SET block = 0 WHERE id = ?', [admin.id]);
    expect(await who(bearer(token))).toMatchObject({ scope: 'issue' });
    // A new Joomla token of the account does not matter.
    await site.run(
      "UPDATE jos_user_profiles SET profile_value = 'AAAA' WHERE user_id = ? AND profile_key = 'joomlatoken.token'",
      [admin.id],
    );
    clock.now = new Date(NOW.getTime() + 200_000);
    expect(await who(bearer(token))).toMatchObject({ scope: 'issue' });
    await site.run('DELETE FROM jos_user_usergroup_map WHERE user_id = ?', [admin.id]);
    clock.now = new Date(NOW.getTime() + 300_000);
    expect(await who(bearer(token))).toEqual({ refused: 'UNAUTHORIZED' });
  });

  it('opens a session, which lives as long as the account may call', async () => {
    const { db, who } = await open();
    const by = { caller: (await who(bearer(admin.token))) as Caller };
    const opened = await openOperatorSession(db, by, NOW);
    if ('refused' in opened) throw new Error(opened.refused);
    const session = { authorization: undefined, joomlaToken: undefined, session: opened.cookie };
    expect(await who(session)).toEqual(opened.session.caller);
    const terms = { scope: 'write', tokenId: null, joomlaUserId: admin.id };
    expect(opened.session.caller).toMatchObject({ actor: `joomla:${admin.login}`, ...terms });
    await site.run('UPDATE jos_users SET block = 1 WHERE id = ?', [admin.id]);
    clock.now = new Date(NOW.getTime() + 61_000);
    expect(await who(session)).toEqual({ refused: 'UNAUTHORIZED' });
  });
});

describe('where the service has another database', () => {
  const USER = `reader_${process.pid}`;
  const tables = ['users', 'user_profiles', 'user_usergroup_map', 'usergroups', 'extensions', 'assets'];

  async function doctor(settings: Settings, wanted = 'API_JOOMLA_TOKENS') {
    const { stdout } = await operator({
      LICENSING_JOOMLA_ROOT: site.root,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      ...settings,
    }).run(['doctor', '--json']);
    const { findings } = JSON.parse(stdout) as {
      findings: { code: string; what: string; remedy: string | null }[];
    };
    expect(stdout).not.toContain(site.secret);
    return findings.find(({ code }) => code === wanted);
  }

  it('on the same server, its own user reads the tables once it may', async () => {
    const own = await createMariaDbDatabase();
    const name = own.split('/').at(-1) as string;
    await site.run(`CREATE USER '${USER}'@'127.0.0.1' IDENTIFIED BY 'pw'`);
    await site.run(`GRANT ALL ON \`${name}\`.* TO '${USER}'@'127.0.0.1'`);
    const settings = { LICENSING_DATABASE_URL: own.replace('root:', `${USER}:pw`) };
    expect(await judge(admin.token, settings)).toBe('UNAUTHORIZED');
    const finding = await doctor(settings);
    expect(finding?.what).toContain('Joomla API tokens are not accepted');
    const grants = (finding?.remedy ?? '').match(/GRANT [^;]+;/g) ?? [];
    expect(grants).toEqual(
      tables.map((table) => `GRANT SELECT ON \`${site.database}\`.\`jos_${table}\` TO '${USER}'@'...';`),
    );
    for (const grant of grants) await site.run(grant.replace("'...'", "'127.0.0.1'"));
    expect(await judge(admin.token, settings)).toBe('write');
    expect((await doctor(settings))?.what).toContain('super users and these groups: Super Users (8).');
  });

  it('on another server or on SQLite, no token of the site counts, and the doctor says why', async () => {
    const own = await createMariaDbDatabase();
    site.configure({ host: 'db.example' });
    expect(await judge(admin.token, { LICENSING_DATABASE_URL: own })).toBe('UNAUTHORIZED');
    expect(await doctor({ LICENSING_DATABASE_URL: own })).toMatchObject({
      what: expect.stringContaining('on another server'),
    });
    site.configure();
    const sqlite = { LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/x.sqlite` };
    expect(await judge(admin.token, sqlite)).toBe('UNAUTHORIZED');
    expect(await doctor(sqlite)).toMatchObject({ what: expect.stringContaining('SQLite') });
  });

  it('groups that the site does not have are named', async () => {
    const settings: Settings = { LICENSING_OPERATOR_GROUPS: '7,12,13' };
    expect((await doctor(settings))?.what).toContain('these groups: Administrator (7).');
    expect((await doctor(settings, 'API_JOOMLA_GROUPS'))?.what).toContain('12, 13');
  });

  it('the doctor reports a disabled plugin and an empty secret too', async () => {
    const settings = {};
    site.configure({ secret: '' });
    expect(await doctor(settings)).toMatchObject({ what: expect.stringContaining('$secret') });
    site.configure();
    await site.run("UPDATE jos_extensions SET enabled = 0 WHERE folder = 'api-authentication'");
    expect(await doctor(settings)).toMatchObject({ what: expect.stringContaining('is disabled') });
  });
});

describe('configuration.php', () => {
  it('is read at each look, so that a changed secret counts at once', async () => {
    const { who } = await open();
    site.configure({ secret: 'changed' });
    const token = siteToken(admin.id, admin.seed, 'changed');
    expect(await who(bearer(token))).toMatchObject({ name: admin.login });
  });

  it.each(['', '<?php\nclass JConfig {\n\tpublic $secret = '])(
    'that is being written (%j) is an outage, reported without a value',
    async (text) => {
      const { who } = await open();
      writeFileSync(join(site.root, 'configuration.php'), text);
      const failed = await who(bearer(admin.token)).catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: 'SITE_AWAY' });
      rmSync(join(site.root, 'configuration.php'));
      await expect(who(bearer(admin.token))).rejects.toMatchObject({ code: 'SITE_AWAY' });
    },
  );

  it('keeps its secret out of the configuration', () => {
    const config = testConfig({ LICENSING_JOOMLA_ROOT: site.root });
    expect(JSON.stringify(config)).not.toContain(site.secret);
  });
});
