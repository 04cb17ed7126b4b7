/**
 * A live view of the locks, for the browser.
 *
 * ```ts
 * import { createServer } from 'node:http';
 * import { dashboard, nodeHandler } from 'holdfast-dashboard';
 *
 * const authorize = (request: Request) => (isAdmin(request) ? 'write' : false);
 * const view = dashboard(holdfast, { authorize });
 * createServer(nodeHandler(view)).listen(8080);
 * ```
 *
 * @packageDocumentation
 */
export type { Access, Authorize, Peer } from './access.js';
export { type Dashboard, dashboard, type DashboardOptions } from './dashboard.js';
export { fastifyPlugin, honoHandler, nodeHandler } from './mounts.js';
export { serve, type Served, type ServeOptions } from './serve.js';
export type { Row, RowState, Watched } from './rows.js';
