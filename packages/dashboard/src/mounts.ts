/** Mounts of the view: Node, Express and NestJS, Fastify, Hono. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Dashboard } from './dashboard.js';

/** A request of Express also has the URL before its mount has removed the path. */
type Incoming = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };

/** For `http.createServer`, and for `app.use(path, …)` of Express and of NestJS on Express. */
export function nodeHandler(
  view: Dashboard,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    void handle(view, request, response).catch(() => response.destroy());
  };
}

async function handle(view: Dashboard, incoming: Incoming, out: ServerResponse): Promise<void> {
  const { url = '/', socket } = incoming;
  const { originalUrl = url } = incoming;
  const [path = ''] = originalUrl.split('?', 1);
  const request = toRequest(incoming, url);
  let response = await view.fetch(request, { address: socket.remoteAddress });
  // the files of the page are relative to it, so it needs a slash at the end
  if (originalUrl !== url && new URL(request.url).pathname === '/' && !path.endsWith('/')) {
    const location = `./${path.slice(path.lastIndexOf('/') + 1)}/${new URL(request.url).search}`;
    if (response.status < 400)
      response = new Response(null, { status: 308, headers: { location } });
  }
  await send(response, out);
}

function toRequest(incoming: Incoming, url: string): Request {
  const { method = 'GET', headers } = incoming;
  const hasBody = method !== 'GET' && method !== 'HEAD';
  // HTTP/2 has the host and the path in fields of its own
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  const entries = own.flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const host = headers.host ?? (headers[':authority'] as string | undefined) ?? 'localhost';
  // a path such as `//other` must not become a host
  const target = new URL(`http://${host}/`);
  const [path = '/'] = url.split('?', 1);
  target.pathname = path;
  target.search = url.slice(path.length);
  const init: RequestInit & { duplex?: 'half' } = { method, headers: new Headers(entries) };
  if (hasBody) {
    // a parser of Express may have read the body
    init.body = incoming.body === undefined ? bodyOf(incoming) : JSON.stringify(incoming.body);
    init.duplex = 'half';
  }
  return new Request(target, init);
}

/**
 * The body, read when the view asks for it. Node discards a body that the view does not read, and
 * the rest of one that it stops reading: the next request on the connection comes behind it.
 */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const parts = incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array>(
    {
      pull: async (to) => {
        const { done, value } = (await parts.next()) as IteratorResult<Uint8Array>;
        if (done === true) to.close();
        else to.enqueue(value);
      },
      cancel: async () => {
        await parts.return?.();
        incoming.resume();
      },
    },
    { highWaterMark: 0 },
  );
}

async function send(response: Response, out: ServerResponse): Promise<void> {
  out.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    out.end();
    return;
  }
  out.flushHeaders();
  // the page may close the connection at any time
  await pipeline(Readable.fromWeb(response.body), out).catch(() => undefined);
}

/** The parts of a Fastify instance that are used. */
interface FastifyLike {
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage; readonly body?: unknown },
      reply: { hijack(): unknown; readonly raw: ServerResponse },
    ) => unknown,
  ): unknown;
}

/** For `fastify.register(fastifyPlugin(view), { prefix })`; the view gets `basePath: prefix`. */
export function fastifyPlugin(view: Dashboard): (fastify: FastifyLike) => Promise<void> {
  return async (fastify) => {
    for (const path of ['/', '/*']) {
      fastify.all(path, ({ raw, body }, reply) => {
        reply.hijack();
        // Fastify has read the body
        const incoming = body === undefined || body === null ? raw : Object.assign(raw, { body });
        nodeHandler(view)(incoming, reply.raw);
      });
    }
  };
}

/** The parts of a context of Hono on Node that are used. */
interface HonoLike {
  readonly req: { readonly raw: Request };
  readonly env: unknown;
}

/** For `app.all('/locks/*', honoHandler(view))`; the view gets `basePath: '/locks'`. */
export function honoHandler(view: Dashboard): (context: HonoLike) => Promise<Response> {
  return ({ req, env }) => {
    // @hono/node-server gives the request of Node
    const { incoming } = (env ?? {}) as { incoming?: IncomingMessage };
    return view.fetch(req.raw, { address: incoming?.socket.remoteAddress });
  };
}
