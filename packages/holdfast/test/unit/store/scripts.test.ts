/** The Lua scripts and their typed headers, and the tool that assembles the scripts. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modulesOf, mutableModules } from '../../../../../tools/generate-lua.mjs';
import { expand, loadScript, pieces, scriptPaths, stripLua } from '../../../../../tools/lua.mjs';
import { shorten } from '../../../../../tools/lua-shorten.mjs';
import { scripts } from '../../../src/store/redis/generated/scripts.js';
import { headerProblems, parseHeader } from '../../../../../tools/lua-header.mjs';

const folder = fileURLToPath(new URL('../../../src/store/redis/scripts', import.meta.url));

describe('every script', () => {
  it.each(scriptPaths(folder))('%# matches its header', (path) => {
    // the proof is no argument of the script
    const script = loadScript(path, { replace: { 'lib/proof.lua': '--- @script\n' } });
    expect([basename(path), ...headerProblems(script)]).toEqual([basename(path)]);
  });

  it('is in the generated modules', () => {
    for (const [file, text] of Object.entries(modulesOf(scriptPaths(folder)))) {
      expect(readFileSync(join(folder, '../generated', file), 'utf8')).toBe(text);
    }
  });

  it('is assembled from its parts, with short names', async () => {
    const paths = scriptPaths(folder);
    const short = shorten(paths.map((path) => pieces(path)));
    for (const [at, path] of paths.entries()) {
      const source = short[at]?.map(({ text }) => text).join('');
      const script = scripts[basename(path, '.lua') as keyof typeof scripts];
      expect(script.text).toBe(source);
      expect(script.sha).toBe(createHash('sha1').update(`${source}`).digest('hex'));
    }
  });
});

describe('shortening', () => {
  const short = (...parts: string[]): string[] => {
    const [script] = shorten([parts.map((text) => ({ file: 'a.lua', text }))]);
    return script?.map(({ text }) => text) ?? [];
  };

  it.each([
    [
      'renames locals, parameters and loops',
      'for key, value in pairs(list) do f(key, value) end',
      'for a,b in pairs(list)do f(a,b)end',
    ],
    [
      'keeps fields and keys of tables',
      'local name = { name = 1 } return name.name, name:name()',
      'local a={name=1}return a.name,a:name()',
    ],
    [
      'keeps strings',
      `local name = 'name - name' .. "name  -- name"`,
      `local a='name - name'.."name  -- name"`,
    ],
    ['keeps lines', 'local name = 1\n\nreturn name', 'local a=1\n\nreturn a'],
    [
      'keeps words apart',
      'local name = not 1 or nil return name and 0 or -name',
      'local a=not 1 or nil return a and 0 or-a',
    ],
    [
      'keeps a concatenation after a number',
      "local name = 1 .. 'a' return name",
      "local a=1 ..'a'return a",
    ],
    ['makes no comment', 'local name = 1 - -1 return name', 'local a=1- -1 return a'],
  ])('%s', (_, source, expected) => {
    expect(short(source)).toEqual([expected]);
  });

  it('gives a name the same short name in each part', () => {
    expect(short('local first, second = 1, 2\n', 'return second - first\n')).toEqual([
      'local a,b=1,2\n',
      'return b-a\n',
    ]);
  });

  it('does not use the name of a global', () => {
    expect(short('local name = a\nreturn name + b')).toEqual(['local c=a\nreturn c+b']);
  });
});

describe('the check of a header against its script', () => {
  const problems = (source: string, keys: string[], args: string[]): string[] =>
    headerProblems({ source: stripLua(source, 'sample'), keys, args });

  it('accepts one local for each name, and a variadic rest', () => {
    const source = `
      local resource, queue = KEYS[1], KEYS[2]
      local ttl = tonumber(ARGV[1]) * 1000
      for i = 2, #ARGV do redis.call('HSET', resource, ARGV[i], ttl, queue) end`;
    expect(problems(source, ['resource', 'queue'], ['ttl', 'ids...'])).toEqual([]);
    const unpacked = 'return redis.call(unpack(ARGV, 1))';
    expect(problems(unpacked, [], ['ids...'])).toEqual([]);
  });

  it.each([
    ['a name that is not used', 'return 1', [], ['id']],
    ['a local that is not used', 'local id = ARGV[1]', [], ['id']],
    ['another name', 'local x = ARGV[1]\nreturn x', [], ['id']],
    ['another index', 'local a, b = ARGV[2], ARGV[1]\nreturn a + b', [], ['a', 'b']],
    ['an argument beyond', 'local id = ARGV[1]\nreturn id .. ARGV[2]', [], ['id']],
    ['a key beyond', 'return KEYS[1]', [], []],
    ['a rest without a name', 'return #ARGV', [], []],
    ['a rest that is not read', 'return 1', [], ['ids...']],
    ['a rest from another index', 'for i = 1, #ARGV do end', [], ['id', 'ids...']],
  ])('notices %s', (_, source, keys, args) => {
    expect(problems(source, keys, args)).not.toEqual([]);
  });
});

describe('the parser of headers', () => {
  it('accepts remarks over several lines', () => {
    const text = `--[[ take: takes it
  KEYS
    resource   hash   main record
                      of the resource
  ARGV
    id         string what
    ids...     string more
  REPLY
    'ok'
]]`;
    const header = { name: 'take', keys: ['resource'], args: ['id', 'ids...'] };
    expect(parseHeader(text, 'sample')).toEqual(header);
  });

  it.each([
    ['return 1', /does not begin with/],
    ['--[[ a: b\n  KEYS\n    k hash x\n]]', /no REPLY/],
    ['--[[ a: b\n  KEYS\n    k...  hash\n    j hash\n  REPLY\n]]', /must be the last/],
    ['--[[ a: b\n  ARGV\n    a... string\n    b string\n  REPLY\n]]', /must be the last/],
    ['--[[ a: b\n  KEYS\n    a hash\n  ARGV\n    a string\n  REPLY\n]]', /named twice/],
    ['--[[ a: b\n  ARGV\n    a-b string\n  REPLY\n]]', /expected "name type remark"/],
  ])('refuses %j', (text, message) => {
    expect(() => parseHeader(text, 'sample')).toThrow(message);
  });
});

describe('a script is assembled', () => {
  let root = '';
  const add = (name: string, text: string): string => {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-lua-'));
    add('lib/proof.lua', '--- @script\n');
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('from included files, each once, without comments', () => {
    add('lib/a.lua', '-- about a\nlocal a = 1\n');
    add('lib/b.lua', '--- @include "lib/a.lua"\nlocal b = a -- kept\n');
    const path = add(
      'main.lua',
      '--[[ main: x\n]]\n--- @include "lib/a.lua"\n--- @include "lib/b.lua"\n\n  f("--")\n',
    );
    expect(expand(path)).toBe('local a = 1\nlocal b = a -- kept\nf("--")\n');
  });

  it('between the parts of lib/proof.lua, behind the flags', () => {
    const proof = '-- about it\nlocal function answer()\n--- @script\nend\nreturn answer()\n';
    add('lib/proof.lua', proof);
    const head = '--[[ main: x\n  FLAGS\n    no-writes\n  REPLY\n    1\n]]\n';
    expect(expand(add('main.lua', `${head}return 1\n`))).toBe(
      '#!lua flags=no-writes\nlocal function answer()\nreturn 1\nend\nreturn answer()\n',
    );
    add('lib/proof.lua', 'return 1\n');
    expect(() => expand(join(root, 'main.lua'))).toThrow('no line --- @script');
  });

  it('with a replaced file, or a replaced script', () => {
    add('lib/a.lua', 'local a = 1\n');
    const path = add('main.lua', '--- @include "lib/a.lua"\nreturn a\n');
    const replaced = expand(path, { replace: { 'lib/a.lua': 'local a = 2' } });
    expect(replaced).toBe('local a = 2\nreturn a\n');
    expect(expand(path, { replace: { 'main.lua': 'return 3' } })).toBe('return 3\n');
    expect(() => expand(path, { replace: { 'lib/x.lua': '' } })).toThrow(/nothing to replace/);
  });

  it('with the flags of its header in the first line', () => {
    const head = '--[[ main: x\n  FLAGS\n    allow-oom no-writes\n  REPLY\n    1\n]]\n';
    expect(expand(add('main.lua', `${head}return 1\n`))).toBe(
      '#!lua flags=allow-oom,no-writes\nreturn 1\n',
    );
  });

  it('unless the files include each other, or are missing', () => {
    add('lib/a.lua', '--- @include "lib/b.lua"\n');
    add('lib/b.lua', '--- @include "lib/a.lua"\n');
    const path = add('main.lua', '--- @include "lib/a.lua"\n');
    const chain = 'main.lua -> lib/a.lua -> lib/b.lua -> lib/a.lua';
    expect(() => expand(path)).toThrow(`include cycle: ${chain}`);
    const lost = add('lost.lua', '--- @include "lib/c.lua"\n');
    expect(() => expand(lost)).toThrow('cannot read lost.lua -> lib/c.lua');
    const misspelt = add('misspelt.lua', '--- @include lib/c.lua\n');
    expect(() => expand(misspelt)).toThrow(/not an include line/);
  });

  it('unless a string might span lines', () => {
    expect(() => stripLua('local a = [[\n-- text\n]]', 'x')).toThrow(/long bracket/);
    expect(() => stripLua('local a = "x\\\n-- y"', 'x')).toThrow(/over two lines/);
    expect(() => stripLua('--[[ a\n]] return 1', 'x')).toThrow(/code after/);
    expect(() => stripLua('--[[ a', 'x')).toThrow(/does not end/);
    expect(() => stripLua('--[==[ a ]==]', 'x')).toThrow(/write block comments/);
  });

  it('with the hash that the server computes', () => {
    const path = add('main.lua', '--[[ main: x\n  REPLY\n    1\n]]\nreturn 1');
    // `SCRIPT LOAD "return 1\n"` on a server.
    expect(loadScript(path).sha).toBe('48df9b519ca145c867b895f740b37bd891e887af');
  });

  it('so that the generated module contains the same text', () => {
    const source = 'return "\\r\\n`${x}"\n';
    add('main.lua', `--[[ main: x\n  REPLY\n    1\n]]\n${source}`);
    const text = mutableModules(root)['script-texts.js'];
    const literal = /const main1 = (`.*?`);\n/s.exec(text)?.[1] ?? '';
    // oxlint-disable-next-line typescript/no-implied-eval -- the test evaluates the literal
    expect(new Function(`return ${literal}`)()).toBe(source);
  });
});
