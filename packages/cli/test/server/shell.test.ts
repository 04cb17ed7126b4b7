/** The program in a shell: help, version, completion. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cli, MAIN } from '../cli.js';

const COMMANDS = 'run once lead ls inspect watch break wait doctor dashboard plan completion'.split(
  ' ',
);

describe('help', () => {
  it('names all commands', async () => {
    const { code, stdout } = await cli(['--help']);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  });

  it.each(COMMANDS)('of %s has examples', async (name) => {
    const { code, stdout } = await cli([name, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples.*:\n[^]*holdfast ${name}`));
    expect(stdout).not.toContain('undefined');
  });

  it('is shown without a command, with the exit code of wrong use', async () => {
    const { code, stderr } = await cli([]);
    expect(code).toBe(64);
    expect(stderr).toContain('Usage: holdfast');
  });

  it('the version is that of the package', async () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text) as { version: string };
    expect(await cli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

it('an output that cannot be written is a fault of the system', () => {
  const { status, stderr } = spawnSync('sh', ['-c', `node "${MAIN}" completion bash > /dev/full`]);
  expect(status).toBe(71);
  expect(String(stderr)).toMatch(/^holdfast: standard output cannot be written: ENOSPC.*\n$/);
});

describe('completion', () => {
  const script = async (shell: string): Promise<string> =>
    (await cli(['completion', shell])).stdout;

  /** Completes the last word as bash does. */
  const complete = async (...words: string[]): Promise<string[]> => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const set = `COMP_WORDS=(holdfast ${line}); COMP_CWORD=${words.length}`;
    const program = `${await script('bash')}\n${set}\n_holdfast; echo "\${COMPREPLY[@]}"`;
    const output = execFileSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    return output.trim().split(' ').filter(Boolean);
  };

  it('in bash completes commands and options, and nothing after --', async () => {
    expect(await complete('')).toEqual(COMMANDS);
    expect(await complete('w')).toEqual(['watch', 'wait']);
    expect(await complete('run', '--k')).toEqual(['--kill-after']);
    expect(await complete('once', 'k', '--at')).toEqual(['--at-least', '--at-most']);
    expect(await complete('run', 'k', '--', '--k')).toEqual([]);
  });

  it('in zsh and fish names all commands and their options', async () => {
    for (const text of await Promise.all([script('zsh'), script('fish')])) {
      for (const name of [...COMMANDS, 'kill-after', 'at-least']) expect(text).toContain(name);
    }
  });

  it('knows three shells', async () => {
    const { code, stderr } = await cli(['completion', 'csh']);
    expect(code).toBe(64);
    expect(stderr).toContain('bash, zsh, fish');
  });
});
