// starts a server and a worker, sends their process ids and waits to be killed; uses built code
import { spawnWorker, startServer } from '../../dist/index.js';

const server = await startServer({ server: 'redis' });
const worker = spawnWorker(new URL('./echo.mjs', import.meta.url));
await worker.next('ready');
process.send?.({ type: 'started', server: server.pid, worker: worker.pid });
