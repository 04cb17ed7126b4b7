/** One worker process: opens its library, and does what the bench asks for. */
import { argv } from 'node:process';
import type { Order, OrderName, Orders } from '../orders.js';
import { crowd, drop, echo, hold, rest, take } from './crowd.js';
import type { Given, Library } from './library.js';
import { openChain, openCheat, openHang } from './local.js';
import { loops } from './loops.js';
import { watchTraffic } from './traffic.js';

const given = JSON.parse(argv[2] ?? '') as Given;
const send = (message: object): void => void process.send?.(message);

watchTraffic();
const library = await open();

async function open(): Promise<Library> {
  switch (given.variant.library) {
    case 'bare':
      return (await import('./bare.js')).openBare(given);
    case 'holdfast':
      return (await import('./ours.js')).openOurs(given);
    case 'promise chain':
      return openChain();
    case 'cheat':
      return openCheat();
    case 'hang':
      return openHang();
    default:
      return (await import('./peers.js')).openPeer(given);
  }
}

type Handlers = { [K in OrderName]: (order: Orders[K]['order']) => Promise<Orders[K]['result']> };

const HANDLERS: Handlers = {
  loops: (order) => loops(library, order),
  crowd: (order) => crowd(library, order),
  hold: (order) => hold(library, order),
  rest,
  drop,
  take: (order) => take(library, order),
  echo: (order) => echo(given, order),
};

interface Message {
  readonly order: Order;
  /** The type of the answer. */
  readonly id: string;
}

async function obey({ order, id }: Message): Promise<void> {
  try {
    const handler = HANDLERS[order.do] as (order: object) => Promise<object>;
    send({ type: id, result: await handler(order) });
  } catch (error) {
    send({ type: id, reason: String(error) });
  }
}

process.on('message', (message: Message) => void obey(message));
send({ type: 'ready' });
