/** The doctor tries each right: it names each one that is missing, and leaves nothing behind. */
import { readFileSync } from 'node:fs';
import { paced, type Server, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DoctorReport } from '../../src/index.js';
import { triedCommands } from '../../src/store/redis/doctor/rights.js';
import { rightsOf } from '../support/documented-rights.js';
import { openClient } from '../support/backends.js';
import { codes, doctor, DURABLE, made, only, TERMS } from './doctor.support.js';

const GUIDE = readFileSync(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');

describe('rights', () => {
  const single = rightsOf(GUIDE).single;
  const EVERY = single.filter((right) => right.startsWith('+')).map((right) => right.slice(1));
  /** Rights of the login, of the wake connection and of closing. */
  const OTHERS = ['info', 'ping', 'select', 'client|setname', 'unsubscribe'];
  let server: Server;

  beforeAll(async () => {
    server = await startServer({
      server: 'redis',
      args: DURABLE,
      users: ['default on nopass ~* &* +@all'],
    });
  });
  afterAll(() => server.stop());

  /** The report for a user with other rights than the documented ones. */
  async function as(...changes: string[]): Promise<DoctorReport> {
    const rules = [...single, '+latency|latest', '+slowlog|get', '+config|get', ...changes];
    await server.command('ACL', 'SETUSER', 'locks', 'reset', 'on', '>pass', ...rules);
    const report = await doctor(server, {}, { username: 'locks', password: 'pass' });
    await made.close();
    expect(await server.command('DBSIZE')).toBe(0);
    return report;
  }

  it('the documented ones, and those to look, are enough', async () => {
    expect(codes(await as())).toEqual([]);
  });

  it('every documented command is tried', () => {
    const needed = EVERY.filter((right) => !OTHERS.includes(right)).sort();
    expect(triedCommands(false, false)).toEqual(needed);
    const added = /On \[a quorum\][^`]*`([^`]+)`/u.exec(GUIDE)?.[1] ?? '';
    const quorum = [...EVERY, ...added.split(' ').map((right) => right.slice(1))];
    expect(triedCommands(true, false).filter((right) => !quorum.includes(right))).toEqual([]);
    const cluster = [...EVERY, ...rightsOf(GUIDE).cluster.map((right) => right.slice(1))];
    expect(triedCommands(false, true).filter((right) => !cluster.includes(right))).toEqual([]);
    expect(triedCommands(false, true)).toContain('spublish');
  });

  it('of a member of a quorum: each missing one is named', async () => {
    const added = ['+pexpire', '+pttl'];
    const report = async (...changes: string[]): Promise<DoctorReport> => {
      const rules = ['reset', 'on', '>pass', ...single, ...added, ...changes];
      await server.command('ACL', 'SETUSER', 'voter', ...rules);
      const login = { host: server.host, port: server.port, username: 'voter', password: 'pass' };
      const members = [1, 2, 3].map(() => openClient('ioredis-6', login));
      const found = (await made.across(Promise.all(members), TERMS)).doctor();
      const { findings, servers } = await found;
      await made.close();
      return { findings: findings.filter(({ code }) => code === 'missing-right'), servers };
    };
    expect((await report()).findings).toEqual([]);
    for (const right of triedCommands(true, false).filter((one) => one !== 'scan')) {
      const { findings } = await report(`-${right}`);
      expect([right, findings.length]).toEqual([right, 3]);
      for (const { advice } of findings) expect(advice).toContain(`+${right};`);
    }
  });

  it('each missing right is named, and nothing is left', { timeout: paced(60_000) }, async () => {
    for (const right of EVERY.filter((one) => !OTHERS.includes(one))) {
      const { findings } = await as(`-${right}`);
      const missing = findings.filter(({ code }) => code === 'missing-right');
      expect([right, missing.length]).toEqual([right, 1]);
      expect(missing[0]?.advice).toContain(`+${right};`);
    }
  });

  it('without rights to remove keys, nothing is written', async () => {
    const { findings } = await as('-del', '-hdel', '-zrem');
    const rights = findings.filter(({ code }) => code === 'missing-right');
    expect(rights.map(({ advice }) => /\+\w+/.exec(advice)?.[0])).toEqual([
      '+del',
      '+hdel',
      '+zrem',
    ]);
  });

  it('on keys and channels', async () => {
    const keys = await only(as('resetkeys', '~other:*'));
    expect(keys).toMatchObject({ code: 'missing-right', severity: 'danger' });
    expect(keys.advice).toContain('~holdfast:*');
    const { findings } = await as('resetchannels', '&other:*');
    expect(findings.length).toBeGreaterThan(0);
    for (const { advice, code } of findings) {
      expect([code, advice]).toEqual([
        'missing-right',
        expect.stringContaining('&holdfast:wake:*'),
      ]);
    }
  });

  it('to look: could not look names the right', async () => {
    for (const right of ['config|get', 'info', 'slowlog|get', 'latency|latest']) {
      const { findings } = await as(`-${right}`);
      expect(findings).toMatchObject([{ code: 'could-not-look', severity: 'notice' }]);
      expect(findings[0]?.advice).toContain(`+${right}`);
    }
  });
});
