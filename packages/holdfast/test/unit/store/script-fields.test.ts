/** The declared order of packed fields, and the words of the scripts that use it. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { declarations, expandFields } from '../../../../../tools/lua-fields.mjs';
import { expand, scriptPaths } from '../../../../../tools/lua.mjs';

const folder = fileURLToPath(new URL('../../../src/store/redis/scripts', import.meta.url));
const declared = declarations(`-- two values
--- @fields lease true expires kept | holder last [ttl since]
--- @fields place first last
`);
const expanded = (text: string): string => expandFields(text, declared, 'a.lua');

describe('the words PACK and UNPACK become', () => {
  it.each([
    [
      'values in the declared order',
      "PACK.lease({ last = math.max(a, b), holder = 'a, b', expires = 0, kept = k })",
      "cmsgpack.pack(true, 0, k, 'a, b', math.max(a, b))",
    ],
    [
      'values with the optional ones',
      'PACK.lease({ expires = 1, kept = 2, holder = 3, last = 4, ttl = 5 })',
      'cmsgpack.pack(true, 1, 2, 3, 4, 5)',
    ],
    [
      'the fields of a table',
      'f(PACK.place(c), PACK.lease(h, { kept = forget }))',
      'f(cmsgpack.pack(c.first, c.last), cmsgpack.pack(true, h.expires, forget, h.holder, h.last))',
    ],
    [
      'the targets at the places of their fields',
      "local expires, last = UNPACK.lease(seen, 'expires last')",
      'local _, expires, _, _, last = cmsgpack.unpack(seen)',
    ],
    [
      'targets that exist',
      "if a then\nh.a,\n  b = UNPACK.place(seen, 'first last')",
      'if a then\nh.a, b = cmsgpack.unpack(seen)',
    ],
    ['all fields of a table', 'UNPACK.place(x, c)', 'c.first, c.last = cmsgpack.unpack(x)'],
    [
      'the fields before the bar',
      "local rest, kept = UNPACK_HEAD.lease(seen, 'kept')",
      'local rest, _, _, kept = cmsgpack.unpack_limit(seen, 3)',
    ],
    [
      'the fields after the bar',
      "local last = UNPACK_REST.lease(seen, rest, 'last')",
      'local _, _, last = cmsgpack.unpack_limit(seen, 2, rest)',
    ],
    [
      'the values before the bar',
      'PACK_HEAD.lease({ expires = till, kept = 1 })',
      'cmsgpack.pack(true, till, 1)',
    ],
    ['a place', "list[PLACE.place('last')]", 'list[2]'],
  ])('%s', (_, source, wanted) => {
    expect(expanded(source)).toBe(wanted);
  });

  it.each([
    ['an unknown value', 'PACK.other({})', 'a.lua: unknown PACK.other({})'],
    ['a bracket that stays open', 'PACK.place({', 'a.lua: unknown'],
    ['an unknown field', 'PACK.place({ first = 1, lost = 2 })', 'no field lost'],
    ['a field without a value', 'PACK.place({ first = 1 })', 'no last'],
    ['a field with two values', 'PACK.place({ first = 1, first = 2 })', 'first twice'],
    ['names in another order', "local a, b = UNPACK.place(x, 'last first')", 'declared order'],
    ['more targets than names', "local a, b = UNPACK.place(x, 'first')", '2 targets'],
    ['no names', 'local a = UNPACK.place(x)', 'names no fields'],
    ['no targets', "f(UNPACK.place(x, 'first'))", 'is not assigned'],
  ])('an error for %s', (_, source, message) => {
    expect(() => expanded(source)).toThrow(message);
  });
});

it('no script that is sent has these words', () => {
  for (const path of scriptPaths(folder)) expect(expand(path)).not.toMatch(/\bPACK|PLACE\./);
});

it('each short path says what it earns', () => {
  const files = readdirSync(`${folder}/short`).filter((file) => file !== 'plain.lua');
  const silent = files.filter((file) => {
    const text = readFileSync(`${folder}/short/${file}`, 'utf8');
    return !/^-- Earns \d+ % /m.test(text);
  });
  expect(silent).toEqual([]);
});
