// The page in a real browser: `node browser.mjs URL CHROMIUM SCREENSHOT`.
import assert from 'node:assert';
import { chromium } from 'playwright-core';

const [url, executablePath, screenshot] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  for (const [name, options] of Object.entries({
    light: { viewport: { width: 1200, height: 1400 }, colorScheme: 'light' },
    dark: { viewport: { width: 1200, height: 1400 }, colorScheme: 'dark' },
    phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', isMobile: true },
  })) {
    const page = await browser.newPage(options);
    const wrong = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('request', (request) => request.url().startsWith(url) || wrong.push(`asks for ${request.url()}`));
    await page.goto(`${url}/goodcall`);
    await page.waitForSelector('#tools table');
    assert.equal(await page.textContent('#state'), 'live');
    assert.ok(await page.locator('#chart svg rect').count() > 0, 'the chart has bars');
    assert.match(await page.textContent('#tools'), /weather/);
    assert.match(await page.textContent('#fields'), /string-to-number/);
    assert.match(await page.textContent('#rules'), /missing/);
    const all = await page.locator('#calls tbody tr').count();
    await page.selectOption('#verdict', 'mended');
    const mended = await page.locator('#calls tbody tr').count();
    assert.ok(mended > 0 && mended <= all, `filters: ${mended} of ${all}`);
    assert.ok(!(await page.textContent('#calls')).includes('bad'));
    await page.fill('#search', 'no such field');
    assert.match(await page.textContent('#tools'), /No calls yet/);
    await page.fill('#search', '');
    await page.selectOption('#verdict', '');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    assert.ok(!wide, `${name}: the page is wider than the screen`);
    await page.screenshot({ path: screenshot.replace('.png', `-${name}.png`), fullPage: true });
    assert.deepEqual(wrong, [], name);
    await page.close();
  }
  console.log('ok: the page, light, dark and on a phone');
} finally {
  await browser.close();
}
