/** The hash slot of a key, as a cluster computes it: CRC16 (XMODEM) modulo 16,384. */

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

const TABLE: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
  return crc;
});

/** The slot of a key. Only the hash tag counts, if there is one. */
export function slotOf(name: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tagOf(name))) {
    crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number);
  }
  return crc % SLOTS;
}

/** The text between the first opening brace and the next closing one, unless it is empty. */
function tagOf(name: string): string {
  const start = name.indexOf('{') + 1;
  const end = name.indexOf('}', start);
  return start > 0 && end > start ? name.slice(start, end) : name;
}
