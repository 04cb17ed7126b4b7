/** The time line of a lock since the page was opened: its holders, and how many calls waited. */
const NAMESPACE = 'http://www.w3.org/2000/svg';
const WIDTH = 600;
const HEIGHT = 90;
const BAR = { top: 12, height: 22 };
const QUEUE = { top: 44, height: 30 };

/** @param history the states of one lock, the oldest first */
export function timeline(history, now) {
  const svg = make('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' });
  const start = history[0]?.at ?? now;
  const span = Math.max(1000, now - start);
  const x = (at) => ((at - start) / span) * WIDTH;
  const most = Math.max(1, ...history.map(({ waiters }) => waiters));
  const points = [];
  let holds = 0;
  history.forEach((one, index) => {
    const from = x(one.at);
    const to = x(history[index + 1]?.at ?? now);
    const y = QUEUE.top + QUEUE.height * (1 - one.waiters / most);
    points.push(`${from.toFixed(1)},${y.toFixed(1)}`, `${to.toFixed(1)},${y.toFixed(1)}`);
    if (one.holders === 0) return;
    holds += 1;
    const width = Math.max(1, to - from - 1).toFixed(1);
    const bar = make('rect', {
      ...{ class: 'held', x: from.toFixed(1), y: BAR.top, width, height: BAR.height, rx: 2 },
    });
    bar.append(titled(`${one.holder}, fence ${one.fence}`));
    svg.append(bar);
  });
  svg.append(make('polyline', { class: 'queue', points: points.join(' ') }));
  svg.append(label(0, HEIGHT - 4, 'start', new Date(start).toLocaleTimeString()));
  svg.append(label(WIDTH, HEIGHT - 4, 'end', 'now'));
  svg.append(label(0, QUEUE.top - 2, 'start', `waiting, at most ${most}`));
  svg.prepend(
    titled(`${holds} changes of the holder since ${new Date(start).toLocaleTimeString()}`),
  );
  return svg;
}

function make(name, attributes) {
  const node = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function titled(text) {
  const node = make('title', {});
  node.textContent = text;
  return node;
}

function label(x, y, anchor, text) {
  const node = make('text', { x, y, 'text-anchor': anchor });
  node.textContent = text;
  return node;
}
