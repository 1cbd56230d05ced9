// The report and the playground in a real browser: `node browser.mjs REPORT PLAYGROUND CHROMIUM FOLDER`.
import assert from 'node:assert';
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [report, playground, executablePath, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const LOOKS = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  tablet: { viewport: { width: 768, height: 1000 }, colorScheme: 'light' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'dark', isMobile: true },
};

async function open(options, url, own) {
  const page = await browser.newPage(options);
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  page.on('request', (request) => request.url().startsWith(own) || wrong.push(`asks for ${request.url()}`));
  await page.goto(url);
  return [page, wrong];
}
async function looked(page, wrong, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  assert.ok(!wide, `${name}: the page is wider than the screen`);
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  assert.deepEqual(wrong, [], name);
  await page.close();
}

async function testReport(name, options) {
  const url = pathToFileURL(report).href;
  const [page, wrong] = await open(options, url, url);
  await page.waitForSelector('#time svg rect');
  const times = await page.evaluate(() => {
    const [load] = performance.getEntriesByType('navigation');
    return load.domComplete;
  });
  assert.ok(times < 1000, `${name}: it opens in ${times} ms`);
  // Tables sort by the column that is clicked, both ways.
  const column = () => page.$$eval('#tools tbody td:nth-child(2)', (cells) => cells.map((cell) => Number(cell.textContent.replaceAll(',', ''))));
  const sorted = (list, sign) => list.every((value, index) => !index || sign * (value - list[index - 1]) >= 0);
  await page.click('#tools th:nth-child(2) button');
  assert.ok(sorted(await column(), -1), 'calls descend');
  await page.click('#tools th:nth-child(2) button');
  assert.ok(sorted(await column(), 1), 'calls ascend');
  assert.equal(await page.getAttribute('#tools th:nth-child(2)', 'aria-sort'), 'ascending');
  // Charts have axes with numbers.
  assert.ok(await page.locator('#time svg line.axis').count() > 2);
  assert.ok(await page.locator('#by-model svg text').count() > 4);
  // A kind of failure opens with an example, the change marked, and what the model would have read.
  await page.fill('#failures input', 'string-to-number');
  await page.click('#failures summary');
  await page.waitForSelector('#failures .example');
  assert.ok(await page.locator('#failures .example mark.new').count() > 0, 'the change is marked');
  await page.fill('#failures input', 'missing');
  await page.click('#failures summary');
  assert.match(await page.textContent('#failures .body'), /what the model would have read/);
  assert.match(await page.textContent('#failures .body'), /advice on the definition/);
  await page.fill('#failures input', '');
  await looked(page, wrong, `report-${name}`);
  return times;
}

async function testPlayground(name, options) {
  const [page, wrong] = await open(options, `${playground}/`, playground);
  await page.waitForSelector('#answers section.mended');
  const verdicts = () => page.$$eval('#answers .badge', (badges) => badges.map((badge) => badge.textContent));
  assert.deepEqual(await verdicts(), ['bad: wrong_shape', 'mended', 'mended']);
  const count = await page.locator('#example option').count();
  for (let index = 0; index < count - 1; index++) {
    await page.selectOption('#example', String(index));
    await page.waitForFunction(() => document.querySelectorAll('#answers section').length === 3);
    assert.equal(await page.textContent('#error'), '', `example ${index}`);
  }
  // What is typed is judged, and travels in the link.
  await page.fill('#schema', '{"type": "object", "properties": {"größe": {"type": "integer"}}, "required": ["größe"]}');
  await page.fill('#raw', '{"größe": "drei"}');
  await page.fill('#tool', '');
  await page.selectOption('#stop', 'finished');
  await page.waitForFunction(() => document.getElementById('answers').textContent.includes('größe'));
  await page.click('#styles button:has-text("numbered")');
  assert.match(await page.textContent('#text'), /Parameter validation failed/);
  await page.waitForTimeout(300);
  const [copy, more] = await open(options, page.url(), playground);
  await copy.waitForSelector('#answers section.bad');
  assert.equal(await copy.inputValue('#raw'), '{"größe": "drei"}');
  assert.equal(await copy.inputValue('#stop'), 'finished');
  assert.deepEqual(more, []);
  await copy.close();
  await page.fill('#schema', '{"type": "objekt"}');
  await page.waitForFunction(() => document.getElementById('error').textContent.includes('objekt'));
  await page.selectOption('#example', '2');
  await page.waitForSelector('#answers section.bad');
  await looked(page, wrong, `playground-${name}`);
}

try {
  const size = statSync(report).size;
  assert.ok(size <= 2_000_000, `the report has ${size} bytes`);
  const times = [];
  for (const [name, options] of Object.entries(LOOKS)) times.push(await testReport(name, options));
  console.log(`ok: the report, ${size} bytes, opens in ${times.map((time) => Math.round(time)).join(', ')} ms`);
  for (const [name, options] of Object.entries(LOOKS)) await testPlayground(name, options);
  console.log('ok: the playground');
} finally {
  await browser.close();
}
