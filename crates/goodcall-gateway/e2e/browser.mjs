// The page in a real browser: `node browser.mjs URL CHROMIUM SCREENSHOT`. Three widths, light and dark.
import assert from 'node:assert';
import { chromium } from 'playwright-core';

const [url, executablePath, screenshot] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const WIDTHS = { desktop: 1280, tablet: 800, phone: 390 };

/// Waits until a function of the page returns true.
const until = (page, what) => page.waitForFunction(what, undefined, { timeout: 20000 });

async function look(name, page) {
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => request.url().startsWith(url) || wrong.push(`asks for ${request.url()}`));
  await page.goto(`${url}/goodcall`);
  await page.waitForSelector('#tools table');
  assert.equal(await page.textContent('#state'), 'live');
  assert.match(await page.textContent('#tools'), /weather/);
  assert.match(await page.textContent('#fields'), /string-to-number/);
  assert.match(await page.textContent('#rules'), /missing/);

  // Outcomes, not tries.
  const figures = await page.locator('.figure').allTextContents();
  for (const what of ['requests', 'failed', 'good as sent', 'saved', 'still bad', 'median time', 'to the first byte', 'tokens on re-asks']) {
    const figure = figures.find((text) => text.includes(what));
    assert.ok(figure, `${name}: no figure for ${what}`);
    assert.match(figure, /^[1-9]/, `${name}: ${figure}`);
  }

  // The chart has bars, a scale and times.
  assert.ok(await page.locator('#chart svg rect').count() > 0, 'the chart has bars');
  const labels = await page.locator('#chart svg text').allTextContents();
  assert.ok(labels.filter((text) => /^\d+$/.test(text)).length >= 2, `${name}: a scale: ${labels}`);
  assert.ok(labels.some((text) => /\d:\d\d/.test(text)), `${name}: times: ${labels}`);

  // Names are unbroken, and nothing is cut off.
  const broken = await page.evaluate(() => [...document.querySelectorAll('code.name')]
    .filter((node) => node.getClientRects().length > 1).map((node) => node.textContent));
  assert.deepEqual(broken, [], `${name}: names in two lines`);
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.ok(!await wide(), `${name}: the page is wider than the screen`);

  // Filters.
  const count = () => page.locator('#requests tr.request').count();
  const all = await count();
  await page.selectOption('#verdict', 'mended');
  const mended = await count();
  assert.ok(mended > 0 && mended < all, `${name}: filters: ${mended} of ${all}`);
  assert.ok(!(await page.textContent('#requests')).includes('still bad'));

  // A mended call: what was sent and what was passed, with the changes marked.
  await page.locator('#requests tr.request', { hasText: 'string-to-number' }).first().locator('button').click();
  await page.waitForSelector('#requests tr.detail del');
  const marked = page.locator('#requests tr.detail').first();
  assert.ok((await marked.locator('del').allTextContents()).includes('"3"'), 'what was sent is marked');
  assert.ok((await marked.locator('ins').allTextContents()).includes('3'), 'what was passed is marked');
  assert.ok(await marked.locator('th', { hasText: 'Rule' }).first().isVisible(), `${name}: the table of changes has no heads`);

  // What is marked and open stays so while the page refreshes.
  await page.evaluate(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector('#requests tr.detail pre'));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  });
  const before = await page.evaluate(() => getSelection().toString());
  assert.ok(before.length > 0);
  const first = await page.locator('#requests tr.request').first().getAttribute('data-id');
  await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { authorization: 'Bearer key' }, body: MENDED });
  await page.waitForFunction((id) => document.querySelector('#requests tr.request').dataset.id !== id, first, { timeout: 20000 });
  assert.equal(await page.evaluate(() => getSelection().toString()), before, `${name}: the selection is lost`);
  assert.equal(await page.locator('#requests tr.detail').count(), 1, `${name}: the open call is closed`);
  await page.evaluate(() => getSelection().removeAllRanges());

  // A call that was asked for again: the text that the model read.
  await page.selectOption('#verdict', 'cured');
  await page.locator('#requests tr.request button').first().click();
  await until(page, () => [...document.querySelectorAll('#requests h3')].some((head) => head.textContent === 'What the model read'));
  assert.ok(!await wide(), `${name}: an open call is wider than the screen`);
  const isCut = await page.evaluate(() => document.querySelector('#requests').scrollWidth > document.querySelector('#requests').clientWidth);
  assert.ok(!isCut, `${name}: the requests are cut off`);
  await page.selectOption('#verdict', '');
  assert.equal(await page.locator('#requests tr.detail').count(), 2, `${name}: both calls are open`);
  await page.screenshot({ path: screenshot.replace('.png', `-${name}.png`), fullPage: true });
  await page.selectOption('#route', 'second');
  const routed = await count();
  assert.ok(routed > 0 && routed < all, `${name}: by route: ${routed} of ${all}`);
  await page.selectOption('#route', '');
  await page.selectOption('#tool', 'weather');
  await page.selectOption('#model', 'bad');
  assert.ok(await count() > 0, `${name}: by tool and model`);
  await page.fill('#search', 'no such field');
  assert.match(await page.textContent('#tools'), /No calls yet/);
  assert.deepEqual(wrong, [], name);
}

const MENDED = JSON.stringify({ model: 'mended', messages: [{ role: 'user', content: 'Go.' }], tools: [{ type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] } } }] });

try {
  for (const [size, width] of Object.entries(WIDTHS)) {
    for (const colorScheme of ['light', 'dark']) {
      const options = { viewport: { width, height: 900 }, colorScheme, isMobile: size === 'phone' };
      const page = await browser.newPage(options);
      await look(`${size}-${colorScheme}`, page);
      await page.close();
    }
  }
  console.log('ok: the page on a desktop, a tablet and a phone, light and dark');
} finally {
  await browser.close();
}
