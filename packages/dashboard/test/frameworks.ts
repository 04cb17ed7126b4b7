/** The view in the frameworks themselves, mounted below `/ops/locks` as its page tells. */
import { createServer, type RequestListener, type Server } from 'node:http';
import 'reflect-metadata';
import { createAdaptorServer } from '@hono/node-server';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { type Dashboard, fastifyPlugin, honoHandler, nodeHandler } from '../src/index.js';

export const PREFIX = '/ops/locks';

/** Mounts a view. Resolves to a server that does not listen yet. */
type Mount = (view: Dashboard) => Promise<Server>;

class App {}
Module({})(App);

async function nest(app: INestApplication, view?: Dashboard): Promise<Server> {
  if (view !== undefined) app.use(PREFIX, nodeHandler(view));
  await app.init();
  return app.getHttpServer() as Server;
}

const QUIET = { logger: false } as const;

/** Whether the view has to be told its path, and the mount. */
export const FRAMEWORKS: Readonly<Record<string, readonly [tellsPath: boolean, mount: Mount]>> = {
  Express: [
    false,
    async (view) => {
      const app = express();
      app.use(PREFIX, nodeHandler(view));
      return createServer(app as RequestListener);
    },
  ],
  'Express with a parser of bodies, behind a proxy': [
    false,
    async (view) => {
      const app = express();
      app.set('trust proxy', true);
      app.use(express.json());
      app.use(PREFIX, nodeHandler(view));
      return createServer(app as RequestListener);
    },
  ],
  Fastify: [
    true,
    async (view) => {
      const app = fastify({ trustProxy: true });
      await app.register(fastifyPlugin(view), { prefix: PREFIX });
      await app.ready();
      return app.server;
    },
  ],
  Hono: [
    true,
    async (view) => {
      const app = new Hono().all(`${PREFIX}/*`, honoHandler(view));
      return createAdaptorServer({ fetch: app.fetch }) as Server;
    },
  ],
  'NestJS on Express': [
    false,
    async (view) => nest(await NestFactory.create(App, new ExpressAdapter(), QUIET), view),
  ],
  'NestJS on Fastify': [
    true,
    async (view) => {
      const adapter = new FastifyAdapter();
      const app = await NestFactory.create<NestFastifyApplication>(App, adapter, QUIET);
      await adapter.getInstance().register(fastifyPlugin(view), { prefix: PREFIX });
      const server = await nest(app);
      await adapter.getInstance().ready();
      return server;
    },
  ],
};
