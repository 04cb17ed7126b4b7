/** The hash slot of a key in a cluster: CRC16 (XMODEM) modulo 16,384. */

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

const TABLE: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

/** The text between the first opening brace and the next closing one counts, unless it is empty. */
export function slotOf(name: string): number {
  const start = name.indexOf('{') + 1;
  const end = name.indexOf('}', start);
  const tagged = start > 0 && end > start;
  return slotOfPart(name, tagged ? start : 0, tagged ? end : name.length);
}

function slotOfPart(name: string, from: number, to: number): number {
  let crc = 0;
  for (let at = from; at < to; at++) {
    const code = name.charCodeAt(at);
    if (code > 127) return Buffer.from(name.slice(from, to)).reduce(next, 0) % SLOTS;
    crc = next(crc, code);
  }
  return crc % SLOTS;
}

const next = (crc: number, byte: number): number =>
  ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number);
