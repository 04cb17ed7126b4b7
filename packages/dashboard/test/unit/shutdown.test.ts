/**
 * The order of a shutdown in web frameworks, as `docs/operations.md` tells: intake stops, then the
 * instance is closed, and the client ends last. A request that waits for a lock is answered, so the
 * framework does not wait for it.
 */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import 'reflect-metadata';
import { type INestApplication, type MiddlewareConsumer, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import fastify from 'fastify';
import { Holdfast, memory } from 'holdfast';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PATIENT } from '../views.js';

/** An application that answers `/work` under a lock, and its shutdown. */
interface Running {
  readonly server: Server;
  stop(): Promise<unknown>;
}

/** What happened, in order. */
let events: string[];
let holdfast: Holdfast;
let other: Holdfast;

beforeEach(() => {
  events = [];
  const store = memory();
  holdfast = new Holdfast(store);
  other = new Holdfast(store);
});
afterEach(() => Promise.all([holdfast, other].map((one) => one.close({ grace: 0 }))));

/** The work of a request. Resolves to its status. */
async function work(): Promise<number> {
  try {
    return await holdfast.mutex('k').run(() => 200);
  } catch {
    return 503;
  }
}

async function closeLocks(): Promise<void> {
  await holdfast.close();
  events.push('closed');
}

const endClient = (): unknown => events.push('client ended');

const create = (module: object, adapter: ExpressAdapter | FastifyAdapter) =>
  NestFactory.create(module, adapter, { logger: false });

async function nest(app: INestApplication): Promise<Running> {
  await app.listen(0, '127.0.0.1');
  return { server: app.getHttpServer() as Server, stop: () => app.close() };
}

/** The hooks that the page names; or the wrong one, for the control. */
function nestModule(closesIn: 'beforeApplicationShutdown' | 'onApplicationShutdown'): object {
  class Locks {
    configure(consumer: MiddlewareConsumer): void {
      const answer = (_: unknown, out: { statusCode: number; end(): void }): void => {
        void work().then((status) => {
          out.statusCode = status;
          out.end();
        });
      };
      consumer.apply(answer).forRoutes('work');
    }

    async beforeApplicationShutdown(): Promise<void> {
      if (closesIn === 'beforeApplicationShutdown') await closeLocks();
    }

    async onApplicationShutdown(): Promise<void> {
      if (closesIn === 'onApplicationShutdown') await closeLocks();
      endClient();
    }
  }
  Module({})(Locks);
  return Locks;
}

const APPS: Readonly<Record<string, () => Promise<Running>>> = {
  Express: async () => {
    const app = express();
    app.get('/work', (_, response) => {
      void work().then((status) => response.status(status).end());
    });
    const server = createServer(app as RequestListener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const stop = async (): Promise<void> => {
      const stopped = new Promise((resolve) => server.close(resolve));
      await closeLocks();
      await stopped;
      endClient();
    };
    return { server, stop };
  },
  Fastify: async () => {
    const app = fastify();
    app.get('/work', async (_, reply) => reply.code(await work()).send());
    app.addHook('preClose', closeLocks);
    app.addHook('onClose', async () => void endClient());
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { server: app.server, stop: () => app.close() };
  },
  'NestJS on Express': async () => {
    return nest(await create(nestModule('beforeApplicationShutdown'), new ExpressAdapter()));
  },
  'NestJS on Fastify': async () => {
    return nest(await create(nestModule('beforeApplicationShutdown'), new FastifyAdapter()));
  },
};

/** Asks for the work, which waits for a lock of another process. */
async function ask({ server }: Running): Promise<{ readonly response: Promise<Response> }> {
  const { port } = server.address() as AddressInfo;
  const response = fetch(`http://127.0.0.1:${port}/work`, { headers: { connection: 'close' } });
  await vi.waitFor(() => expect(holdfast.stats().waiting).toBe(1), PATIENT);
  return { response };
}

it.each(Object.entries(APPS))(
  '%s answers a request that waits for a lock, and ends the client last',
  async (_, start) => {
    const blocker = await other.mutex('k').acquire();
    const app = await start();
    const { response } = await ask(app);
    await app.stop();
    expect((await response).status).toBe(503);
    expect([events, blocker.held]).toEqual([['closed', 'client ended'], true]);
  },
);

it('NestJS waits for the request if `onApplicationShutdown` closes the instance', async () => {
  const blocker = await other.mutex('k').acquire();
  const app = await nest(await create(nestModule('onApplicationShutdown'), new ExpressAdapter()));
  const { response } = await ask(app);
  const stopped = app.stop();
  await vi.waitFor(() => expect(app.server.listening).toBe(false), PATIENT);
  expect([events, holdfast.stats().waiting]).toEqual([[], 1]);
  await blocker.release();
  await stopped;
  expect((await response).status).toBe(200);
});
