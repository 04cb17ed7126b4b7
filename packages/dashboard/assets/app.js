/** The page: receives the events, and connects the list with the part that shows one lock. */
import { Detail } from './detail.js';
import { Tree } from './tree.js';

const find = (id) => document.getElementById(id);
const rows = new Map();
let state = '';
let filter = '';

const detail = new Detail();
const tree = new Tree(find('tree'), find('rows'), (key) => {
  history.replaceState(null, '', key === undefined ? '#' : `#${encodeURIComponent(key)}`);
  detail.show(key, rows.get(key));
});

/** Shows the rows at most once in a frame, however many events come. */
let planned = false;
function plan() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    draw();
  });
}

function draw() {
  const wanted = filter.toLowerCase();
  const counts = { held: 0, contended: 0, waiting: 0, parked: 0 };
  const shown = [];
  for (const row of rows.values()) {
    counts[row.state] += 1;
    if (state !== '' && row.state !== state) continue;
    if (wanted !== '' && !`${row.key} ${row.holder}`.toLowerCase().includes(wanted)) continue;
    shown.push(row);
  }
  for (const button of find('states').children) {
    const count = button.dataset.state === '' ? rows.size : counts[button.dataset.state];
    button.querySelector('b').textContent = String(count);
  }
  tree.set(shown, wanted !== '');
  find('empty').hidden = shown.length > 0;
  find('empty').textContent = rows.size === 0 ? 'No lock is in use.' : 'No lock fits the filter.';
}

for (const button of find('states').children) {
  button.addEventListener('click', () => {
    state = button.dataset.state;
    for (const one of find('states').children) {
      one.setAttribute('aria-pressed', String(one === button));
    }
    plan();
  });
}
find('filter').addEventListener('input', ({ target }) => {
  filter = target.value;
  plan();
});

const connection = find('connection');
/** The browser asks again after a break, and not after a refusal. */
const REFUSED_MS = 10_000;

function connect() {
  const events = new EventSource('./api/events');
  events.addEventListener('open', () => {
    connection.textContent = 'live';
  });
  events.addEventListener('error', () => {
    connection.textContent = 'not connected, trying again …';
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, REFUSED_MS);
  });
  events.addEventListener('whole', ({ data }) => whole(JSON.parse(data)));
  events.addEventListener('change', ({ data }) => change(JSON.parse(data)));
  events.addEventListener('trouble', ({ data }) => {
    const text = JSON.parse(data);
    find('trouble').hidden = text === '';
    find('trouble').textContent = text;
  });
}

/** All rows: the first ones, or those after a break or after events that were dropped. */
function whole(all) {
  const keys = new Set(all.map(({ key }) => key));
  const gone = [...rows.keys()].filter((key) => !keys.has(key));
  // a row that did not change is no event of the time line
  const changed = all.filter((row) => JSON.stringify(row) !== JSON.stringify(rows.get(row.key)));
  change({ rows: changed, gone });
  const key = decodeURIComponent(location.hash.slice(1));
  if (key !== '' && detail.key === undefined) {
    tree.select(key);
    detail.show(key, rows.get(key));
  }
}

function change({ rows: changed, gone }) {
  for (const key of gone) rows.delete(key);
  for (const row of changed) rows.set(row.key, row);
  detail.changed(changed, gone);
  plan();
}

// the ages of the visible rows
setInterval(() => tree.tick(), 1000);

connect();
