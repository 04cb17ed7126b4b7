/**
 * The page in a real browser: Chromium of the system, for example Debian's package `chromium`. The
 * suite installs none, so on a machine without it these tests are skipped. With
 * `HOLDFAST_PICTURES=folder` they also write the pictures of the documentation.
 */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { Holdfast, memory } from 'holdfast';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dashboard, serve, type Served } from '../../src/index.js';

const PATHS = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];
const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));
const PICTURES = process.env['HOLDFAST_PICTURES'];
/** So many locks must not make the page slow. */
const MANY = 10_000;
const ROWS_MAX = 100;
const PATIENT = { timeout: 10_000 };

let browser: Browser;
let page: Page;
let billing: Holdfast;
let reports: Holdfast;
let served: Served;
let errors: string[];

describe.skipIf(executablePath === undefined)('the page', () => {
  beforeAll(async () => {
    const path = executablePath as string;
    browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    const store = memory();
    billing = new Holdfast(store, { label: 'billing' });
    reports = new Holdfast(store, { label: 'reports' });
    await billing.warmUp();
    served = await serve(dashboard(reports, { every: 50, localWrites: true }));
    errors = [];
  });
  afterEach(async () => {
    await page.close();
    await served.close();
    await Promise.all([billing, reports].map((one) => one.close({ grace: 0 })));
    expect(errors).toEqual([]);
  });

  async function open(
    hash = '',
    dark = false,
    bypassCSP = false,
    viewport = { width: 1280, height: 720 },
  ): Promise<void> {
    page = await browser.newPage({
      ...{ viewport, bypassCSP },
      colorScheme: dark ? 'dark' : 'light',
    });
    page.setDefaultTimeout(10_000);
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.goto(served.openUrl + hash);
    await page.getByText('live', { exact: true }).waitFor();
  }

  async function someLocks(): Promise<void> {
    const keys = ['deploy', 'invoice:42', 'invoice:43', 'order:7:pay', 'order:7:ship'];
    for (const key of keys) await billing.mutex(key).acquire();
    await billing.semaphore('pool:db', { permits: 8 }).acquire(3);
    for (const key of ['invoice:42', 'invoice:42', 'deploy']) {
      reports
        .mutex(key, { fair: true })
        .acquire()
        .catch(() => undefined);
    }
  }

  const item = (name: string): ReturnType<Page['getByRole']> =>
    page.getByRole('treeitem', { name: new RegExp(name, 'u') });

  async function picture(name: string): Promise<void> {
    if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/${name}.png` });
  }

  it('groups the locks, counts them by state, and follows changes', async () => {
    await someLocks();
    await open();
    await item('^▾ invoice:').waitFor();
    await page.getByRole('button', { name: 'contended 2' }).click();
    await expect.poll(() => page.getByRole('treeitem').count(), PATIENT).toBe(2);
    await page.getByRole('button', { name: 'all 6' }).click();
    await billing.mutex('new:one').acquire();
    await item('new:one').waitFor();
    await page.getByLabel('Filter').fill('order');
    await expect.poll(() => page.getByRole('treeitem').count(), PATIENT).toBe(3);
  });

  it('shows a lock, with the keyboard alone', async () => {
    await someLocks();
    await open();
    await item('deploy').waitFor();
    await page.getByRole('tree').focus();
    const active = (): Promise<string | null> =>
      page.locator('#tree').getAttribute('aria-activedescendant');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    const group = page.locator(`#${await active()}`);
    expect(await group.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    const title = page.getByRole('heading', { name: 'invoice:42' });
    await title.waitFor();
    const detail = page.locator('#facts');
    await detail.getByRole('cell', { name: 'billing on' }).waitFor();
    expect(await detail.getByRole('row').count()).toBe(3);
    await expect.poll(() => detail.locator('svg rect').count(), PATIENT).toBe(1);
    await picture('dashboard-light');
  });

  it.each(['light', 'dark'])('has no fault that axe-core finds, in %s', async (colors) => {
    await someLocks();
    await open('#invoice%3A42', colors === 'dark', true);
    await page.getByRole('heading', { name: 'invoice:42' }).waitFor();
    await page.addScriptTag({ content: axe.source });
    const find = (): Promise<string[]> =>
      page.evaluate(async () => {
        const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
        const { violations } = await inPage.run();
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
      });
    expect(await find()).toEqual([]);
    // the control
    await page.evaluate('document.querySelector("main").append(document.createElement("button"))');
    expect((await find()).join()).toContain('button-name');
  });

  it('has names and roles in the accessibility tree of Chromium', async () => {
    await someLocks();
    await open('#invoice%3A42', false, true);
    await page.getByRole('heading', { name: 'invoice:42' }).waitFor();
    await page.getByRole('treeitem').nth(1).waitFor();
    const session = await page.context().newCDPSession(page);
    const read = async (): Promise<string[]> => {
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      const seen = nodes.filter(({ ignored }) => !ignored);
      return seen.map(({ role, name }) => `${role?.value} ${name?.value}`.trim());
    };
    const told = await read();
    expect(told).toContain('heading invoice:42');
    expect(told.filter((one) => one.startsWith('treeitem ')).length).toBeGreaterThan(1);
    expect(told.some((one) => one.startsWith('tree '))).toBe(true);
    const nameless = /^(button|textbox|searchbox|combobox|link|tree|treeitem|table|heading)$/;
    expect(told.filter((one) => nameless.test(one))).toEqual([]);
    // the control
    await page.evaluate('document.querySelector("main").append(document.createElement("button"))');
    await expect
      .poll(async () => (await read()).filter((one) => nameless.test(one)), PATIENT)
      .toEqual(['button']);
  });

  it('ends a lease after a reason and a confirmation', async () => {
    await someLocks();
    const lease = await billing.mutex('stuck').acquire();
    await open('#stuck', true);
    await page.getByRole('button', { name: 'End by force' }).click();
    const go = page.getByRole('button', { name: 'End the lease' });
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel('Reason').fill('stuck since 02:00');
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel('Write the key').fill('stuck');
    await picture('dashboard-dark');
    await go.click();
    await page.getByText('It is free.').waitFor();
    await expect.poll(() => lease.signal.aborted, PATIENT).toBe(true);
    expect(String(lease.signal.reason)).toContain('stuck since 02:00');
  });

  /** The names of locks that are cut off, or not on the screen. */
  const cutNames = (): Promise<string[]> =>
    page.evaluate(`(() => {
      const isCut = (one) => {
        const { left, right, width } = one.getBoundingClientRect();
        const isOutside = left < 0 || right > innerWidth || width < 30;
        return isOutside || one.scrollWidth > one.clientWidth;
      };
      const names = [...document.querySelectorAll('.row:not(.group) .name')];
      return names.filter(isCut).map(({ textContent }) => textContent);
    })()`);

  it.each([
    ['a phone', { width: 360, height: 740 }],
    ['a small tablet', { width: 768, height: 1024 }],
    ['a laptop', { width: 1280, height: 720 }],
  ])('shows the whole names of locks on %s', async (device, viewport) => {
    const ids = ['550e8400-e29b-41d4-a716-446655440000', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'];
    const key = `tenant-a:order:${ids[0]}`;
    for (const id of ids) await billing.mutex(`tenant-a:order:${id}`).acquire();
    await someLocks();
    await open('', false, false, viewport);
    await item(key).waitFor();
    expect(await page.getByRole('treeitem').count()).toBe(11);
    expect(await cutNames()).toEqual([]);
    await picture(`dashboard-${device.replaceAll(' ', '-')}`);
    await item(key).click();
    await page.getByRole('heading', { name: key }).waitFor();
    await page.getByRole('cell', { name: 'billing on' }).waitFor();
    expect(await cutNames()).toEqual([]);
    // the control
    await page.evaluate('document.querySelector("#tree").style.width = "150px"');
    expect(await cutNames()).not.toEqual([]);
  });

  it('never reads a key as HTML', async () => {
    await billing.mutex('<img src=x onerror=alert(1)>').acquire();
    await open();
    await item('<img src=x').click();
    await page.getByRole('heading', { name: '<img src=x' }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
  });

  it(`keeps few rows in the document with ${MANY} locks`, async () => {
    const keys = Array.from({ length: MANY }, (_, index) => `shop:${index % 100}:${index}`);
    await Promise.all(keys.map((key) => billing.mutex(key).acquire({ ttl: 600_000 })));
    await open();
    await page.getByRole('button', { name: `all ${MANY}` }).waitFor();
    expect(await page.getByRole('treeitem').count()).toBeLessThan(ROWS_MAX);
    await page.getByRole('tree').focus();
    await page.keyboard.press('End');
    await item(`shop:99:${MANY - 1}`).waitFor();
    expect(await page.getByRole('treeitem').count()).toBeLessThan(ROWS_MAX);
  });
});
