/** Looks for locks with another prefix: they exclude none of ours. */
import { quote } from '../../../base/text.js';
import type { Probe } from './probe.js';

const PAGE = 500;
const PAGES_MAX = 40;
/** Keys that are read to recognize records of locks. */
const READS_MAX = 50;

/** Reads the field of each record; with undeclared keys, at this node only. */
const SOURCE = `
local found = {}
for at, name in ipairs(ARGV) do
  local reply = redis.pcall('HEXISTS', name, 's')
  if reply == 1 then found[#found + 1] = at end
end
return found
`;

export async function judgePrefixes(probe: Probe): Promise<void> {
  // a quorum's members serve nothing else
  if (probe.deployment.quorum !== undefined) return;
  try {
    await search(probe);
  } catch (error) {
    // a missing right was reported before
    probe.refusal(error);
  }
}

async function search(probe: Probe): Promise<void> {
  const own = probe.port.keyPrefix + probe.deployment.prefix;
  const candidates = new Map<string, string>();
  let cursor = '0';
  for (let page = 0; page < PAGES_MAX; page++) {
    const words = ['SCAN', cursor, 'MATCH', '*{*}', 'COUNT', `${PAGE}`];
    const [next, names] = (await probe.answer(probe.link.command(words))) as [unknown, unknown[]];
    for (const name of names.map(String)) {
      const prefix = name.slice(0, name.indexOf('{'));
      if (prefix !== own && candidates.size < READS_MAX) candidates.set(prefix, name);
    }
    cursor = String(next);
    if (cursor === '0') break;
  }
  if (candidates.size === 0) return;
  const names = [...candidates.values()];
  const words = ['EVAL', SOURCE, '0', ...names];
  const found = ((await probe.answer(probe.link.command(words))) as unknown[]).map(Number);
  if (found.length === 0) return;
  const others = found.map((at) => quote([...candidates.keys()][at - 1] as string));
  probe.add({
    code: 'other-prefix',
    severity: 'notice',
    message: 'other programs lock with another prefix on this server; they exclude none of yours',
    evidence: `this prefix is ${quote(own)}, others are ${others.join(', ')}`,
    advice: 'give programs that share locks the same prefix; otherwise ignore this',
  });
}
