import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decode,
  decodeCommand,
  encodeCommand,
  FrameError,
  FrameSplitter,
  RespError,
} from '../src/index.js';

const REPLIES = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':-12\r\n',
  '$5\r\nhe\r\no\r\n',
  '$0\r\n\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '*0\r\n',
  '*2\r\n*1\r\n$1\r\na\r\n:1\r\n',
  '_\r\n',
  '#t\r\n',
  ',1.5\r\n',
  '(12345678901234567890\r\n',
  '!5\r\nERR x\r\n',
  '=5\r\ntxt:a\r\n',
  '%1\r\n+key\r\n*1\r\n:1\r\n',
  '~2\r\n:1\r\n:2\r\n',
  '>3\r\n+message\r\n+channel\r\n$4\r\n\r\n\r\n\r\n',
  '|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n',
  '*2\r\n|1\r\n+a\r\n*0\r\n:1\r\n:2\r\n',
];

function split(pieces: Buffer[], direction: 'requests' | 'replies' = 'replies'): string[] {
  const splitter = new FrameSplitter(direction);
  const frames = pieces.flatMap((piece) => splitter.push(piece)).map(String);
  expect(splitter.rest().length).toBe(0);
  return frames;
}

describe('FrameSplitter', () => {
  it('splits a stream cut in two at any position', () => {
    const stream = Buffer.from(REPLIES.join(''));
    for (let at = 0; at <= stream.length; at++) {
      expect(split([stream.subarray(0, at), stream.subarray(at)])).toEqual(REPLIES);
    }
  });

  it('splits a stream of single bytes', () => {
    const stream = Buffer.from(REPLIES.join(''));
    expect(split([...stream].map((byte) => Buffer.from([byte])))).toEqual(REPLIES);
  });

  it('splits any frames in any chunks', () => {
    const frames = fc.array(fc.constantFrom(...REPLIES), { minLength: 1 });
    const cuts = fc.array(fc.nat(400));
    fc.assert(
      fc.property(frames, cuts, (sent, where) => {
        const stream = Buffer.from(sent.join(''));
        const at = [0, ...where.map((cut) => cut % stream.length), stream.length];
        at.sort((a, b) => a - b);
        const pieces = at.slice(1).map((end, i) => stream.subarray(at[i], end));
        expect(split(pieces)).toEqual(sent);
      }),
    );
  });

  it('returns a frame as soon as it is complete', () => {
    const splitter = new FrameSplitter('replies');
    expect(splitter.push(Buffer.from('*2\r\n+a\r\n'))).toEqual([]);
    expect(splitter.push(Buffer.from('+b\r\n+c'))).toHaveLength(1);
    expect(splitter.rest().toString()).toBe('+c');
  });

  it('accepts inline commands from a client', () => {
    const stream = Buffer.from('PING\r\n*1\r\n$4\r\nQUIT\r\nset a  1\n');
    const frames = split([stream], 'requests').map((frame) => decodeCommand(Buffer.from(frame)));
    expect(frames).toEqual([['PING'], ['QUIT'], ['set', 'a', '1']]);
  });

  it.each(['HTTP/1.1 400\r\n', '*x\r\n', '$?\r\n'])('rejects %j from a server', (text) => {
    expect(() => split([Buffer.from(text)])).toThrow(FrameError);
  });

  it('splits a big value in small chunks in linear time', () => {
    const frame = encodeCommand(['SET', 'k', 'x'.repeat(8_000_000)]);
    const pieces = [];
    for (let at = 0; at < frame.length; at += 1000) pieces.push(frame.subarray(at, at + 1000));
    expect(split(pieces, 'requests')).toHaveLength(1);
  });
});

describe('decode', () => {
  it('decodes every type', () => {
    expect(REPLIES.map((reply) => decode(Buffer.from(reply)))).toEqual([
      'OK',
      new RespError('ERR no'),
      -12,
      'he\r\no',
      '',
      null,
      null,
      [],
      [['a'], 1],
      null,
      true,
      1.5,
      '12345678901234567890',
      new RespError('ERR x'),
      'a',
      new Map([['key', [1]]]),
      [1, 2],
      ['message', 'channel', '\r\n\r\n'],
      'v',
      [1, 2],
    ]);
  });

  it('decodes any encoded command', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (words) => {
        expect(decodeCommand(encodeCommand(words))).toEqual(words);
      }),
    );
  });
});
