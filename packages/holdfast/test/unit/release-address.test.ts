/** A package that may be published names the public address of the project; others are private. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { addressOf, withAddress } from '../../../../tools/address.mjs';

const tool = fileURLToPath(new URL('../../../../tools/pack.mjs', import.meta.url));
const PUBLIC = 'https://git.example.org/locks/holdfast';

describe('the manifest of a release', () => {
  it.each([PUBLIC, `${PUBLIC}/`, `${PUBLIC}.git`])('has the address of %s', (given) => {
    const { repository, homepage, bugs } = addressOf(given, undefined);
    expect(repository).toEqual({ type: 'git', url: `git+${PUBLIC}.git` });
    expect(homepage).toBe(`${PUBLIC}#readme`);
    expect(bugs).toEqual({ url: `${PUBLIC}/issues` });
    expect(addressOf(undefined, given)).toEqual({ repository, homepage, bugs });
  });

  it('prefers the option to the git remote', () => {
    expect(addressOf(PUBLIC, 'https://git.example.org/fork').homepage).toBe(`${PUBLIC}#readme`);
  });

  it('is refused without a public address', () => {
    expect(() => addressOf(undefined, undefined)).toThrow(/no git remote "origin".*--repository/);
    for (const bad of [
      '',
      '/srv/git/holdfast.git',
      'git@git.example.org:locks/holdfast.git',
      'http://git.example.org/locks/holdfast',
      'https://git.example.org',
      'https://git.example.org/locks?x=1',
      'https://localhost/holdfast',
      'https://127.0.0.1/holdfast',
      'https://[::1]/holdfast',
      'https://git.example.internal/holdfast',
      'https://git.example.org:8443/holdfast',
    ]) {
      expect(() => addressOf(bad, undefined), bad).toThrow(/--repository/);
      expect(() => addressOf(undefined, bad), bad).toThrow(/the git remote "origin"/);
    }
    const secret = 'https://user:secret@git.example.org/locks/holdfast';
    expect(() => addressOf(undefined, secret)).toThrow(/^(?!.*secret).*user or a password/);
  });
});

it('a package without an address is private', () => {
  expect(withAddress({ name: 'holdfast' }, undefined)).toEqual({ name: 'holdfast', private: true });
  const released = withAddress({ name: 'holdfast' }, addressOf(PUBLIC, undefined));
  expect(released).not.toHaveProperty('private');
  expect(released).toHaveProperty('bugs.url', `${PUBLIC}/issues`);
});

it('the tool refuses a release before it builds anything', () => {
  const args = [tool, '--release', '--repository', 'http://git.example.org/locks/holdfast'];
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain('No release: --repository http://git.example.org/locks/holdfast is not');
});
