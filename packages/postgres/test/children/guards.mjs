/** Writes in a guarded transaction. The test stops this process before it commits. */
import { Holdfast } from 'holdfast';
import { guard, postgres } from 'holdfast-postgres';
import { paced } from 'holdfast-testkit';
import pg from 'pg';

const tell = (/** @type {string} */ type) => process.send?.({ type });
const pool = new pg.Pool(JSON.parse(process.argv[2] ?? '{}'));
const holdfast = new Holdfast(postgres(pool), { ttl: paced(300) });
const lease = await holdfast.mutex('stopped').acquire();
const tx = await pool.connect();
await tx.query('CREATE TABLE IF NOT EXISTS written (n int)');
await tx.query('BEGIN');
await guard(lease, tx);
await tx.query('INSERT INTO written VALUES (1)');
tell('guarded');
// the message is answered when the process goes on
await new Promise((resolve) => process.once('message', resolve));
await tx.query('COMMIT');
tell('committed');
tx.release();
await holdfast.close({ grace: 0 });
await pool.end();
process.disconnect?.();
