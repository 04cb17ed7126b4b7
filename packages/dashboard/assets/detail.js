/** The part of the page that shows one lock, and ends its leases by force. */
import { Histories } from './histories.js';
import { timeline } from './timeline.js';
import { duration, element } from './tree.js';

const find = (id) => document.getElementById(id);
const TOKEN = document.querySelector('meta[name=holdfast-csrf]').content;
const EVERY_MS = 1000;

export class Detail {
  key;
  #histories = new Histories();
  #timer;
  #asked = 0;
  #victim;

  constructor() {
    const [reason, confirm, go] = [find('reason'), find('confirm'), find('do-break')];
    const check = () => {
      go.disabled = reason.value.trim() === '' || confirm.value !== this.key;
    };
    reason.addEventListener('input', check);
    confirm.addEventListener('input', check);
    find('cancel').addEventListener('click', () => find('break').close());
    go.addEventListener('click', () => void this.#break());
  }

  /** Records what changed, for the time lines. */
  changed(rows, gone) {
    const at = Date.now();
    for (const row of rows) this.#histories.add(row.key, { ...row, at }, this.key);
    for (const key of gone) {
      const state = { at, holders: 0, waiters: 0, holder: '', fence: 0 };
      this.#histories.add(key, state, this.key);
    }
    if (this.key !== undefined) void this.#load();
  }

  show(key) {
    this.key = key;
    clearInterval(this.#timer);
    document.querySelector('main').classList.toggle('chosen', key !== undefined);
    if (key === undefined) return;
    find('detail-title').textContent = key;
    find('facts').replaceChildren();
    this.#timer = setInterval(() => void this.#load(), EVERY_MS);
    void this.#load();
  }

  async #load() {
    const { key } = this;
    this.#asked += 1;
    const asked = this.#asked;
    const response = await fetch(`./api/lock?key=${encodeURIComponent(key)}`).catch(
      () => undefined,
    );
    const info = response?.ok ? await response.json() : undefined;
    // a later request may have been answered before
    if (asked !== this.#asked || key !== this.key || info === undefined) return;
    this.#draw(key, info);
  }

  #draw(key, info) {
    const facts = find('facts');
    // a button that has the focus keeps it
    const focused = document.activeElement?.dataset?.id;
    find('detail-title').textContent = key;
    const history = this.#histories.of(key);
    const parts = [timeline(history, Date.now())];
    if (info === null) parts.push(element('p', '', 'It is free.'));
    else {
      parts.push(summary(info), this.#holders(info), people('Waiting', info.waiters, waiterCells));
      if (info.parkedCount > 0) parts.push(people('At conditions', info.parked, parkedCells));
    }
    facts.replaceChildren(...parts);
    if (focused) facts.querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  #holders({ holders }) {
    const table = people('Holders', holders, holderCells);
    if (TOKEN === '') return table;
    holders.forEach((holder, index) => {
      const button = element('button', 'danger', 'End by force …');
      button.type = 'button';
      button.dataset.id = holder.id;
      button.addEventListener('click', () => this.#ask(holder));
      table.tBodies[0].rows[index].append(cellOf(button));
    });
    return table;
  }

  #ask(holder) {
    this.#victim = holder;
    find('break-text').textContent = `The lease of ${this.key}, held by ${nameOf(holder)}.`;
    find('break-error').textContent = '';
    find('reason').value = '';
    find('confirm').value = '';
    find('do-break').disabled = true;
    find('break').showModal();
  }

  async #break() {
    const body = JSON.stringify({
      ...{ key: this.key, id: this.#victim.id, reason: find('reason').value },
    });
    const headers = { 'content-type': 'application/json', 'x-holdfast-csrf': TOKEN };
    try {
      const response = await fetch('./api/release', { method: 'POST', headers, body });
      if (!response.ok) throw new Error(await response.text());
      find('break').close();
    } catch (error) {
      find('break-error').textContent = error.message;
    }
  }
}

function summary(info) {
  const list = element('dl');
  const permits = info.permits === 2 ** 30 ? 'read-write lock' : `${info.used} of ${info.permits}`;
  const facts = {
    permits,
    fence: info.fence,
    holders: info.holderCount,
    waiting: info.waiterCount,
  };
  for (const [name, value] of Object.entries(facts)) {
    list.append(element('dt', '', name), element('dd', '', String(value)));
  }
  return list;
}

function people(title, list, cells) {
  const table = element('table');
  table.append(element('caption', '', `${title}: ${list.length}`));
  const body = element('tbody');
  for (const one of list) {
    const row = element('tr');
    row.append(...cells(one).map((text) => element('td', '', text)));
    body.append(row);
  }
  table.append(body);
  return table;
}

const holderCells = (one) => [
  nameOf(one),
  `fence ${one.fence}`,
  `held ${duration(one.heldFor)}, ends in ${duration(one.remaining)} if not renewed`,
];
const waiterCells = (one) => [
  nameOf(one),
  one.localWaiters > 1 ? `${one.localWaiters} calls` : '1 call',
  `waits ${duration(one.waitedFor)}`,
];
const parkedCells = (one) => [nameOf(one), one.condition, `waits ${duration(one.waitedFor)}`];

function nameOf({ label, host, pid, id }) {
  const place = host === undefined ? id : `${host}, process ${pid}`;
  return label === undefined ? place : `${label} on ${place}`;
}

function cellOf(node) {
  const cell = element('td');
  cell.append(node);
  return cell;
}
