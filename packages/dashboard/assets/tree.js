/**
 * The list as a tree by the parts of the keys between colons. Only the visible rows are in the
 * document, so 10,000 locks stay fluent. The keys are those of a tree view (ARIA): up, down, home,
 * end, left and right to close and open, Enter to select.
 */
const EXTRA = 10;
/** `invoice:9` comes before `invoice:10`. */
const ORDER = new Intl.Collator('en', { numeric: true });

export class Tree {
  #box;
  #rows;
  #select;
  #items = [];
  #shown = [];
  #closed = new Set();
  #active = '';
  #selected;
  #filtered = false;
  /** The height of a row in px, which the style sheet sets for the width of the screen. */
  #height = 28;

  constructor(box, rows, select) {
    this.#box = box;
    this.#rows = rows;
    this.#select = select;
    box.addEventListener('scroll', () => this.#draw(), { passive: true });
    box.addEventListener('keydown', (event) => this.#key(event));
    box.addEventListener('click', ({ target }) => this.#click(target.closest('.row')));
    new ResizeObserver(() => this.#measure()).observe(box);
    this.#measure();
  }

  /** @param rows the locks to show; with a filter all groups are open */
  set(rows, filtered) {
    this.#filtered = filtered;
    this.#items = group(rows);
    this.#flatten();
  }

  select(key) {
    this.#selected = key;
    this.#active = key;
    this.#draw();
  }

  /** Shows the ages anew. */
  tick() {
    for (const node of this.#rows.children) {
      const item = this.#shown[node.dataset.index];
      if (item?.row) node.lastChild.textContent = age(item.row);
    }
  }

  #measure() {
    this.#height = Number.parseInt(getComputedStyle(this.#box).getPropertyValue('--row'), 10);
    this.#flatten();
  }

  #flatten() {
    const shown = [];
    const add = (items, level, inside) => {
      items.forEach((item, index) => {
        item.level = level;
        item.inside = inside;
        item.place = index + 1;
        item.among = items.length;
        shown.push(item);
        if (item.children && this.#isOpen(item)) add(item.children, level + 1, item.name);
      });
    };
    add(this.#items, 1, '');
    this.#shown = shown;
    this.#rows.style.height = `${shown.length * this.#height}px`;
    if (!shown.some(({ id }) => id === this.#active)) this.#active = shown[0]?.id ?? '';
    this.#draw();
  }

  #isOpen({ id }) {
    return this.#filtered || !this.#closed.has(id);
  }

  #draw() {
    const { scrollTop, clientHeight } = this.#box;
    const from = Math.max(0, Math.floor(scrollTop / this.#height) - EXTRA);
    const to = Math.min(
      this.#shown.length,
      Math.ceil((scrollTop + clientHeight) / this.#height) + EXTRA,
    );
    const nodes = [];
    for (let index = from; index < to; index++) nodes.push(this.#node(this.#shown[index], index));
    this.#rows.replaceChildren(...nodes);
    const active = nodes.find(({ dataset }) => this.#shown[dataset.index].id === this.#active);
    if (active) this.#box.setAttribute('aria-activedescendant', active.id);
    else this.#box.removeAttribute('aria-activedescendant');
  }

  #node(item, index) {
    const node = element('div', item.children ? 'row group' : 'row');
    node.id = `row-${index}`;
    node.dataset.index = index;
    node.style.top = `${index * this.#height}px`;
    node.style.setProperty('--level', item.level - 1);
    node.title = item.name;
    node.setAttribute('role', 'treeitem');
    node.setAttribute('aria-level', item.level);
    node.setAttribute('aria-posinset', item.place);
    node.setAttribute('aria-setsize', item.among);
    node.setAttribute(
      'aria-selected',
      String(item.row !== undefined && item.id === this.#selected),
    );
    if (item.id === this.#active) node.classList.add('active');
    if (item.children) {
      const open = this.#isOpen(item);
      node.setAttribute('aria-expanded', String(open));
      node.append(nameOf(item, open ? '▾ ' : '▸ '));
      node.append(element('span', 'count', `${item.size} locks`));
    } else node.append(...cells(item));
    return node;
  }

  #click(node) {
    const item = node && this.#shown[node.dataset.index];
    if (!item) return;
    this.#active = item.id;
    if (item.children) this.#toggle(item);
    else this.#choose(item);
  }

  #toggle(item) {
    if (!this.#closed.delete(item.id)) this.#closed.add(item.id);
    this.#flatten();
  }

  #choose(item) {
    this.#selected = item.id;
    this.#draw();
    this.#select(item.id);
  }

  #key(event) {
    const index = this.#shown.findIndex(({ id }) => id === this.#active);
    const item = this.#shown[index];
    if (!item) return;
    const page = Math.max(1, Math.floor(this.#box.clientHeight / this.#height) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in moves) this.#move(index + moves[event.key]);
    else if (event.key === 'Home') this.#move(0);
    else if (event.key === 'End') this.#move(this.#shown.length - 1);
    else if (event.key === 'ArrowRight' && item.children) this.#enter(item, index);
    else if (event.key === 'ArrowLeft') this.#leave(item, index);
    else if (event.key === 'Enter' || event.key === ' ') {
      if (item.children) this.#toggle(item);
      else this.#choose(item);
    } else return;
    event.preventDefault();
  }

  #enter(item, index) {
    if (this.#isOpen(item)) this.#move(index + 1);
    else this.#toggle(item);
  }

  #leave(item, index) {
    if (item.children && this.#isOpen(item)) return this.#toggle(item);
    for (let at = index - 1; at >= 0; at--) {
      if (this.#shown[at].level < item.level) return this.#move(at);
    }
  }

  #move(to) {
    const index = Math.max(0, Math.min(this.#shown.length - 1, to));
    this.#active = this.#shown[index].id;
    const top = index * this.#height;
    const { scrollTop, clientHeight } = this.#box;
    if (top < scrollTop) this.#box.scrollTop = top;
    if (top + this.#height > scrollTop + clientHeight)
      this.#box.scrollTop = top + this.#height - clientHeight;
    this.#draw();
  }
}

/** The locks by the first part of their keys, and so on. */
function group(rows) {
  const root = new Map();
  for (const row of rows) {
    const parts = row.key.split(':');
    let place = root;
    for (const part of parts.slice(0, -1)) {
      let next = place.get(`g${part}`);
      if (next === undefined) place.set(`g${part}`, (next = new Map()));
      place = next;
    }
    place.set(`k${parts.at(-1)}`, row);
  }
  return listOf(root, '');
}

function listOf(place, path) {
  const items = [];
  for (const [name, one] of place) {
    if (!(one instanceof Map)) {
      items.push({ id: one.key, name: one.key, row: one, size: 1 });
      continue;
    }
    const id = `${path}${name.slice(1)}:`;
    const children = listOf(one, id);
    const size = children.reduce((sum, child) => sum + child.size, 0);
    // a group of one group or of one lock is shown as that one
    if (children.length === 1) items.push(...children);
    else items.push({ id, name: id, children, size });
  }
  return items.sort((a, b) => ORDER.compare(a.name, b.name));
}

/** The row of a group shows its name. The rows in it show the rest; screen readers read all. */
function nameOf({ name, inside }, mark) {
  const node = element('span', 'name', mark);
  node.append(element('span', 'inside', inside), name.slice(inside.length));
  return node;
}

function cells(item) {
  const { row } = item;
  const queue = row.waiters > 0 ? `${row.waiters} waiting` : '';
  const permits = row.permits > 1 && row.permits < 2 ** 30 ? `${row.used}/${row.permits}` : '';
  return [
    nameOf(item, ''),
    element('span', `state ${row.state}`, row.state),
    element('span', 'count', [permits, queue].filter(Boolean).join(', ')),
    element('span', 'who', row.holder),
    element('span', 'age', age(row)),
  ];
}

function age({ since }) {
  return since === 0 ? '' : duration(Date.now() - since);
}

/** A duration for a person. */
export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Creates an element. The text is never read as HTML. */
export function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}
