/** Waits for a lock until the test kills this process. */
import { Holdfast } from 'holdfast';
import { postgres } from 'holdfast-postgres';
import pg from 'pg';

const pool = new pg.Pool(JSON.parse(process.argv[2] ?? '{}'));
const holdfast = new Holdfast(postgres(pool), { claimWindow: 60_000, retention: 180_000 });
const waiting = holdfast.mutex('killed').acquire({ ttl: 120_000 });
const look = setInterval(() => {
  if (!holdfast.stats().pushes) return;
  clearInterval(look);
  process.send?.({ type: 'waits' });
}, 5);
await waiting;
